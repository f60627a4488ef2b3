//! Scenarios that use user-defined protocols.

use multihop_core::settings::{Settings, Visitor};
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_scenario::{Extension, Extensions, Protocol, RoutingProtocol, Scenario, Source, schema_with};
use multihop_transport::congestion::{CongestionConfig, CongestionControl, Signals, Window};
use multihop_transport::connection::{Connection, ConnectionConfig, FlowSetup};
use multihop_transport::observe::{Quantity, Row, Side};

/// A protocol with one key and no agents.
#[derive(Clone, Debug, Default, Settings)]
struct Gossip {
    /// Neighbours that hear each rumour.
    #[key(0..=9)]
    fanout: u8,
}

impl AgentConfig for Gossip {
    fn agents(&self, _: &Network<'_>) -> Box<dyn AgentTable> {
        unreachable!("no scenario is run")
    }
}

impl ConnectionConfig for Gossip {
    fn ends(&self, _: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        unreachable!("no scenario is run")
    }
}

impl CongestionConfig for Gossip {
    fn control(&self, _: Window) -> Box<dyn CongestionControl> {
        unreachable!("no scenario is run")
    }

    fn signals(&self) -> Signals {
        Signals { rates: self.fanout > 0, ..Signals::default() }
    }
}

fn extensions() -> Extensions {
    Extensions::default()
        .transport::<Gossip>(extension("whisper"))
        .congestion::<Gossip>(extension("murmur"))
        .routing::<Gossip>(extension("gossip"))
}

fn extension(name: &'static str) -> Extension {
    Extension { name, version: "7", help: "Rumours." }
}

fn load(routing: &str) -> Result<Scenario, String> {
    read(routing, "\"newreno\"")
}

fn load_flow(transport: &str) -> Result<Scenario, String> {
    read("", transport)
}

fn read(routing: &str, transport: &str) -> Result<Scenario, String> {
    let text = format!(
        "duration = 1.0\ntopology = {{ kind = \"chain\", hops = 1 }}\nrouting = {{ {routing} }}\n\
         [[flow]]\ntransport = {transport}\n"
    );
    let source = Source::Toml { text, name: "test.toml".into() };
    Scenario::load_with(&source, &[], &extensions()).map_err(|problems| problems.to_string())
}

#[test]
fn a_user_defined_protocol_gets_the_values_of_its_keys() {
    let scenario = load("protocol = \"gossip\", fanout = 3, ip_extra = 20").unwrap();
    assert_eq!(scenario.routing.ip_extra, 20);
    assert_eq!(scenario.extensions(), [extension("gossip")]);
    let RoutingProtocol::Agents(agents) = &scenario.routing.protocol else { panic!("static routes") };
    assert_eq!(format!("{:?}", agents.config), "Gossip { fanout: 3 }");
    assert_eq!(scenario.routing.protocol.name(), "gossip");
}

#[test]
fn messages_know_user_defined_protocols() {
    let message = |routing| load(routing).unwrap_err();
    let found = message("protocol = \"gossip\", fanout = 10");
    assert!(found.ends_with("routing.fanout: found 10, allowed: a whole number from 0 to 9"), "{found}");
    let found = message("protocol = \"gossip\", fannout = 1");
    assert!(found.ends_with(", did you mean \"fanout\"?"), "{found}");
    let found = message("protocol = \"gossips\"");
    assert!(found.ends_with(", \"gossip\", did you mean \"gossip\"?"), "{found}");
    let found = message("protocol = \"aodv\", fanout = 1");
    assert!(found.ends_with("is not a key here, allowed with protocol = \"gossip\""), "{found}");
    let found = message("protocol = \"gossip\", next_hops = []");
    assert!(found.ends_with("is not a key here, allowed with protocol = \"static\""), "{found}");
}

#[test]
fn a_user_defined_transport_has_a_name_and_a_table_form() {
    let scenario = load_flow("\"whisper\"").unwrap();
    assert_eq!(scenario.flows[0].transport.name, "whisper");
    let scenario = load_flow("{ kind = \"whisper\", fanout = 3 }").unwrap();
    assert_eq!(scenario.extensions(), [extension("whisper")]);
    let Protocol::Custom(custom) = &scenario.flows[0].transport.protocol else { panic!("not custom") };
    assert_eq!(format!("{:?}", custom.config), "Gossip { fanout: 3 }");
}

#[test]
fn messages_know_user_defined_transports() {
    let message = |transport| load_flow(transport).unwrap_err();
    let found = message("\"wisper\"");
    assert!(found.contains("\"mesh\", \"whisper\", \"murmur\", "), "{found}");
    let found = message("{ kind = \"whisper\", fannout = 1 }");
    assert!(found.ends_with(", did you mean \"fanout\"?"), "{found}");
    let found = message("{ kind = \"newreno\", fanout = 1 }");
    assert!(found.ends_with("is not a key here, allowed with whisper or murmur"), "{found}");
    let found = message("\"whisper+da\"");
    assert!(found.ends_with("but user-defined transports have no suffixes"), "{found}");
}

#[test]
fn a_user_defined_congestion_control_is_a_tcp() {
    for name in ["murmur", "murmur+da", "murmur+da+elfn", "murmur+ap"] {
        let scenario = load_flow(&format!("{name:?}")).unwrap();
        assert_eq!(scenario.flows[0].transport.name, name);
        assert_eq!(scenario.extensions(), [extension("murmur")], "its version is part of the keys of runs");
    }
    let scenario =
        load_flow("{ kind = \"murmur+da\", preset = \"linux\", fanout = 3, window_max = 7 }").unwrap();
    let Protocol::Tcp { config, .. } = &scenario.flows[0].transport.protocol else { panic!("not TCP") };
    assert!(config.congestion.signals().rates, "the control has the value of its key");
    assert_eq!((config.window_max, config.sack), (7, true));
}

