//! Messages to and from the interfaces, routing tables and Wi-Fi cards of Linux (rtnetlink and nl80211), of this thread's
//! network namespace.
//!
//! Only the few messages that are needed here: the crates for all of netlink have a thousand types.

mod events;
mod generic;
mod interfaces;
mod link_addresses;
mod message;
mod news;
mod queues;
mod routes;
mod segments;
mod wifi;

pub use events::Events;
pub use generic::{GenericMessage, GenericSocket};
pub use interfaces::{Address, Interface, interfaces};
pub use link_addresses::{LinkAddress, find_link_address, link_addresses};
pub use message::{Message, Request, attribute, attributes, family};
pub use news::{News, RouteChange, failed_neighbour, route_change};
pub use queues::{Queue, queues};
pub use routes::{Route, add_route, remove_route, routes};
pub use segments::{
    FlowRule, SegmentRoute, add_flow_rule, add_segment_route, flow_rules, remove_flow_rule,
    remove_segment_route, set_host_address, set_unreachable,
};
pub use wifi::{Channel, Station, Wifi};
