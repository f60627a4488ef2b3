//! Network namespaces of Linux, for networks that exist only inside this machine.

pub mod interface;
mod namespace;
mod rights;

pub use namespace::Namespace;
pub use rights::gain_rights;
