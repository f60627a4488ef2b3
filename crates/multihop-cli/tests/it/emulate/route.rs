//! Routing daemons at stations of the simulated network: those of this project, and olsrd beside them.

use std::collections::BTreeSet;
use std::process::Command;

use super::super::Folder;
use super::{TAP, code, folder, is_possible, stderr, stdout};

const NETWORK: &str = "duration = 90.0\nradio.rate = \"11M\"\n[topology]\nkind = \"chain\"\nhops = 4\n";

/// A daemon, and what its node sees: once it reaches all others it waits for the routes to settle, pings all of them
/// again, and shows its routes. If it never reaches them, the emulation ends before the command.
const STATION: &str = "\
node=$1; shift
\"$@\" >daemon-$node.txt 2>&1 &
all() { for to in 1 2 3 4 5; do ping -n -c 2 -i 0.2 -W 2 10.0.0.$to >/dev/null || return 1; done; }
until all; do sleep 0.2; done
sleep 4
until all; do sleep 0.5; done
ip route | sed \"s/^/$node: /\" >>seen-$node.txt
touch done-$node
wait
";

/// Runs the daemons until all nodes have seen all others; the daemon of a node that has finished still serves
/// the others.
const SCRIPT: &str = "\
for node; do until [ -e done-$node ]; do sleep 0.2; done; done
cat seen-*.txt
";

/// Validity times are long, so that messages lost on a busy machine do not take a route away.
fn ours(node: usize) -> String {
    let quick = "--set routing.hello_interval=0.5 --set routing.neighbour_hold=4 \
                 --set routing.tc_interval=1 --set routing.topology_hold=8";
    station(node, &format!("multihop route radio0 --quiet {quick}"))
}

fn olsrd(node: usize) -> String {
    station(node, "olsrd -f olsrd.conf -nofork")
}

fn station(node: usize, daemon: &str) -> String {
    format!("[[program]]\nnode = {node}\ncommand = \"exec sh station.sh {node} {daemon}\"\n")
}

const OLSRD: &str = "\
IpVersion 4
UseHysteresis no
LinkQualityLevel 0
DebugLevel 0
Interface \"radio0\" {
HelloInterval 0.5
HelloValidityTime 4.0
TcInterval 1.0
TcValidityTime 8.0
}
";

/// The routes of nodes with daemons over more than one hop: node, destination, next hop. `rest` belongs to the scenario.
fn routes_at(
    name: &str,
    nodes: &[usize],
    rest: &str,
    daemon: impl Fn(usize) -> String,
) -> Option<(Folder, BTreeSet<String>)> {
    let daemons: String = nodes.iter().map(|node| daemon(*node)).collect();
    let scenario = format!("{NETWORK}{TAP}{rest}{daemons}");
    let folder = folder(name, &scenario)
        .with("script.sh", SCRIPT)
        .with("station.sh", STATION)
        .with("olsrd.conf", OLSRD);
    let tools: &[&str] = if scenario.contains("olsrd") { &["ping", "ip", "olsrd"] } else { &["ping", "ip"] };
    if !is_possible(&folder, tools) {
        return None;
    }
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_multihop")).parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default());
    let args = ["emulate", "x.toml", "--out", "out", "--pcap", "all.pcapng", "--", "sh", "-e", "script.sh"];
    let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
    let done = super::command(&folder, &args).args(nodes).env("PATH", path).output().unwrap();
    let text = stdout(&done);
    assert_eq!(code(&done), 0, "{text}{}{}", stderr(&done), folder.read("out/program-0.txt"));
    let via = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [node, to, "via", via, ..] = words[..] else { return None };
        Some(format!("{node} {to} via {via}"))
    };
    let found = text.lines().filter_map(via).collect();
    Some((folder, found))
}

fn routes(name: &str, daemon: impl Fn(usize) -> String) -> Option<(Folder, BTreeSet<String>)> {
    routes_at(name, &[0, 1, 2, 3, 4], "", daemon)
}

/// Number of OLSR packets that tshark finds in a capture, and its error notes about them.
fn dissected(folder: &Folder) -> Option<(usize, Vec<String>)> {
    let fields = ["-T", "fields", "-E", "aggregator=|", "-e", "_ws.malformed", "-e", "_ws.expert.message"];
    let args = ["-r", "all.pcapng", "-Y", "olsr"].into_iter().chain(fields);
    let done = Command::new("tshark").args(args).current_dir(folder.path()).output().ok()?;
    let lines: Vec<_> = stdout(&done).lines().map(str::to_owned).collect();
    // RFC 3626 demands this TTL, but tshark's dissector of IP notes it as unusual. Comments of packets are
    // notes, too.
    let is_complaint = |note: &&str| {
        !["", "\"Time To Live\" only 1"].contains(note) && !note.starts_with("strongest interference: ")
    };
    let notes = lines.iter().flat_map(|line| line.split(['\t', '|'])).map(str::trim);
    Some((lines.len(), notes.filter(is_complaint).map(str::to_owned).collect()))
}

/// The routes of a chain of five nodes, for which there is no choice.
fn expected() -> BTreeSet<String> {
    let pairs = (0..5_i32).flat_map(|from| (0..5_i32).map(move |to| (from, to)));
    let far = pairs.filter(|(from, to)| (from - to).abs() > 1);
    far.map(|(from, to)| format!("{from}: 10.0.0.{} via 10.0.0.{}", to + 1, from + (to - from).signum() + 1))
        .collect()
}

#[test]
fn our_daemons_route_over_four_hops_and_tshark_reads_them() {
    let Some((folder, found)) = routes("emulate-route", ours) else { return };
    assert_eq!(found, expected());
    if let Some((packets, complaints)) = dissected(&folder) {
        assert!(packets > 50, "{packets}");
        assert_eq!(complaints, [""; 0]);
    }
}

#[test]
fn olsrd_and_our_daemons_find_the_routes_of_olsrd_alone() {
    let Some((_, alone)) = routes("emulate-olsrd", olsrd) else { return };
    assert_eq!(alone, expected());
    for first in [0, 1] {
        let mixed = |node: usize| if node % 2 == first { ours(node) } else { olsrd(node) };
        let Some((folder, found)) = routes(&format!("emulate-mixed-{first}"), mixed) else { return };
        assert_eq!(found, alone);
        if let Some((packets, complaints)) = dissected(&folder) {
            assert!(packets > 50, "{packets}");
            assert_eq!(complaints, [""; 0]);
        }
    }
}

#[test]
fn agents_of_the_simulator_route_between_real_daemons() {
    let rest = "simulated = [1, 3]\n[routing]\nprotocol = \"olsr\"\nhello_interval = 0.5\ntc_interval = 1\n\
                neighbour_hold = 4\ntopology_hold = 8\n";
    // All nodes are pinged, the simulated ones by the kernels of their programs.
    let real = [0, 2, 4];
    let has_olsrd = Command::new("sh").args(["-c", "command -v olsrd"]).output().unwrap().status.success();
    let daemon = |node: usize| if node == 2 && has_olsrd { olsrd(node) } else { ours(node) };
    let Some((folder, found)) = routes_at("emulate-simulated", &real, rest, daemon) else { return };
    let is_real = |route: &String| real.iter().any(|node| route.starts_with(&format!("{node}:")));
    let expected: BTreeSet<_> = expected().into_iter().filter(is_real).collect();
    assert_eq!(found, expected);
    if let Some((packets, complaints)) = dissected(&folder) {
        assert!(packets > 50, "{packets}");
        assert_eq!(complaints, [""; 0]);
    }
}
