//! How a program makes its protocols known to the readers of scenarios.

use multihop_routing::network::AgentConfig;
use multihop_routing::protocol::Protocol;
use multihop_transport::congestion::{Algorithm, CongestionConfig};

use super::extension::{
    Entry, Extension, Extensions, NewControl, RoutingRow, STATIC_ROUTES, TransportConfig,
};
use super::read::describe;
use super::transport::{built_in_transports, tcp_keys};

impl Extensions {
    /// Adds a transport: `transport = "name"`, or a table of this `kind` with the keys of `C`.
    ///
    /// # Panics
    ///
    /// If there is a transport of that name, or the name has a plus sign, which begins a suffix.
    #[must_use]
    pub fn transport<C: TransportConfig + Default + 'static>(mut self, extension: Extension) -> Self {
        self.check_transport(extension.name);
        self.transports.push(Entry { extension, make: || Box::new(C::default()) });
        self
    }

    /// Adds a congestion control of TCP: `transport = "name"`, with the suffixes of TCP, or a table of this `kind` with the keys
    /// of TCP and those of `C`.
    ///
    /// # Panics
    ///
    /// If there is a transport of that name, the name has a plus sign, which begins a suffix, or `C` has a key of TCP.
    #[must_use]
    pub fn congestion<C: CongestionConfig + Default + 'static>(mut self, extension: Extension) -> Self {
        self.check_transport(extension.name);
        let make: NewControl = || Algorithm::custom(C::default());
        let taken = tcp_keys();
        if let Some(key) = describe::names(&mut make()).into_iter().find(|key| taken.contains(key)) {
            panic!("the key {key:?} of {:?} is a key of TCP", extension.name);
        }
        self.controls.push(Entry { extension, make });
        self
    }

    /// Transports and congestion controls of TCP share their names.
    fn check_transport(&self, name: &str) {
        assert!(!name.contains('+'), "a plus sign in the name {name:?}");
        let transports = self.transports.iter().map(|entry| entry.extension.name);
        let controls = self.controls.iter().map(|entry| entry.extension.name);
        check_name(name, transports.chain(controls).chain(built_in_transports()));
    }

    /// Adds a routing protocol: `[routing] protocol = "name"`, with the keys of `C` beside it.
    ///
    /// # Panics
    ///
    /// If there is a routing protocol of that name.
    #[must_use]
    pub fn routing<C: AgentConfig + Default>(mut self, extension: Extension) -> Self {
        let Extension { name, help, .. } = extension;
        let taken = self.routing_rows().map(|row| row.protocol.name);
        check_name(name, taken.chain([STATIC_ROUTES]));
        let protocol = Protocol { name, help, config: || Box::new(C::default()) };
        self.routing.push(RoutingRow { protocol, extension: Some(extension) });
        self
    }
}

fn check_name(name: &str, mut taken: impl Iterator<Item = &'static str>) {
    assert!(!taken.any(|other| other == name), "a second protocol named {name:?}");
}
