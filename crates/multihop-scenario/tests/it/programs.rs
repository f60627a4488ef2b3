//! Real programs of an emulation.

use multihop_core::{Duration, NodeId};
use multihop_scenario::{Extensions, Gateway, Port, Scenario, Source};

use super::{load, refused};

const NO_FLOWS: &str = "duration = 10.0\n[topology]\nkind = \"chain\"\nhops = 4\n";
const PROGRAM: &str = "[[program]]\nnode = 4\ncommand = \"iperf3 -s\"\n";

#[test]
fn a_scenario_with_programs_needs_no_flows() {
    let scenario =
        load(&format!("{NO_FLOWS}{PROGRAM}start = 1.5\nstop = 8\nenvironment = [\"A=b=c\", \"EMPTY=\"]\n"));
    let [program] = &scenario.programs[..] else { panic!("one program") };
    assert_eq!((program.node, &*program.command), (NodeId(4), "iperf3 -s"));
    assert_eq!((program.start, program.stop), (Duration::from_millis(1500), Some(Duration::from_secs(8))));
    let variables = [("A", "b=c"), ("EMPTY", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(program.environment, variables);
    assert!(scenario.flows.is_empty());
}

#[test]
fn only_a_network_by_itself_needs_neither_flows_nor_programs() {
    let source = Source::Toml { text: NO_FLOWS.to_owned(), name: "x.toml".to_owned() };
    let network = Scenario::load_network(&source, &[], &Extensions::default()).unwrap();
    assert!(network.flows.is_empty());
    assert_eq!(refused(NO_FLOWS), "x.toml:1:1: flow: found 0 flows, allowed: 1 to 100000");
}

#[test]
fn problems_of_a_program() {
    let found =
        |program: &str| refused(&format!("{NO_FLOWS}{program}")).split_once(": ").unwrap().1.to_owned();
    assert_eq!(found(&PROGRAM.replace("node = 4", "node = 5")), "program.0.node: found 5, allowed: 0 to 4");
    assert_eq!(
        found(&format!("{PROGRAM}start = 10\n")),
        "program.0.start: found 10, allowed: less than duration, 10"
    );
    assert_eq!(
        found(&format!("{PROGRAM}start = 5\nstop = 5\n")),
        "program.0.stop: found 5, allowed: more than start, 5"
    );
    assert_eq!(
        found(&format!("{PROGRAM}environment = [\"=x\"]\n")),
        "program.0.environment.0: found \"=x\", allowed: NAME=value"
    );
}

#[test]
fn an_emulation_has_tun_interfaces_unless_told_otherwise() {
    let usual = load(&format!("{NO_FLOWS}{PROGRAM}")).emulation;
    assert_eq!((usual.interface, usual.mtu, usual.back_pressure), (Port::Tun, 1500, false));
    assert_eq!(usual.gateway, None);
    let keys = "interface = \"tap\"\nmtu = 1400\nback_pressure = true\ngateway = 2\n";
    let other = load(&format!("{NO_FLOWS}{PROGRAM}[emulation]\n{keys}")).emulation;
    assert_eq!((other.interface, other.mtu, other.back_pressure), (Port::Tap, 1400, true));
    assert_eq!(other.gateway, Some(Gateway { node: NodeId(2), interface: "mesh0".to_owned() }));
}

#[test]
fn problems_of_an_emulation() {
    let found = |emulation: &str| {
        let text = format!("{NO_FLOWS}{PROGRAM}{emulation}");
        refused(&text).split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(
        found("[emulation]\ninterface = \"tab\"\n"),
        "emulation.interface: found \"tab\", allowed: \"tun\", \"tap\", did you mean \"tap\"?"
    );
    let small = "emulation.mtu: found 576, allowed: a whole number from 1280 to 2296";
    assert_eq!(found("[emulation]\nmtu = 576\n"), small);
    assert_eq!(found("[emulation]\ngateway = 5\n"), "emulation.gateway: found 5, allowed: 0 to 4");
    assert_eq!(
        found("[emulation]\ngateway = 4\ngateway_interface = \"a/b\"\n"),
        "emulation.gateway_interface: found \"a/b\", allowed: up to 15 of the letters a to z, A to Z, 0 to 9, -, _ and ."
    );
    let tap = "[emulation]\ninterface = \"tap\"\n";
    assert_eq!(
        found(&format!("{tap}[routing]\nprotocol = \"aodv\"\n")),
        "routing.protocol: found \"aodv\", allowed with emulation.interface = \"tap\", where kernels route: \"static\""
    );
    assert_eq!(
        found(&format!("{tap}simulated = [1, 3]\n")),
        "routing.protocol: found \"static\", allowed with emulation.simulated: \"olsr\", \"apdr\""
    );
    let olsr = "[routing]\nprotocol = \"olsr\"\n";
    assert_eq!(
        found(&format!("{tap}simulated = [1, 5]\n{olsr}")),
        "emulation.simulated.1: found 5, allowed: 0 to 4"
    );
    assert_eq!(
        found(&format!("[emulation]\nsimulated = [1]\n{olsr}")),
        "emulation.simulated: found 1 nodes, allowed without emulation.interface = \"tap\": none"
    );
    assert_eq!(
        found(&format!("{tap}[[host]]\ngateway = 4\n")),
        "host: found 1 hosts, allowed with emulation.interface = \"tap\": none"
    );
}
