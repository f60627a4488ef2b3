//! Virtual time: events in a total order.

mod deadlines;
mod key;

pub(crate) use deadlines::Deadlines;
pub(crate) use key::{Key, Rank};
