//! For every text the answer is a scenario or a list of problems, and it comes soon.

use multihop_core::{Duration, Instant, Rng};
use multihop_scenario::{Problems, Scenario, Source};

/// A short text with many kinds of keys, values and tables.
const VALID: &str = r#"name = "all"
duration = 60.0
warmup = 5
seed = 3
[radio]
rate = "2M"
range = { "1M" = 300.0, "2M" = 250.0 }
sense_range = 550.0
burst = { good = 0.0, bad = 0.5, p = 0.1, r = 0.2 }
[mac]
rts_threshold = "off"
eifs = true
queue = 50
[topology]
kind = "random"
nodes = 20
area = [500.0, 300.0]
[routing]
protocol = "static"
next_hops = [[0, 2, 1]]
[[flow]]
from = 0
to = 2
app = "pareto"
mean_bytes = 1000.0
shape = 1.5
mean_pause = 0.1
transport = { kind = "tcp-3", preset = "linux", mss = 512 }
[[flow]]
from = 2
to = 3
transport = { kind = "tpa-star-ap-3", profile = "net", loss_by_txseq = "off", pacing_k = 2, fill = "block" }
[[flow]]
from = 1
to = 2
app = "cbr"
rate_kbps = 100
stop = 50
[record]
every = 0.5
what = ["cwnd", "rtt"]
[sweep]
seeds = 2
"mac.queue" = [10, 20]
[energy]
idle = 0.1
"#;

/// Scenario whose nodes move and find routes by themselves: random waypoint and AODV.
const MOBILE: &str = r#"duration = 60.0
[topology]
kind = "random"
nodes = 20
area = [500.0, 300.0]
connected = false
[mobility]
kind = "random-waypoint"
area = [600.0, 300.0]
speed = [1.0, 20.0]
pause = 30.0
start = "classic"
[routing]
protocol = "aodv"
preset = "uu"
link_failure = "mac"
local_repair = "rfc"
expanding_ring = true
active_route_timeout = 10.0
delete_period = "off"
ttl_start = 2
hello_interval = 1.0
hello_jitter = 0.1
rate_limit = 10
ip_extra = 20
[[flow]]
from = 0
to = 2
transport = "reno"
"#;

/// A scenario with waypoints and OLSR.
const GUIDED: &str = r#"duration = 60.0
[topology]
kind = "chain"
hops = 1
[mobility]
kind = "waypoints"
waypoints = [[], [[0.0, 1.0, 2.0], [10.0, 3.0, 4.0]]]
[routing]
protocol = "olsr"
preset = "rfc"
hello_interval = 2.0
tc_interval = 5.0
neighbour_hold = 6.0
max_jitter = 0.5
willingness = 3
tc_redundancy = 1
mpr_coverage = 2
hysteresis = { scaling = 0.5, high = 0.8, low = 0.3 }
[[flow]]
from = 0
to = 1
transport = "reno"
"#;

/// The roaming node and DSR.
const ROAMING: &str = r#"duration = 60.0
[topology]
kind = "roaming"
spacing = 200.0
[routing]
protocol = "dsr"
ring0 = true
ring0_timeout = 0.03
rreq_backoff_max = 10.0
cache_replies = true
cache_timeout = "off"
negative_cache = 1.0
salvage_limit = 15
[[flow]]
from = "N4"
to = "N1"
transport = "reno"
"#;

/// Texts in which something is wrong.
const ALL: &[&str] = &[VALID, MOBILE, GUIDED, ROAMING];

/// Values that replace a value of a valid document.
const VALUES: &[&str] = &[
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e308",
    "-0.0",
    "5e-324",
    "9223372036854775807",
    "1e9",
    "170141183460469231731687303715884105728",
    "0xffffffffffffffffffffffffffffffffffff",
    "100000",
    "99999999",
    "\"\"",
    "\"chain\"",
    "\"ftp\"",
    "\"file\"",
    "\"random\"",
    "\"list\"",
    "\"sinr\"",
    "\"off\"",
    "\"\\u0000\"",
    "true",
    "[]",
    "{}",
    "[[[[]]]]",
    "[nan]",
    "[1, \"a\", {}]",
    "{ kind = \"grid\" }",
    "{ x.y.z = 1 }",
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "'''\n'''",
    "\"5M\"",
    "\"tcp-2+da+da\"",
    "\"/dev/zero\"",
    "[0, 0, 0]",
    "\"random-walk\"",
    "\"bonnmotion\"",
    "\"mobility\"",
    "\"roaming\"",
    "\"dsr\"",
    "\"hello\"",
    "[[[0, 0, 0]]]",
    "[[[1e7, 1e7, -1e7]], [[0, nan, 0]]]",
    "[0.0, 1e-300]",
    "[0.001, 1e7]",
    "{ high = 0 }",
];

fn answer(text: String) -> Result<Scenario, Problems> {
    Scenario::load(&Source::Toml { text, name: "m.toml".to_owned() }, &[])
}

fn expect_words(answer: &Result<Scenario, Problems>, text: &str) {
    match answer {
        Ok(scenario) if scenario.topology.nodes() <= 100 => expect_places(scenario),
        Ok(_) => (),
        Err(problems) => {
            assert!(!problems.list().is_empty(), "refused without a problem:\n{text}");
            for problem in problems.list() {
                assert!(!problem.message.is_empty());
                assert!(problem.to_string().chars().count() < 1000, "{problem}");
            }
        }
    }
}

