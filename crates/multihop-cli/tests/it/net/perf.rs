//! Tests of `multihop perf`.

use serde_json::Value;

use super::*;
use crate::{code, multihop, stderr};

/// Starts a listening end; returns it and what a measurement with these arguments prints.
fn measure(name: &str, more: &[&str]) -> (Running, String) {
    let folder = Folder::new(name);
    let mut server = Running::new(&folder, &["perf", "--listen", "127.0.0.1:0", "--plain"]);
    let to = server.address();
    let said = Running::new(&folder, &[&["perf", &to, "--plain"], more].concat()).succeeds().stdout;
    (server, said)
}

fn document(name: &str, more: &[&str]) -> Value {
    serde_json::from_str(&measure(name, &[more, &["-J"]].concat()).1).unwrap()
}

/// Bytes of all intervals of a direction.
fn bytes(document: &Value, direction: &str) -> u64 {
    let intervals = document["intervals"].as_array().unwrap();
    intervals.iter().map(|interval| interval[direction]["bytes"].as_u64().unwrap()).sum()
}

#[test]
fn perf_prints_lines_or_json() {
    let (mut server, said) = measure("perf", &["--bytes", "2M", "--interval", "0.01"]);
    for part in [
        "2000000 bytes in ",
        " Mb/s",
        "retransmitted: ",
        "CPU seconds per GB",
        "rtt ",
        "cwnd ",
        "\nprotocol: mesh/3",
    ] {
        assert!(said.contains(part), "{said}");
    }
    server.advice();
    assert!(server.line().contains(": 2000000 bytes in "));
    let document = document("perf-json", &["--time", "0.2", "--reverse"]);
    assert_eq!((&document["direction"], &document["security"]), (&"reverse".into(), &"plain".into()));
    let reverse = &document["reverse"];
    assert_eq!(reverse["sender"]["bytes"], reverse["receiver"]["bytes"]);
    assert!(reverse["goodput_kbps"].as_f64().unwrap() > 0.0 && document["forward"].is_null());
    assert!(reverse["receiver"]["cpu_seconds_per_gb"].as_f64().unwrap() > 0.0);
    let counters = ["sender", "receiver"].map(|end| &reverse[end]["counters"]);
    assert_eq!(
        counters[0]["freezes"], reverse["sender"]["freezes"],
        "the peer says what its transport counts"
    );
    assert!(counters[1]["acks"].as_u64().unwrap() > 0, "{}", counters[1]);
}

#[test]
fn the_listening_end_prints_a_command_that_measures() {
    let folder = Folder::new("perf-command");
    let mut server = Running::new(&folder, &["perf", "--listen", "127.0.0.1:0"]);
    let to = server.address();
    let token = server.line().strip_prefix("token: ").unwrap().to_owned();
    let command = server.advice();
    assert_eq!(command, format!("multihop perf {to} --token {token}"));
    let args: Vec<_> = command.split(' ').skip(1).chain(["--bytes", "1k"]).collect();
    Running::new(&folder, &args).succeeds();
    assert!(server.line().contains(": 1000 bytes in "));
    let mut quiet = Running::new(&folder, &["perf", "--listen", "127.0.0.1:0", "--plain", "-q"]);
    quiet.address();
    quiet.kill();
    assert_eq!(quiet.line(), "");
}

#[test]
fn perf_measures_mesh_unless_an_end_has_only_tpa() {
    let folder = Folder::new("perf-mesh");
    let mut server = Running::new(&folder, &["perf", "--listen", "127.0.0.1:0", "--plain"]);
    let to = server.address();
    let command = server.advice();
    assert_eq!(command, format!("multihop perf {to} --plain"));
    let args: Vec<_> = command.split(' ').skip(1).chain(["--bytes", "2M"]).collect();
    let lines = Running::new(&folder, &args).succeeds().stdout;
    assert!(lines.contains("2000000 bytes in ") && lines.contains("\nprotocol: mesh/3"), "{lines}");
    let document = Running::new(&folder, &[&args[..], &["--json", "--bidir"]].concat()).succeeds().stdout;
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["protocol"], "mesh/3");
    for direction in ["forward", "reverse"] {
        let result = &document[direction];
        assert_eq!(result["receiver"]["bytes"], 2_000_000, "{document}");
        assert!(result["sender"]["data_sent"].as_u64().unwrap() > 2_000_000 / 1460, "{document}");
    }
    for (options, protocol) in
        [("--transport=mesh", "mesh/3"), ("--transport=tpa", "tpa"), ("--set=cwnd_max=12", "tpa")]
    {
        let lines = Running::new(&folder, &[&args[..], &[options]].concat()).succeeds().stdout;
        assert!(lines.contains(&format!("\nprotocol: {protocol}\n")), "{options}: {lines}");
    }
    let mut server =
        Running::new(&folder, &["perf", "--listen", "127.0.0.1:0", "--plain", "--transport", "mesh"]);
    let to = server.address();
    assert_eq!(server.advice(), format!("multihop perf {to} --plain --transport mesh"));
    let refused = Running::new(&folder, &["perf", &to, "--plain", "--transport", "tpa"]).end(SOON);
    let error = "connection refused: this end uses the transport tpa, the listener mesh/3";
    assert!(refused.code == Some(1) && refused.stderr.contains(error), "{refused:?}");
}

