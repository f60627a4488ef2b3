//! Measured links drive the radio: a trace of ten links, made by measurement in the simulator, and traces by hand.

use std::path::PathBuf;

use multihop_core::{Duration, Instant, Interface, NodeId};
use multihop_scenario::{Extensions, Scenario, Source};
use multihop_sim::live::Live;
use multihop_sim::motion::{Format, Motion};
use multihop_sim::{Outputs, notes, run, unattended};
use multihop_wire::ipv4;

use super::support::{ran_scenario, scenario};

/// A folder with a file of traces, and the name of a scenario in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, traces: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("multihop-measured-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("links.csv"), traces).unwrap();
        Self(folder)
    }

    fn load(&self, text: &str) -> Scenario {
        let name = self.0.join("x.toml").display().to_string();
        let source = Source::Toml { text: text.to_owned(), name };
        Scenario::load_network(&source, &[], &Extensions::default())
            .unwrap_or_else(|problems| panic!("{problems}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const MEASURED: &str = "[radio]\nphy = \"802.11n-20\"\nmeasured = { file = \"links.csv\" }\n";

/// A scenario of five nodes with links between all pairs, ten in all. The nodes walk apart, so that links
/// become slower and end.
const WALKING: &str = "[topology]\nkind = \"list\"\npositions = [[0, 0], [60, 0], [0, 90], [120, 60], [200, 200]]\n\
    [[mobility.node]]\nnode = [1, 2, 3, 4]\nkind = \"path\"\npath = [[600, 600]]\nspeed = 110.0\n";
const STANDING: &str = "[topology]\nkind = \"list\"\npositions = [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]\n";

/// Flows of datagrams, one over each of the ten links.
fn flows() -> String {
    let pairs = (0..5).flat_map(|from| (from + 1..5).map(move |to| (from, to)));
    pairs
        .map(|(from, to)| {
            format!("[[flow]]\nfrom = {from}\nto = {to}\napp = \"poisson\"\nrate_kbps = 900.0\nsize = 1400\n")
        })
        .collect()
}

fn played(measured: &str, places: &str) -> String {
    let routes: Vec<_> = (0..5)
        .flat_map(|at| (0..5).filter(move |to| *to != at).map(move |to| format!("[{at}, {to}, {to}]")))
        .collect();
    format!(
        "duration = 10.0\n{measured}{places}[routing]\nprotocol = \"static\"\nnext_hops = [{}]\n{}",
        routes.join(", "),
        flows()
    )
}

#[test]
fn ten_recorded_links_deliver_as_the_links_that_were_measured() {
    let radio = "[radio]\nphy = \"802.11n-20\"\nshadowing_db = 4.0\n";
    let original = scenario(&played(radio, WALKING));
    let mut traces = Vec::new();
    let every = Duration::from_millis(50);
    Motion::of(&original).unwrap().write(Format::Links { every }, &mut traces).unwrap();
    let traces = String::from_utf8(traces).unwrap();
    let folder = Folder::new("ten", &traces);
    let replay = folder.load(&played(MEASURED, STANDING));
    let [original, replayed] = [&original, &replay].map(|scenario| ran_scenario(scenario).result.flows);
    for (original, replayed) in original.iter().zip(&replayed) {
        let [before, after] = [original, replayed].map(|flow| flow.goodput_kbps);
        assert!(
            (before - after).abs() <= 0.1 * before + 20.0,
            "{} to {}: {before}, {after}",
            original.from,
            original.to
        );
    }
    // The traces determine the links, not the places of the nodes: some links end, some do not.
    let rates: Vec<_> = replayed.iter().map(|flow| flow.goodput_kbps).collect();
    assert!(rates.iter().any(|rate| *rate > 850.0) && rates.iter().any(|rate| *rate < 700.0), "{rates:?}");
}

/// Rates of data and goodput in the seconds of a link that becomes worse and ends.
#[test]
fn delivered_rates_follow_the_trace_of_a_link() {
    let folder = Folder::new("steps", "time,from,to,snr_db\n0,a,b,35\n2,a,b,11\n4,a,b,5\n6,a,b,\n");
    let text = format!(
        "duration = 8.0\n{MEASURED}[topology]\nkind = \"file\"\nfile = \"places.csv\"\n[record]\nevery = 1.0\nwhat = [\"goodput\"]\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\napp = \"cbr\"\nrate_kbps = 70000.0\nsize = 1460\n"
    );
    std::fs::write(folder.0.join("places.csv"), "x,y,name\n0,0,a\n10,0,b\n").unwrap();
    let ran = ran_scenario(&folder.load(&text));
    let rows = ran.record.lines().filter(|row| row.contains("goodput"));
    let goodput: Vec<f64> = rows.map(|row| row.rsplit(',').next().unwrap().parse().unwrap()).collect();
    // MCS 7 at 35 dB, MCS 2 at 11 dB, MCS 0 at 5 dB.
    let within = [(1, 50e3..62e3), (3, 12e3..19e3), (5, 3e3..6.3e3), (6, 0.0..100.0)];
    for (second, range) in within {
        assert!(range.contains(&goodput[second]), "second {second}: {goodput:?}");
    }
}

#[test]
fn losses_of_a_trace_are_those_of_frames() {
    let folder = Folder::new("losses", "time,from,to,loss\n0,0,1,0.0\n5,0,1,1.0\n0,1,0,0.0\n");
    let text = format!(
        "duration = 10.0\n{MEASURED}[topology]\nkind = \"chain\"\nhops = 1\n\
         [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 800.0\n"
    );
    let result = run(&folder.load(&text), Outputs::default(), &mut unattended).unwrap();
    let delivered = result.flows[0].delivery_ratio.unwrap();
    assert!((0.47..0.53).contains(&delivered), "{delivered}");
}

#[test]
fn static_routes_and_notes_go_by_the_traces() {
    let folder = Folder::new("routes", "time,from,to,snr_db\n0,0,1,20\n0,1,2,20\n0,0,2,-5\n");
    let text = format!(
        "duration = 2.0\n{MEASURED}[topology]\nkind = \"list\"\npositions = [[0, 0], [1, 0], [2, 0], [3, 0]]\n\
         [[flow]]\nfrom = 0\nto = 2\ntransport = \"newreno\"\n"
    );
    let scenario = folder.load(&text);
    let result = run(&scenario, Outputs::default(), &mut unattended).unwrap();
    assert_eq!((result.flows[0].mean_hops, result.flows[0].shortest_hops), (Some(2.0), None));
    let said = notes(&scenario);
    assert!(said.len() == 1 && said[0].starts_with("node 3 has no neighbour"), "{said:?}");
}

/// A live network in virtual time, as `multihop emulate` drives it, follows measured links.
#[test]
fn a_live_network_follows_the_trace() {
    let folder = Folder::new("live", "time,from,to,snr_db\n0,0,1,30\n20,0,1,\n40,0,1,30\n");
    let text = format!("duration = 60.0\n{MEASURED}[topology]\nkind = \"chain\"\nhops = 1\n");
    let scenario = folder.load(&text);
    let mut live = Live::new(&scenario, Outputs::default(), None).unwrap();
    let [from, to] = [0, 1].map(|node| NodeId(node).addr());
    let header = ipv4::Header {
        tos: 0,
        id: 0,
        dont_fragment: true,
        ttl: 64,
        protocol: 17,
        source: from,
        destination: to,
    };
    let mut packet = Vec::new();
    header.emit(&[0; 100], &mut packet);
    let mut arrives = |second: u64| {
        live.advance(Instant::ZERO + Duration::from_secs(second));
        live.enter(NodeId(0), Interface(0), &packet).unwrap();
        live.advance(Instant::ZERO + Duration::from_secs(second + 5));
        std::iter::from_fn(|| live.poll_exit()).filter(|exit| exit.node == NodeId(1)).count()
    };
    assert_eq!([5, 25, 45].map(&mut arrives), [1, 0, 1]);
}
