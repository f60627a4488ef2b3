//! Tests of `multihop motion`.

use super::{Folder, SHORT, code, multihop, stderr, stdout};

const WAYPOINT: &str = "\
duration = 60.0
mobility = { kind = \"random-waypoint\", speed = [1.0, 20.0], pause = 2.0 }
topology = { kind = \"random\", nodes = 5, area = [500.0, 300.0] }
[[flow]]
from = 0
to = 1
transport = \"newreno\"
";

/// Node, time and place of each frame.
fn frames(animation: &str) -> Vec<[f64; 4]> {
    let value = |line: &str, key: &str| {
        let (_, rest) = line.split_once(&format!(" {key}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    let frame = |line: &str| {
        let [x, y] = if line.starts_with("<node") { ["locX", "locY"] } else { ["x", "y"] };
        let time = value(line, "t").unwrap_or(0.0);
        Some([value(line, "id")?, time, value(line, x)?, value(line, y)?])
    };
    animation.lines().filter_map(frame).collect()
}

#[test]
fn with_verbose_it_says_what_it_has_read_and_written() {
    let folder = Folder::new("verbose").with("a.toml", WAYPOINT);
    let output = multihop(&folder, &["motion", "a.toml", "--format", "ns2", "--out", "a.ns_movements", "-v"]);
    let said = "a.toml: 5 nodes, 1 flow, 60 s\nwrote a.ns_movements\n";
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, "", said));
}

#[test]
fn an_exported_movement_equals_the_original() {
    let folder = Folder::new("round-trip").with("a.toml", WAYPOINT);
    let animation = |file: &str, set: &str| {
        let args = ["motion", file, "--set", set, "--format", "netanim", "--every", "0.7"];
        let output = multihop(&folder, &args);
        assert_eq!((code(&output), stderr(&output)), (0, ""));
        frames(stdout(&output))
    };
    let expected = animation("a.toml", "seed=3");
    // 5 nodes, at the start and in 86 frames; fewer where a node rests.
    assert!((300..=435).contains(&expected.len()), "{}", expected.len());
    for format in ["ns2", "bonnmotion"] {
        let args = ["motion", "a.toml", "--seed", "3", "--format", format, "--out", format];
        let output = multihop(&folder, &args);
        assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, "", ""));
        let back = folder.path().join(format!("{format}.toml"));
        let mobility = format!("mobility = {{ kind = \"{format}\", file = \"{format}\" }}");
        let before = WAYPOINT.lines().nth(1).unwrap();
        std::fs::write(&back, WAYPOINT.replace(before, &mobility)).unwrap();
        let found = animation(&format!("{format}.toml"), "seed=9");
        assert_eq!(found.len(), expected.len(), "{format}");
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            // 20 m/s for the nanosecond to which times are rounded, once for each leg.
            assert!((found - expected).abs() < 1e-6, "{format}: {found} {expected}");
        }
    }
}

#[test]
fn another_seed_moves_differently_and_a_shorter_duration_truncates() {
    let folder = Folder::new("motion-seed").with("a.toml", WAYPOINT);
    let motion = |more: &[&str]| {
        let output = multihop(&folder, &[&["motion", "a.toml", "--format", "bonnmotion"], more].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output).to_owned()
    };
    assert_eq!(motion(&[]), motion(&["--seed", "1"]));
    assert_ne!(motion(&[]), motion(&["--seed", "2"]));
    let short = motion(&["--set", "duration=3.0"]);
    assert_eq!(short.lines().count(), 5);
    let ends = short.lines().map(|line| line.split(' ').nth_back(2).unwrap().parse::<f64>().unwrap());
    assert!(ends.clone().all(|end| end <= 3.0), "{short}");
    assert!(ends.clone().any(|end| end.to_bits() == 3.0_f64.to_bits()), "{short}");
}

#[test]
fn static_nodes_have_positions() {
    let folder = Folder::new("still").with("a.toml", SHORT);
    let output = multihop(&folder, &["motion", "a.toml", "--format", "ns2"]);
    let script = "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n$node_(0) set Z_ 0.0\n\
                  $node_(1) set X_ 200\n$node_(1) set Y_ 0\n$node_(1) set Z_ 0.0\n";
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, script, ""));
    let output = multihop(&folder, &["motion", "a.toml", "--format", "bonnmotion"]);
    assert_eq!(stdout(&output), "0.000000000 0 0\n0.000000000 200 0\n");
}

#[test]
fn links_have_their_snr_over_time() {
    let chain = "duration = 1.0\n[radio]\nphy = \"802.11n-20\"\n[topology]\nkind = \"chain\"\nhops = 1\n[[flow]]\ntransport = \"newreno\"\n";
    let folder = Folder::new("motion-links").with("a.toml", chain);
    let output = multihop(&folder, &["motion", "a.toml", "--format", "links"]);
    let rows = "time,from,to,snr_db\n0,0,1,25.04\n0,1,0,25.04\n0.5,0,1,25.04\n0.5,1,0,25.04\n1,0,1,25.04\n1,1,0,25.04\n";
    assert_eq!(stdout(&output), rows);
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = Folder::new("motion-refused").with("a.toml", WAYPOINT);
    let refused = |more: &[&str]| {
        let output = multihop(&folder, &[&["motion", "a.toml"], more].concat());
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{more:?}");
        stderr(&output).to_owned()
    };
    let message = refused(&[]);
    assert!(message.contains("--format <FORMAT>"), "{message}");
    let message = refused(&["--format", "setdest"]);
    assert!(message.contains("[possible values: ns2, bonnmotion, netanim, links]"), "{message}");
    let message = refused(&["--format", "ns2", "--every", "1"]);
    assert!(message.contains("--every needs --format netanim"), "{message}");
    let message = refused(&["--format", "links"]);
    assert!(message.contains("--format links needs reception by SINR"), "{message}");
    for every in ["0", "-1", "soon"] {
        let message = refused(&["--format", "netanim", &format!("--every={every}")]);
        assert!(message.contains("allowed: a number above 0"), "{message}");
    }
    let message = refused(&["--format", "ns2", "--set", "mobility.speed=0"]);
    assert!(message.starts_with("override mobility.speed=0: mobility.speed: found 0"), "{message}");
}

#[test]
fn a_file_that_cannot_be_written() {
    let folder = Folder::new("motion-unwritable").with("a.toml", WAYPOINT);
    let output = multihop(&folder, &["motion", "a.toml", "--format", "ns2", "--out", "no/where"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).starts_with("multihop: cannot create no/where: "), "{}", stderr(&output));
}
