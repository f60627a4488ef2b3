//! Registration of user-defined protocols with the readers of scenarios.

use multihop_routing::network::AgentConfig;
use multihop_routing::protocol::Protocol;
use multihop_transport::congestion::{Algorithm, CongestionConfig};
use multihop_transport::connection::ConnectionConfig;
use multihop_transport::observe::Quantity;
use multihop_transport::tcp;

use super::extension::{
    Entry, Extension, Extensions, NewControl, RoutingRow, STATIC_ROUTES, TransportConfig,
};
use super::model::{Scenario, Series};
use super::read::describe;
use super::transport::{built_in_transports, tcp_keys};

impl Extensions {
    /// Adds a transport: `transport = "name"`, or a table of this `kind` with the keys of `C`.
    ///
    /// # Panics
    ///
    /// If there is a transport of that name, the name has a plus sign, which begins a suffix, or the transport declares a quantity
    /// whose name another one has with another unit.
    #[must_use]
    pub fn transport<C: TransportConfig + Default + 'static>(mut self, extension: Extension) -> Self {
        self.check_transport(extension.name);
        let config = C::default();
        self.check_declared(Vec::new(), &|index| config.quantity(index));
        self.transports.push(Entry { extension, make: || Box::new(C::default()) });
        self
    }

    /// Adds a congestion control of TCP: `transport = "name"`, with the suffixes of TCP, or a table of this `kind` with the keys
    /// of TCP and those of `C`.
    ///
    /// # Panics
    ///
    /// If there is a transport of that name, the name has a plus sign, which begins a suffix, `C` has a key of TCP, or the control
    /// declares a quantity whose name another one has with another unit, or that TCP declares.
    #[must_use]
    pub fn congestion<C: CongestionConfig + Default + 'static>(self, extension: Extension) -> Self {
        self.congestion_made_by(extension, &|| Algorithm::custom(C::default()))
    }

    /// Adds a congestion control of TCP, as [`congestion`](Self::congestion) does, whose configuration `make` creates: for
    /// controls that exist only at run time, such as classes of Python.
    ///
    /// # Panics
    ///
    /// For the reasons of [`congestion`](Self::congestion).
    #[must_use]
    pub fn congestion_made_by(mut self, extension: Extension, make: NewControl) -> Self {
        self.check_transport(extension.name);
        let taken = tcp_keys();
        if let Some(key) = describe::names(&mut make()).into_iter().find(|key| taken.contains(key)) {
            panic!("the key {key:?} of {:?} is a key of TCP", extension.name);
        }
        let control = make();
        self.check_declared(tcp_names(), &|index| control.quantity(index));
        self.controls.push(Entry { extension, make });
        self
    }

    /// The registered routing protocols that also run on real hosts.
    pub fn on_hosts(&self) -> Vec<Protocol> {
        let protocols = self.routing.iter().map(|row| row.protocol);
        protocols.filter(|protocol| (protocol.config)().on_host().is_some()).collect()
    }

    /// The first user-defined protocol of a scenario that is not registered here with the same name and
    /// version.
    pub fn first_missing(&self, scenario: &Scenario) -> Option<Extension> {
        let transports = self.transports.iter().map(|entry| entry.extension);
        let controls = self.controls.iter().map(|entry| entry.extension);
        let routing = self.routing.iter().filter_map(|row| row.extension);
        let known: Vec<_> = transports.chain(controls).chain(routing).collect();
        scenario.extensions().into_iter().find(|used| !known.contains(used))
    }

    /// Checks that every declaration of a quantity has the same unit, and that no name equals that of a
    /// network's series. `own` contains the other names that the transport declares.
    fn check_declared(
        &self,
        mut own: Vec<&'static str>,
        quantity: &dyn Fn(usize) -> Option<&'static Quantity>,
    ) {
        let taken = self.series();
        for Quantity { name, unit, .. } in (0..).map_while(quantity) {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(
                !name.is_empty() && name.chars().all(is_plain),
                "the name {name:?} of a quantity, allowed: lower-case letters, digits and underscores"
            );
            assert!(!own.contains(name), "a second quantity named {name:?}");
            own.push(name);
            if let Some(series) = taken.iter().find(|series| series.word() == *name) {
                let declared = Series::Declared { name, unit };
                assert!(*series == declared, "the quantity {declared:?}, but there is {series:?}");
            }
        }
    }

    /// Why a transport or congestion control cannot have this name; `None` for a name that is free.
    pub fn refuses_transport(&self, name: &str) -> Option<String> {
        if name.is_empty() || name.contains('+') {
            return Some(format!("the name {name:?}, allowed: a word without a plus sign"));
        }
        let transports = self.transports.iter().map(|entry| entry.extension.name);
        let controls = self.controls.iter().map(|entry| entry.extension.name);
        let mut taken = transports.chain(controls).chain(built_in_transports());
        taken.any(|other| other == name).then(|| format!("a second protocol named {name:?}"))
    }

    fn check_transport(&self, name: &str) {
        if let Some(reason) = self.refuses_transport(name) {
            panic!("{reason}");
        }
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

/// The names that TCP declares under every congestion control.
fn tcp_names() -> Vec<&'static str> {
    let tcp = tcp::Config::rfc();
    (0..).map_while(|index| ConnectionConfig::quantity(&tcp, index)).map(|quantity| quantity.name).collect()
}

fn check_name(name: &str, mut taken: impl Iterator<Item = &'static str>) {
    assert!(!taken.any(|other| other == name), "a second protocol named {name:?}");
}
