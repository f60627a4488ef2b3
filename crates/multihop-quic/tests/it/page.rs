//! The how-to page: its command and its scenario.

use std::fs;
use std::path::Path;
use std::process::Command;

use multihop_sim::{Outputs, run, unattended};

use super::scenario;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn page() -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/how-to/quic.md")).unwrap()
}

#[test]
fn the_command_of_the_page_writes_the_files_that_it_names() {
    let (page, out) = (page(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("page"));
    let mut lines = page.lines();
    let command =
        lines.find_map(|line| line.strip_prefix("cargo run --release -p multihop-quic -- ")).unwrap();
    let words = command.split(' ').map(|word| if word == "out/quic" { out.to_str().unwrap() } else { word });
    let program = env!("CARGO_BIN_EXE_multihop-with-quic");
    let done = Command::new(program).args(words).current_dir(ROOT).output();
    let done = done.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let qlog = fs::read_to_string(out.join("flow-0.sqlog")).unwrap();
    for event in ["packet_sent", "packet_received", "packet_lost", "recovery_metrics_updated"] {
        assert!(qlog.contains(&format!("\"quic:{event}\"")), "{event}");
    }
    assert!(out.join("packets.pcapng").is_file());
}

#[test]
fn the_scenario_of_the_page_runs() {
    let page = page();
    let flow = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let chain = "duration = 2.0\n[topology]\nkind = \"chain\"\nhops = 1\n";
    let result = run(&scenario(&format!("{chain}{flow}"), &[]), Outputs::default(), &mut unattended).unwrap();
    assert!(result.totals.goodput_kbps > 0.0);
}
