//! Scenarios that use user-defined protocols.

use multihop_core::settings::{Settings, Visitor};
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_scenario::{Extension, Extensions, RoutingProtocol, Scenario, Source, schema_with};

/// A protocol with one key and no agents.
#[derive(Debug, Default)]
struct Gossip {
    fanout: u8,
}

impl Settings for Gossip {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Neighbours that hear each rumour.").whole("fanout", &mut self.fanout, 0..=9);
    }
}

impl AgentConfig for Gossip {
    fn agents(&self, _: &Network<'_>) -> Box<dyn AgentTable> {
        unreachable!("no scenario is run")
    }
}

fn extensions() -> Extensions {
    Extensions::default().routing::<Gossip>(extension("gossip"))
}

fn extension(name: &'static str) -> Extension {
    Extension { name, version: "7", help: "Rumours." }
}

fn load(routing: &str) -> Result<Scenario, String> {
    let text = format!(
        "duration = 1.0\ntopology = {{ kind = \"chain\", hops = 1 }}\nrouting = {{ {routing} }}\n\
         [[flow]]\ntransport = \"newreno\"\n"
    );
    let source = Source::Toml { text, name: "test.toml".into() };
    Scenario::load_with(&source, &[], &extensions()).map_err(|problems| problems.to_string())
}

#[test]
fn a_user_defined_protocol_gets_the_values_of_its_keys() {
    let scenario = load("protocol = \"gossip\", fanout = 3, ip_extra = 20").unwrap();
    assert_eq!(scenario.routing.ip_extra, 20);
    assert_eq!(scenario.extensions(), [extension("gossip")]);
    let RoutingProtocol::Custom(custom) = &scenario.routing.protocol else { panic!("not custom") };
    assert_eq!(format!("{:?}", custom.config), "Gossip { fanout: 3 }");
    assert_eq!(scenario.routing.protocol.name(), "gossip");
}

#[test]
fn messages_know_user_defined_protocols() {
    let message = |routing| load(routing).unwrap_err();
    let found = message("protocol = \"gossip\", fanout = 10");
    assert!(found.ends_with("routing.fanout: found 10, allowed: a whole number from 0 to 9"), "{found}");
    let found = message("protocol = \"gossip\", fannout = 1");
    assert!(found.ends_with("is not a key here, did you mean \"fanout\"?"), "{found}");
    let found = message("protocol = \"gossips\"");
    assert!(found.ends_with("\"apdr-pr\", \"gossip\""), "{found}");
    let found = message("protocol = \"aodv\", fanout = 1");
    assert!(found.ends_with("is not a key here, allowed with protocol = \"gossip\""), "{found}");
    let found = message("protocol = \"gossip\", next_hops = []");
    assert!(found.ends_with("is not a key here, allowed with protocol = \"static\""), "{found}");
}

#[test]
fn the_schema_describes_user_defined_protocols() {
    let schema = schema_with(&extensions()).to_string();
    for part in ["\"const\":\"gossip\"", "Rumours.", "Neighbours that hear each rumour."] {
        assert!(schema.contains(part), "{part}");
    }
}

#[test]
#[should_panic(expected = "a second protocol named \"aodv\"")]
fn a_name_of_a_built_in_protocol_is_refused() {
    let _ = Extensions::default().routing::<Gossip>(extension("aodv"));
}
