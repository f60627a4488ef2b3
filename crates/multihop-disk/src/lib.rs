//! Files that are whole after a loss of power ([`durable`]), and that belong to this user ([`own`]).

pub mod durable;
pub mod own;