#[test]
fn messages_know_user_defined_congestion_controls() {
    let message = |transport| load_flow(transport).unwrap_err();
    let found = message("\"murmer+da\"");
    assert!(found.ends_with("did you mean \"murmur+da\"?"), "{found}");
    let found = message("{ kind = \"murmur\", fannout = 1 }");
    assert!(found.ends_with(", did you mean \"fanout\"?"), "{found}");
    let found = message("{ kind = \"murmur\", fanout = 10 }");
    assert!(found.ends_with("fanout: found 10, allowed: a whole number from 0 to 9"), "{found}");
    let found = message("{ kind = \"newreno\", fanout = 1 }");
    assert!(found.ends_with("is not a key here, allowed with whisper or murmur"), "{found}");
    let found = message("{ kind = \"murmur\", fanout = 1 }");
    assert!(found.contains("measures by selective acknowledgements, allowed: true"), "{found}");
}

/// A control whose key is one of TCP's pacing, which NewReno does not have.
#[derive(Clone, Debug, Default, Settings)]
struct Ambiguous {
    /// Weight of the past.
    #[key(0..=9)]
    alpha: u8,
}

impl CongestionConfig for Ambiguous {
    fn control(&self, _: Window) -> Box<dyn CongestionControl> {
        unreachable!("no scenario is run")
    }
}

#[test]
#[should_panic(expected = "the key \"alpha\" of \"vague\" is a key of TCP")]
fn a_congestion_control_has_no_key_of_tcp() {
    let _ = Extensions::default().congestion::<Ambiguous>(extension("vague"));
}

#[test]
#[should_panic(expected = "a second protocol named \"whisper\"")]
fn a_name_is_a_transport_or_a_congestion_control() {
    let _ = extensions().congestion::<Gossip>(extension("whisper"));
}

#[test]
#[should_panic(expected = "a second protocol named \"cubic\"")]
fn a_name_of_a_built_in_congestion_control_is_refused() {
    let _ = Extensions::default().congestion::<Gossip>(extension("cubic"));
}

#[test]
fn the_schema_describes_user_defined_protocols() {
    let schema = schema_with(&extensions()).to_string();
    for part in
        ["\"const\":\"gossip\"", "\"const\":\"whisper\"", "Rumours.", "Neighbours that hear each rumour."]
    {
        assert!(schema.contains(part), "{part}");
    }
}

#[test]
#[should_panic(expected = "a second protocol named \"aodv\"")]
fn a_name_of_a_built_in_protocol_is_refused() {
    let _ = Extensions::default().routing::<Gossip>(extension("aodv"));
}

/// A transport and a congestion control that declare one quantity, number `N` of [`DECLARED`].
#[derive(Clone, Debug, Default)]
struct Declares<const N: usize>;

static DECLARED: [Row<()>; 4] = [
    Row::counter("rumours", "Rumours heard.", Side::Receiver, |()| 0),
    Row::counter("Rumours", "Rumours heard.", Side::Receiver, |()| 0),
    Row::gauge(["rtt", "s"], "Newest round-trip time.", Side::Sender, |()| None),
    Row::counter("probes", "Probes sent.", Side::Sender, |()| 0),
];

impl<const N: usize> Settings for Declares<N> {
    fn keys(&mut self, _: &mut dyn Visitor) {}
}

impl<const N: usize> ConnectionConfig for Declares<N> {
    fn ends(&self, _: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        unreachable!("no scenario is run")
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        (index == 0).then(|| DECLARED[N].quantity())
    }
}

impl<const N: usize> CongestionConfig for Declares<N> {
    fn control(&self, _: Window) -> Box<dyn CongestionControl> {
        unreachable!("no scenario is run")
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        (index == 0).then(|| DECLARED[N].quantity())
    }
}

#[test]
fn what_transports_and_congestion_controls_declare_can_be_recorded() {
    let recorded = |extensions: &Extensions| {
        let text = "duration = 1.0\ntopology = { kind = \"chain\", hops = 1 }\nrecord = { what = [\"rumours\"] }\n[[flow]]\ntransport = \"newreno\"";
        let source = Source::Toml { text: text.into(), name: "test.toml".into() };
        Scenario::load_with(&source, &[], extensions).map(|scenario| scenario.record.unwrap().what[0].key())
    };
    let transport = Extensions::default().transport::<Declares<0>>(extension("whisper"));
    let control = Extensions::default().congestion::<Declares<0>>(extension("murmur"));
    for extensions in [transport, control] {
        assert_eq!(recorded(&extensions).unwrap(), "rumours");
    }
    assert!(recorded(&Extensions::default()).is_err());
}

#[test]
#[should_panic(
    expected = "the name \"Rumours\" of a quantity, allowed: lower-case letters, digits and underscores"
)]
fn the_name_of_a_quantity_is_a_word() {
    let _ = Extensions::default().transport::<Declares<1>>(extension("whisper"));
}

#[test]
#[should_panic(expected = "the quantity Declared { name: \"rtt\", unit: \"s\" }, but there is Declared")]
fn a_quantity_has_one_unit() {
    let _ = Extensions::default().transport::<Declares<2>>(extension("whisper"));
}

#[test]
fn transports_share_the_names_of_quantities() {
    let _ = Extensions::default().transport::<Declares<3>>(extension("whisper"));
}

#[test]
#[should_panic(expected = "a second quantity named \"probes\"")]
fn a_congestion_control_declares_nothing_that_tcp_declares() {
    let _ = Extensions::default().congestion::<Declares<3>>(extension("murmur"));
}
