//! Network namespaces of Linux, for networks that exist only inside this machine.
#![cfg(target_os = "linux")]

pub mod interface;
mod namespace;
mod rights;

pub use namespace::Namespace;
pub use rights::gain_rights;
