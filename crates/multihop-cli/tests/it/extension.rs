//! The command with user-defined protocols: the program of examples/my_protocols.rs.

#[expect(dead_code, reason = "the tests call the command themselves")]
#[path = "../../../../examples/my_protocols.rs"]
pub(crate) mod my_protocols;

use multihop_scenario::schema_with;
use serde_json::Value;

use super::Folder;

const SCENARIO: &str = include_str!("../../../../examples/my_protocols.toml");

/// The exit code of the program.
pub(crate) fn run(arguments: &[&str]) -> i32 {
    let all = ["my_protocols"].iter().chain(arguments).map(Into::into).collect();
    multihop_cli::main_with(all, &my_protocols::extensions())
}

#[test]
fn user_defined_protocols_have_results_series_and_captures() {
    let folder = Folder::new("extension-run").with("a.toml", SCENARIO);
    let (file, out) = (folder.path().join("a.toml"), folder.path().join("out"));
    let code = run(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--trace", "--pcap"]);
    assert_eq!(code, 0);
    let result = std::fs::read_to_string(out.join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["flows"][0]["transport"], "stop-and-wait");
    assert!(result["routing"]["packets"]["beacon"].as_u64().unwrap() > 100, "{}", result["routing"]);
    assert!(result["totals"]["goodput_kbps"].as_f64().unwrap() > 1.0, "{}", result["totals"]);
    let series = std::fs::read_to_string(out.join("series.csv")).unwrap();
    assert!(series.contains("cwnd") && series.contains("rtt"), "{series}");
    assert!(out.join("packets.txt").metadata().unwrap().len() > 0);
    assert!(out.join("packets.pcapng").metadata().unwrap().len() > 0);
}

#[test]
fn a_sweep_over_the_keys_of_a_user_defined_protocol_is_resumed() {
    let folder = Folder::new("extension-sweep").with("a.toml", SCENARIO);
    let (file, out) = (folder.path().join("a.toml"), folder.path().join("out"));
    let sweep = || run(&["sweep", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let journal = || std::fs::read_to_string(out.join("runs.jsonl")).unwrap();
    assert_eq!(sweep(), 0);
    let first = journal();
    assert_eq!(first.lines().count(), 4);
    assert_eq!(sweep(), 0);
    assert_eq!(journal(), first, "finished runs are not repeated");
    let results = std::fs::read_to_string(out.join("results.jsonl")).unwrap();
    assert_eq!(results.lines().filter(|line| line.contains("\"routing.interval\":0.5")).count(), 2);
}

#[test]
fn other_commands_know_user_defined_protocols() {
    let folder = Folder::new("extension-check").with("a.toml", SCENARIO);
    let wrong = SCENARIO.replace("interval = 0.5", "intervall = 0.5");
    let folder = folder.with("b.toml", &wrong);
    assert_eq!(run(&["check", folder.path().join("a.toml").to_str().unwrap()]), 0);
    assert_eq!(run(&["check", folder.path().join("b.toml").to_str().unwrap()]), 2);
    let schema = schema_with(&my_protocols::extensions()).to_string();
    for help in ["Greedy geographic forwarding.", "One segment in flight at a time."] {
        assert!(schema.contains(help), "{schema}");
    }
}
