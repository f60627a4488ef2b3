//! Messages to and from the interfaces and routing tables of Linux (rtnetlink), of this thread's network namespace.
//!
//! Only the few messages that are needed here: the crates for all of netlink have a thousand types.
#![cfg(target_os = "linux")]

mod events;
mod interfaces;
mod message;
mod news;
mod routes;

pub use events::Events;
pub use interfaces::{Address, Interface, interfaces};
pub use message::{Message, Request, attributes, family};
pub use news::{News, RouteChange, failed_neighbour, route_change};
pub use routes::{Route, add_route, remove_route, routes};
