//! Simulated QUIC: results, sizes of packets, reproducibility, and congestion controls of the public port.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "../../../../examples/fractional_window.rs"]
mod fractional_window;
mod loopback;
#[path = "../../../../examples/bugs/noq_819.rs"]
mod noq_819;
mod page;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use fractional_window::{FRACTIONAL_WINDOW, FractionalWindow};
use multihop_quic::{OverNoq, OverQuinn, register};
use multihop_scenario::{Extension, Extensions, Scenario, Source};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run, unattended};

const CHAIN: &str = "duration = 6.0\n[topology]\nkind = \"chain\"\nhops = 2\n[[flow]]\n";

/// quinn, noq and TCP, and one congestion control of examples/ for all three.
fn extensions() -> Extensions {
    let extension = |name| Extension { name, ..FRACTIONAL_WINDOW };
    register(Extensions::default())
        .congestion::<FractionalWindow>(FRACTIONAL_WINDOW)
        .transport::<OverQuinn<FractionalWindow>>(extension("few-in-quinn"))
        .transport::<OverNoq<FractionalWindow>>(extension("few-in-noq"))
}

fn scenario(text: &str, changes: &[(&str, &str)]) -> Scenario {
    let source = Source::Toml { text: text.to_owned(), name: "chain.toml".to_owned() };
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Scenario::load_with(&source, &changes, &extensions()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn result(transport: &str, seed: &str) -> RunResult {
    let changes = [("flow.0.transport", transport), ("seed", seed)];
    run(&scenario(CHAIN, &changes), Outputs::default(), &mut unattended).unwrap()
}

/// A result without the wall-clock time of its run.
fn timeless(transport: &str, seed: &str) -> serde_json::Value {
    serde_json::to_value(result(transport, seed).timeless()).unwrap()
}

#[test]
fn a_run_is_its_scenario_and_its_seed() {
    let [bbr, bbr3] =
        ["bbr", "multihop-bbr3"].map(|name| format!("{{ kind = \"quinn\", control = \"{name}\" }}"));
    for transport in ["quinn", "noq", &bbr, &bbr3, "few-in-noq"] {
        let first = timeless(transport, "1");
        for _ in 0..3 {
            assert_eq!(timeless(transport, "1"), first, "{transport}");
        }
        assert_ne!(timeless(transport, "2"), first, "{transport}");
    }
}

/// The version is part of the keys of stored runs: with another stack the runs are performed again.
#[test]
fn versions_are_those_of_the_lock_file() {
    let [lock, config] = [include_str!("../../../../Cargo.lock"), include_str!("../../src/config.rs")];
    for name in ["quinn-proto", "noq-proto"] {
        let (_, package) = lock.split_once(&format!("name = \"{name}\"\n")).unwrap();
        let version = package.lines().next().unwrap().replace(" = ", ": ");
        assert!(config.contains(&version), "{name}: config.rs has not {version}");
    }
}

#[test]
fn every_controller_delivers_over_two_hops() {
    let newreno = result("newreno", "1").totals.goodput_kbps;
    let own = [("quinn", "bbr"), ("noq", "bbr3")];
    let common = ["cubic", "newreno", "multihop-newreno", "multihop-cubic", "multihop-bbr", "multihop-bbr3"];
    let common = ["quinn", "noq"].into_iter().flat_map(|stack| common.map(|control| (stack, control)));
    for (stack, control) in own.into_iter().chain(common) {
        let transport = format!("{{ kind = \"{stack}\", control = \"{control}\" }}");
        let goodput = result(&transport, "1").totals.goodput_kbps;
        assert!(goodput > 0.7 * newreno, "{stack} with {control}: {goodput} kb/s, NewReno: {newreno}");
    }
}

#[test]
fn one_congestion_control_runs_in_tcp_quinn_and_noq() {
    let [tcp, quinn, noq] = ["few", "few-in-quinn", "few-in-noq"].map(|name| result(name, "1"));
    for result in [&quinn, &noq] {
        let ratio = result.totals.goodput_kbps / tcp.totals.goodput_kbps;
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
    }
    let faster = result("{ kind = \"few-in-quinn\", growth = 1.0 }", "1");
    assert_ne!(faster.events, quinn.events, "the key of the control has an effect");
}

#[test]
fn datagrams_are_payloads_of_udp() {
    let trace = Shared::default();
    let outputs = Outputs { trace: Some(Box::new(trace.clone())), ..Outputs::default() };
    run(&scenario(CHAIN, &[("flow.0.transport", "quinn")]), outputs, &mut unattended).unwrap();
    let text = String::from_utf8(trace.0.lock().unwrap().clone()).unwrap();
    let sent = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let sizes: Vec<u32> = sent
        .filter(|cells| cells[0] == "s" && cells[4] == "udp")
        .map(|cells| cells[10].parse().unwrap())
        .collect();
    // The first datagram of each end is padded to 1200 bytes; UDP and IP add 28.
    assert_eq!(sizes[..2], [1228, 1228]);
    // MTU discovery ends with 1452 bytes.
    assert_eq!(sizes.iter().max(), Some(&1480));
    let full = sizes.iter().filter(|&&size| size == 1480).count();
    assert!(2 * full > sizes.len() / 2, "{full} of {}", sizes.len());
}

#[test]
fn without_discovery_datagrams_keep_their_length() {
    let trace = Shared::default();
    let outputs = Outputs { trace: Some(Box::new(trace.clone())), ..Outputs::default() };
    let transport = "{ kind = \"noq\", mtu_discovery = false }";
    run(&scenario(CHAIN, &[("flow.0.transport", transport)]), outputs, &mut unattended).unwrap();
    let text = String::from_utf8(trace.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("\t1228\n") && !text.contains("\t1480\n"));
}

#[test]
fn files_end_and_the_next_one_begins() {
    for stack in ["quinn", "noq"] {
        let text = format!(
            "{CHAIN}from = 0\nto = 2\napp = \"file\"\nbytes = 100000\ntransport = \"{stack}\"\n\
             [[flow]]\nfrom = 0\nto = 2\napp = \"pareto\"\nmean_bytes = 20000\nshape = 1.5\nmean_pause = 0.2\ntransport = \"{stack}\"\n"
        );
        let result = run(&scenario(&text, &[]), Outputs::default(), &mut unattended).unwrap();
        let file = &result.flows[0];
        let bytes = 125.0 * file.goodput_kbps * (file.stop - file.start);
        assert!(file.stop < 6.0 && (bytes - 100_000.0).abs() < 10.0, "{stack}: {bytes} by {} s", file.stop);
        assert!(result.flows[1].goodput_kbps > 0.0);
    }
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
