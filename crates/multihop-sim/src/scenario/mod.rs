//! Scenario files: TOML or JSON text in, a checked [`Scenario`] or every problem out.

mod model;
mod range;
mod topology;

pub use model::{
    App, ArpKind, Axis, AxisValue, Energy, Flow, Protocol, Record, Routing, RoutingProtocol, Scenario,
    Series, Sweep, Transport,
};
pub use topology::{Layout, NotConnected, Topology};