/// Every node has a finite position.
fn expect_places(scenario: &Scenario) {
    let Ok(layout) = scenario.topology.place(scenario.seed) else { return };
    for mut track in scenario.tracks(&layout) {
        let place = track.at(Instant::ZERO + Duration::from_millis(100));
        assert!(place.x.is_finite() && place.y.is_finite(), "{place:?} in {scenario:?}");
    }
}

#[test]
fn the_unchanged_texts_are_valid() {
    for text in ALL {
        answer((*text).to_owned()).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn each_value_is_replaced_by_each_other() {
    for lines in ALL.iter().map(|text| text.lines().collect::<Vec<_>>()) {
        for (n, line) in lines.iter().enumerate() {
            let Some((key, _)) = line.split_once(" = ") else { continue };
            for value in VALUES {
                let changed = format!("{key} = {value}");
                let text = [&lines[..n], &[changed.as_str()], &lines[n + 1..]].concat().join("\n");
                let answer = answer(text.clone());
                expect_words(&answer, &text);
                for problem in answer.as_ref().err().into_iter().flat_map(Problems::list) {
                    assert!(problem.to_string().starts_with("m.toml:"), "{problem} has no place");
                }
            }
        }
    }
}

#[test]
fn lines_are_deleted_doubled_swapped_and_misspelt() {
    for seed in 0..1000_usize {
        let lines: Vec<&str> = ALL[seed % ALL.len()].lines().collect();
        let mut rng = Rng::stream(seed as u64, "malformed/lines", 0);
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        for _ in 0..=rng.below(3) {
            let pick = |rng: &mut Rng, count: usize| rng.below(u32::try_from(count).unwrap()) as usize;
            let (a, b) = (pick(&mut rng, changed.len()), pick(&mut rng, changed.len()));
            match rng.below(5) {
                0 => drop(changed.remove(a)),
                1 => changed.insert(b, changed[a].clone()),
                2 => changed.swap(a, b),
                3 if !changed[a].is_empty() => changed[a] = changed[a].replacen(|_| true, "x", 1),
                _ => changed[a] = format!("{}{}", changed[a], changed[b]),
            }
        }
        let text = changed.join("\n");
        expect_words(&answer(text.clone()), &text);
    }
}

#[test]
fn random_bytes_replace_parts_of_the_text() {
    for seed in 0..500_usize {
        let mut rng = Rng::stream(seed as u64, "malformed/bytes", 0);
        let valid = ALL[seed / 2 % ALL.len()].as_bytes();
        let mut bytes = if seed % 2 == 0 { valid.to_vec() } else { Vec::new() };
        for _ in 0..1 + rng.below(40) {
            let at = rng.below(u32::try_from(bytes.len() + 1).unwrap()) as usize;
            let byte = rng.next_u64().to_le_bytes()[0];
            if rng.chance(0.5) || at == bytes.len() { bytes.insert(at, byte) } else { bytes[at] = byte }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        expect_words(&answer(text.clone()), &text);
        let json = Source::Json { text: text.clone(), name: "m.json".to_owned() };
        expect_words(&Scenario::load(&json, &[]), &text);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in
        [("[", "]"), ("{ a = ", " }"), ("{ a.b.c = ", " }"), ("{\"a\":", "}"), ("\"", ""), ("(", "")]
    {
        for depth in [10, 100, 1_000, 100_000] {
            let value = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            for text in
                [format!("name = {value}"), format!("[{value}]"), format!("[[{value}]]"), value.clone()]
            {
                expect_words(&answer(text.clone()), &text[..text.len().min(100)]);
                let json = Source::Json { text: text.clone(), name: "m.json".to_owned() };
                expect_words(&Scenario::load(&json, &[]), &text[..text.len().min(100)]);
            }
            let overrides = [("name".to_owned(), value.clone()), (value, "1".to_owned())];
            let source = Source::Toml { text: VALID.to_owned(), name: "m.toml".to_owned() };
            assert!(Scenario::load(&source, &overrides).is_err());
        }
    }
    for depth in [99, 101, 100_000] {
        let dots = vec!["a"; depth].join(".");
        for text in [
            format!("{dots} = 1"),
            format!("[{dots}]"),
            format!("[[{dots}]]"),
            format!("x = {{ {dots} = 1 }}"),
        ] {
            assert!(answer(text).is_err());
        }
    }
    let tables: String = (0..5_000).map(|n| format!("[{}x{n}]\n", "a.".repeat(90))).collect();
    assert!(answer(tables).is_err());
}

#[test]
fn random_overrides() {
    let keys =
        ["", ".", "flow", "flow.0", "flow.*", "flow.*.*", "flow.-1.start", "radio.rate.x", "topology", "*"];
    for key in keys {
        for value in VALUES {
            let source = Source::Toml { text: VALID.to_owned(), name: "m.toml".to_owned() };
            let answer = Scenario::load(&source, &[(key.to_owned(), (*value).to_owned())]);
            expect_words(&answer, key);
        }
    }
}

#[test]
fn the_largest_networks_are_placed_in_time() {
    let random = "duration = 1\n[topology]\nkind = \"random\"\nnodes = 100000\narea = [1e7, 1e7]\n[[flow]]\n\
                  from = 0\nto = 1\ntransport = \"reno\"\n";
    assert!(answer(random.to_owned()).is_err());
    let dense = random.replace("[1e7, 1e7]", "[0.001, 1e7]");
    assert!(answer(dense).is_err());
    let point = random.replace("[1e7, 1e7]", "[1.0, 1.0]");
    assert!(answer(point).is_ok());
}