#[test]
fn the_last_interval_is_never_dropped() {
    let said = measure("perf-last", &["--time", "0.5", "--interval", "0.4"]).1;
    let rows: Vec<Vec<_>> = said
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|row| row.split_whitespace().take(3).collect())
        .collect();
    // On a busy machine rows are late: there may be more rows, or a single one for the whole time.
    assert!(rows.first().is_some_and(|first| first[0] == "0.00"), "{said}");
    assert!(rows.windows(2).all(|two| two[0][2] == two[1][0]), "no gap: {said}");
    let end: f64 = rows[rows.len() - 1][2].parse().unwrap();
    assert!(end >= 0.5, "{said}");
    let reverse = document("perf-last-json", &["--bytes", "1M", "--interval", "99", "--reverse"]);
    assert_eq!(bytes(&reverse, "reverse"), 1_000_000, "{reverse}");
    let forward = document("perf-last-json", &["--bytes", "1M", "--interval", "0.01"]);
    assert!(bytes(&forward, "forward") >= 1_000_000, "{forward}");
}

#[test]
fn parallel_connections_have_a_row_each_and_a_sum() {
    let said = measure("perf-parallel", &["-P", "3", "--bytes", "200k"]).1;
    for label in ["[  1]  ", "[  2]  ", "[  3]  ", "[SUM]  "] {
        assert!(said.lines().any(|line| line.starts_with(label)), "{label}: {said}");
    }
    assert!(said.contains("\n[  3] 200000 bytes in ") && said.contains("\n600000 bytes in "), "{said}");
    let document = document("perf-parallel-json", &["-P", "3", "--bytes", "200k"]);
    assert_eq!(document["flows"].as_array().unwrap().len(), 3);
    assert_eq!(document["forward"]["receiver"]["bytes"], 600_000);
}

#[test]
fn both_directions_run_at_the_same_time() {
    let said = measure("perf-both", &["--bidir", "--time", "0.3"]).1;
    assert!(said.contains("[  1 out]") && said.contains("[  2 in ]"), "{said}");
    assert!(said.contains("\nout: ") && said.contains("\nin: "), "{said}");
    let document = document("perf-both-json", &["--bidir", "--bytes", "300k"]);
    for direction in ["forward", "reverse"] {
        assert_eq!(document[direction]["receiver"]["bytes"], 300_000, "{direction}");
        assert!(bytes(&document, direction) >= 300_000);
    }
}

#[test]
fn udp_has_a_rate_losses_and_jitter() {
    for (way, more) in [("forward", &[][..]), ("reverse", &["--reverse"])] {
        let args = [&["--udp", "-b", "4M", "--bytes", "84k"], more].concat();
        let document = document("perf-udp", &args);
        assert_eq!(document["protocol"], "udp");
        let found = &document[way];
        // The datagrams have 1400 bytes. This host loses none of them, because a socket's buffer holds all.
        assert_eq!(found["sender"]["datagrams_sent"], 60, "{document}");
        assert_eq!((&found["lost"], &found["receiver"]["datagrams_received"]), (&0.into(), &60.into()));
        // The last datagram leaves after 59 gaps.
        assert!(found["sender"]["seconds"].as_f64().unwrap() >= 59.0 * 1400.0 * 8.0 / 4e6, "{document}");
        assert!(found["goodput_kbps"].as_f64().unwrap() > 0.0, "{document}");
        assert!(found["jitter_ms"].as_f64().unwrap() >= 0.0);
        assert_eq!(bytes(&document, way), 60 * 1400);
    }
    // 18 of each at 1 Mb/s; on a busy machine the last ones would sometimes be late, and are not sent.
    let measured = || measure("perf-udp-lines", &["-u", "-P", "2", "--time", "0.2", "--reverse"]).1;
    let is_whole = |said: &String| said.contains("lost: 0 of 36 datagrams (0.00%); ");
    let said = (0..10).map(|_| measured()).find(is_whole).expect("all of them once in ten times");
    assert!(said.lines().any(|line| line.starts_with("[SUM]") && line.contains("jitter")), "{said}");
}

#[test]
fn tpa_refuses_two_addresses() {
    const TOKEN: &str = "gfw06-sfgfd-tdvxj-48mw9-befah";
    let folder = Folder::new("perf-two-addresses");
    let two = ["perf", "127.0.0.1:9", "--token", TOKEN, "--local", "127.0.0.1", "--local", "127.0.0.2"];
    for tpa in [["--transport", "tpa-2"], ["--set", "cwnd_max=12"]] {
        let said = multihop(&folder, &[&two[..], &tpa].concat());
        assert_eq!(code(&said), 2, "{}", stderr(&said));
        assert!(stderr(&said).contains("found 2 addresses, allowed with TPA: 1"), "{}", stderr(&said));
    }
}
