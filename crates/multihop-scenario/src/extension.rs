//! User-defined protocols, and the declaration that a program makes of each.
//!
//! A protocol is registered by its configuration, which lists its keys ([`Settings`]) like built-in
//! protocols, and creates the objects that the simulator runs.

use std::fmt;
use std::sync::Arc;

use multihop_core::settings::Settings;
use multihop_routing::protocol::{PROTOCOLS, Protocol};
use multihop_transport::congestion::Algorithm;
use multihop_transport::connection::ConnectionConfig;

/// The user-defined protocols of a program.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    pub(crate) transports: Vec<Entry<NewTransport>>,
    pub(crate) controls: Vec<Entry<NewControl>>,
    pub(crate) routing: Vec<RoutingRow>,
}

/// Name, version and description of a user-defined protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Extension {
    /// Name of the protocol in scenario files and results.
    pub name: &'static str,
    /// Version of the protocol. It is part of the keys of runs in journals, so that finished runs are repeated under
    /// a new version.
    pub version: &'static str,
    /// Description in one sentence, for the JSON Schema.
    pub help: &'static str,
}

/// The configuration of a user-defined transport.
pub trait TransportConfig: ConnectionConfig + Settings {}

impl<C: ConnectionConfig + Settings> TransportConfig for C {}

/// A user-defined transport with its parameters, for a flow.
#[derive(Clone, Debug)]
pub struct CustomTransport {
    /// Name, version and description of the transport.
    pub extension: Extension,
    /// Parameters with the values that the flow gives to its keys.
    pub config: Arc<dyn TransportConfig>,
}

impl Extensions {
    /// The built-in routing protocols, then those of the program.
    pub(crate) fn routing_rows(&self) -> impl Iterator<Item = RoutingRow> {
        let built_in = PROTOCOLS.iter().map(|&protocol| RoutingRow { protocol, extension: None });
        built_in.chain(self.routing.iter().copied())
    }
}

/// A user-defined transport or congestion control.
#[derive(Clone, Copy)]
pub(crate) struct Entry<F> {
    pub(crate) extension: Extension,
    /// Creates a configuration whose keys have their defaults.
    pub(crate) make: F,
}

/// Creates the algorithm of a user-defined congestion control whose keys have their defaults.
pub type NewControl = &'static (dyn Fn() -> Algorithm + Send + Sync);

impl<F> fmt::Debug for Entry<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.extension.fmt(f)
    }
}

pub(crate) type NewTransport = fn() -> Box<dyn TransportConfig>;

/// A routing protocol that scenarios can choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoutingRow {
    pub(crate) protocol: Protocol,
    /// The protocol as an extension, if it is user-defined.
    pub(crate) extension: Option<Extension>,
}

/// Protocol name of routes that are fixed for the whole run and need no agents.
pub(crate) const STATIC_ROUTES: &str = "static";
