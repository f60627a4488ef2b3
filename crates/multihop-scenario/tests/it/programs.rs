//! Real programs of an emulation.

use multihop_core::{Duration, NodeId};
use multihop_scenario::{Extensions, Scenario, Source};

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
