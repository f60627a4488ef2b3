//! Tests of `multihop run`.

use super::{Folder, SHORT, code, multihop, stderr, stdout};

#[test]
fn json_is_one_document_with_the_keys_of_the_contract() {
    let folder = Folder::new("json").with("a.toml", SHORT);
    let output = multihop(&folder, &["run", "a.toml", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    let keys: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = [
        "scenario",
        "seed",
        "sim_seconds",
        "wall_seconds",
        "events",
        "events_per_second",
        "flows",
        "totals",
        "mac",
        "routing",
        "energy",
        "drops",
        "nodes",
        "links",
        "queues",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!((&result["scenario"], &result["seed"]), (&"a".into(), &1.into()));
    assert!(result["flows"][0]["goodput_kbps"].as_f64().unwrap() > 500.0, "{result}");
    for key in [
        "id",
        "from",
        "to",
        "app",
        "transport",
        "start",
        "stop",
        "rtt_ms",
        "delay_ms",
        "jitter_ms",
        "mean_hops",
    ] {
        assert!(!result["flows"][0][key].is_null(), "{key}");
    }
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let folder = Folder::new("seed").with("a.toml", SHORT);
    let run = |seed: &str| {
        let output = multihop(&folder, &["run", "a.toml", "--json", "--seed", seed]);
        let mut result: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
        for key in ["wall_seconds", "events_per_second"] {
            result.as_object_mut().unwrap().remove(key).unwrap();
        }
        result
    };
    let first = run("42");
    assert_eq!(first["seed"], 42);
    assert_eq!(first, run("42"));
    assert_ne!(first["events"], run("43")["events"]);
}

#[test]
fn the_result_is_a_table() {
    let folder = Folder::new("table").with("a.toml", SHORT);
    let output = multihop(&folder, &["run", "a.toml"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    let text = stdout(&output);
    assert!(text.starts_with("| flow | from | to | app | transport | goodput kb/s |"), "{text}");
    assert!(text.contains("|    0 |    0 |  1 | ftp | newreno   |"), "{text}");
    assert!(text.contains("\na, seed 1: "), "{text}");
}

#[test]
fn overrides() {
    let folder = Folder::new("set").with("a.toml", SHORT);
    let args = ["run", "a.toml", "--json", "--set", "flow.*.transport=tcp-2", "--set", "duration = 1.5"];
    let output = multihop(&folder, &args);
    let result: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!((&result["flows"][0]["transport"], &result["sim_seconds"]), (&"tcp-2".into(), &1.5.into()));
    let output = multihop(&folder, &["run", "a.toml", "--set", "radio.rate=3M"]);
    let message =
        "override radio.rate=3M: radio.rate: found \"3M\", allowed: \"1M\", \"2M\", \"5.5M\", \"11M\"\n";
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (2, "", message));
}

#[test]
fn files_in_a_folder() {
    let text = format!("{SHORT}[record]\nevery = 0.5\nwhat = [\"goodput\", \"cwnd\"]\n");
    let folder = Folder::new("files").with("a.toml", &text);
    let output = multihop(&folder, &["run", "a.toml", "--json", "--out", "x/y", "--trace", "--pcap"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    let printed: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    let written: serde_json::Value = serde_json::from_str(&folder.read("x/y/result.json")).unwrap();
    assert_eq!(printed, written);
    assert!(folder.read("x/y/series.csv").lines().count() > 4);
    assert!(folder.read("x/y/packets.txt").lines().count() > 100);
    let pcap = std::fs::read(folder.path().join("x/y/packets.pcapng")).unwrap();
    assert_eq!(pcap[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let output = multihop(&folder, &["run", "a.toml", "--json"]);
    let note = "series of the [record] table are not written: pass --out DIR\n";
    assert_eq!((code(&output), stderr(&output)), (0, note));
}

#[test]
fn captures_contain_the_selected_nodes_times_and_bytes() {
    let folder = Folder::new("filters").with("a.toml", SHORT);
    let all = ["run", "a.toml", "--quiet", "--out", "all", "--pcap"];
    let some = ["--pcap-node", "1", "--pcap-from", "0.5", "--pcap-until", "1.5", "--pcap-length", "64"];
    let some = [&["run", "a.toml", "--quiet", "--out", "some", "--pcap"][..], &some].concat();
    for args in [&all[..], &some] {
        let output = multihop(&folder, args);
        assert_eq!((code(&output), stderr(&output)), (0, ""));
    }
    let whole = Pcapng::read(&folder, "all");
    let part = Pcapng::read(&folder, "some");
    assert!(whole.interfaces == 2 && part.interfaces == 1, "{} {}", whole.interfaces, part.interfaces);
    let selected = |(interface, at, _, _): &&(u32, u64, u32, u32)| {
        *interface == 1 && (500_000_000..1_500_000_000).contains(at)
    };
    let cut = |&(_, at, kept, length): &(u32, u64, u32, u32)| (0, at, kept.min(64), length);
    let expected: Vec<_> = whole.packets.iter().filter(selected).map(cut).collect();
    assert!(expected.iter().any(|&(_, _, kept, length)| kept < length), "some packet is longer");
    assert_eq!(part.packets, expected);
}

/// The blocks of a capture file.
struct Pcapng {
    interfaces: usize,
    /// Interface, time in ns, kept bytes and original length of each packet.
    packets: Vec<(u32, u64, u32, u32)>,
}

impl Pcapng {
    fn read(folder: &Folder, out: &str) -> Self {
        let bytes = std::fs::read(folder.path().join(out).join("packets.pcapng")).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let (mut at, mut read) = (0, Self { interfaces: 0, packets: Vec::new() });
        while at < bytes.len() {
            match word(at) {
                1 => read.interfaces += 1,
                6 => {
                    let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
                    read.packets.push((word(at + 8), time, word(at + 20), word(at + 24)));
                }
                _ => {}
            }
            at += word(at + 4) as usize;
        }
        read
    }
}

#[test]
fn wrong_filters_of_captures_name_what_is_allowed() {
    let folder = Folder::new("wrong-filters").with("a.toml", SHORT);
    let cases = [
        (["--pcap-node", "9"], "--pcap-node: found node \"9\", allowed: 0 to 1, or a name: node0, node1"),
        (["--pcap-from", "-1"], "'-1' for '--pcap-from <S>': allowed: a number from 0"),
        (["--pcap-until", "0"], "'0' for '--pcap-until <S>': allowed: a number above 0"),
        (["--pcap-length", "63"], "'63' for '--pcap-length <BYTES>': allowed: a whole number from 64"),
    ];
    for (args, message) in cases {
        let output = multihop(&folder, &[&["run", "a.toml", "--out", "x", "--pcap"][..], &args].concat());
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{args:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    let inverted = ["run", "a.toml", "--out", "x", "--pcap", "--pcap-from", "2", "--pcap-until", "1"];
    let output = multihop(&folder, &inverted);
    let message = "multihop: --pcap-until: found 1, allowed: a number above that of --pcap-from, 2\n";
    assert_eq!((code(&output), stderr(&output)), (2, message));
    let output = multihop(&folder, &["run", "a.toml", "--out", "x", "--pcap-node", "1"]);
    assert!(code(&output) == 2 && stderr(&output).contains("--pcap"), "{}", stderr(&output));
}

#[test]
fn invalid_numbers_are_rejected() {
    let folder = Folder::new("numbers").with("a.toml", SHORT);
    let cases = [
        (["run", "--seed", "-1"], "'-1' for '--seed <N>': allowed: a whole number from 0"),
        (["run", "--seed", "one"], "'one' for '--seed <N>': allowed: a whole number from 0"),
        (["sweep", "--jobs", "0"], "'0' for '--jobs <N>': allowed: a whole number from 1"),
        (["sweep", "--jobs", "-2"], "'-2' for '--jobs <N>': allowed: a whole number from 1"),
        (["motion", "--every", "-1"], "'-1' for '--every <S>': allowed: a number above 0"),
        (["motion", "--every", "inf"], "'inf' for '--every <S>': allowed: a number above 0"),
    ];
    for (args, message) in cases {
        let output = multihop(&folder, &[&args[..], &["a.toml"]].concat());
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{args:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

#[test]
fn a_folder_that_cannot_be_made() {
    let folder = Folder::new("blocked").with("a.toml", SHORT);
    let output = multihop(&folder, &["run", "a.toml", "--out", "a.toml"]);
    assert_eq!((code(&output), stdout(&output)), (1, ""));
    assert!(stderr(&output).starts_with("multihop: cannot create a.toml: "), "{}", stderr(&output));
}

#[test]
fn a_run_whose_trace_cannot_be_written_ends_at_once_and_leaves_no_file() {
    // A full trace of this run would take hours.
    let folder = Folder::new("full-trace").with("a.toml", &SHORT.replace("2.0", "1000000.0"));
    std::fs::create_dir(folder.path().join("o")).unwrap();
    std::fs::write(folder.path().join("o/packets.txt"), "an earlier trace").unwrap();
    // A limit on the size of files is like a full disk if its signal is ignored.
    let script = format!(
        "trap '' XFSZ; ulimit -f 100; exec timeout 60 {} run a.toml --trace --out o",
        env!("CARGO_BIN_EXE_multihop")
    );
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output();
    let output = output.unwrap();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write an output of the run: File too large"), "{output:?}");
    assert_eq!(folder.read("o/packets.txt"), "an earlier trace");
    assert_eq!(std::fs::read_dir(folder.path().join("o")).unwrap().count(), 1);
}

#[test]
fn tables_are_printed_and_written_as_csv() {
    let folder = Folder::new("run-csv").with("a.toml", SHORT);
    let output = multihop(&folder, &["run", "a.toml", "--csv", "--out", "o"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    assert!(
        stdout(&output).starts_with("id,from,to,app,transport,start,stop,goodput_kbps,"),
        "{}",
        stdout(&output)
    );
    assert_eq!(stdout(&output).trim_end(), folder.read("o/flows.csv").trim_end());
    assert!(folder.read("o/nodes.csv").starts_with("id,airtime.transmit,airtime.receive,airtime.busy,"));
    assert!(
        folder
            .read("o/queues.csv")
            .starts_with("node,category,packets,dropped,delivery_ratio,delay_ms.mean,")
    );
    assert_eq!(folder.read("o/runs.csv").lines().count(), 2);
    let both = multihop(&folder, &["run", "a.toml", "--csv", "--json"]);
    assert_eq!(code(&both), 2);
}

#[test]
fn a_series_without_rows_is_named() {
    let record = "[record]\nevery = 0.5\nwhat = [\"goodput\", \"rate\"]\n";
    let folder = Folder::new("no-rows").with("a.toml", &format!("{SHORT}{record}"));
    let output = multihop(&folder, &["run", "a.toml", "--out", "o"]);
    let message = "o/series.csv has no rows of rate_kbps: no flow or node of the run has this series\n";
    assert_eq!((code(&output), stderr(&output)), (0, message));
}

#[test]
fn broadcasts_have_no_number_in_traces() {
    let folder = Folder::new("broadcasts").with("a.toml", SHORT);
    let args = ["run", "a.toml", "--set", "routing.protocol=olsr", "--trace", "--out", "o"];
    assert_eq!(code(&multihop(&folder, &args)), 0);
    let trace = folder.read("o/packets.txt");
    assert!(trace.contains("\tall\t") && !trace.contains("4294967295"), "{trace}");
}
