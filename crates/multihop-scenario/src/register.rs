//! How a program makes its protocols known to the readers of scenarios.

use multihop_routing::network::AgentConfig;
use multihop_routing::protocol::Protocol;

use super::extension::{Entry, Extension, Extensions, RoutingRow, STATIC_ROUTES, TransportConfig};
use super::transport::built_in_transports;

impl Extensions {
    /// Adds a transport: `transport = "name"`, or a table of this `kind` with the keys of `C`.
    ///
    /// # Panics
    ///
    /// If there is a transport of that name, or the name has a plus sign, which begins a suffix.
    #[must_use]
    pub fn transport<C: TransportConfig + Default + 'static>(mut self, extension: Extension) -> Self {
        assert!(!extension.name.contains('+'), "a plus sign in the name {:?}", extension.name);
        let taken = self.transports.iter().map(|entry| entry.extension.name);
        check_name(extension.name, taken.chain(built_in_transports()));
        self.transports.push(Entry { extension, make: || Box::new(C::default()) });
        self
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
