//! `multihop check`, `multihop schema`, and invalid arguments.

use super::{Folder, SHORT, code, multihop, multihop_with_input, stderr, stdout};

/// The lines on a good file with the radio of ns-2.
fn good(file: &str, contents: &str) -> String {
    format!(
        "{file}: no problems{contents}\n\
         {file}: radio: 802.11b, budget ns-2: fixed ranges; 2M reaches 250 m, sensed up to 550 m\n\
         {file}: MAC: rules of ns-2, RTS before all data, data at 2M, broadcasts at 1M\n"
    )
}

#[test]
fn a_good_file() {
    let folder = Folder::new("good").with("a.toml", SHORT);
    let output = multihop(&folder, &["check", "a.toml"]);
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, &*good("a.toml", ""), ""));
}

#[test]
fn the_link_budget_is_shown() {
    let folder = Folder::new("budget").with("a.toml", SHORT);
    let output = multihop(&folder, &["check", "a.toml", "--set", "radio.phy=802.11n-20"]);
    let lines = [
        "a.toml: no problems",
        "a.toml: radio: 802.11n-20, budget street: 18 dBm, antennas of 3 dBi, noise of -95.96 dBm; 6M reaches 699 m, MCS7 \
         reaches 225 m, sensed up to 699 m",
        "a.toml: MAC: rules of the standard, no RTS, EDCA, up to 64 MPDUs in a frame, minstrel with one stream, broadcasts at 6M",
    ];
    assert_eq!((code(&output), stdout(&output).lines().collect::<Vec<_>>()), (0, lines.to_vec()));
}

#[test]
fn with_verbose_it_says_what_the_file_contains() {
    let swept = format!("{SHORT}[sweep]\n\"mac.queue\" = [5, 6, 7]\n");
    let folder = Folder::new("contents").with("a.toml", SHORT).with("b.toml", &swept);
    let output = multihop(&folder, &["check", "-v", "a.toml", "b.toml"]);
    let runs = good("a.toml", ": 2 nodes, 1 flow, 2 s") + &good("b.toml", ": 2 nodes, 1 flow, 2 s, 3 runs");
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, &*runs, ""));
}

/// Two neighbouring stations that send at the same instants, and a third one out of range.
const SYNCHRONOUS: &str = "duration = 2\n[topology]\nkind = \"list\"\n\
    positions = [[0, 0], [100, 0], [100, 100], [5000, 0]]\n\
    [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 50\n\
    [[flow]]\nfrom = 2\nto = 3\napp = \"cbr\"\nrate_kbps = 50\n";

#[test]
fn what_is_probably_not_meant_is_noted() {
    let folder = Folder::new("notes").with("a.toml", SYNCHRONOUS);
    let notes = [
        "note: flow 1 has no route: static routes use links up to 250 m, the range of \"2M\", between the first positions of \
         the nodes",
        "note: flows 0 and 1 send datagrams every 81.92 ms from 0 s on, at stations that sense each other: their frames may \
         collide for the whole run; start_jitter sets them apart",
    ];
    let output = multihop(&folder, &["check", "a.toml"]);
    assert_eq!((code(&output), stdout(&output)), (0, &*good("a.toml", "")));
    assert_eq!(stderr(&output).lines().collect::<Vec<_>>(), notes.map(|note| format!("a.toml: {note}")));
    let output = multihop(&folder, &["run", "a.toml", "--json"]);
    assert_eq!(code(&output), 0);
    assert_eq!(stderr(&output).lines().take(2).collect::<Vec<_>>(), notes);
    let output = multihop(&folder, &["run", "a.toml", "--json", "--quiet"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
}

#[test]
fn links_are_printed_in_a_table() {
    let folder = Folder::new("links").with("a.toml", SYNCHRONOUS);
    let radio = ["--set", "radio.model=sinr", "--quiet"];
    let output = multihop(&folder, &[&["check", "a.toml", "--links"][..], &radio].concat());
    assert_eq!((code(&output), stdout(&output)), (0, ""));
    let output = multihop(&folder, &[&["check", "a.toml", "--links"][..], &radio[..2]].concat());
    let table = "\
a.toml: no problems
a.toml: radio: 802.11b, budget ns-2: 24.5 dBm, noise of -93.55 dBm; 2M reaches 250 m, sensed up to 550 m
a.toml: MAC: rules of ns-2, RTS before all data, data at 2M, broadcasts at 1M
| from | to |     m |   dBm | SNR dB | fastest rate | data |
|------|----|-------|-------|--------|--------------|------|
|    0 |  1 | 100.0 | -48.5 |   45.1 | 11M          | yes  |
|    0 |  2 | 141.4 | -54.5 |   39.1 | 11M          | yes  |
|    1 |  0 | 100.0 | -48.5 |   45.1 | 11M          | yes  |
|    1 |  2 | 100.0 | -48.5 |   45.1 | 11M          | yes  |
|    2 |  0 | 141.4 | -54.5 |   39.1 | 11M          | yes  |
|    2 |  1 | 100.0 | -48.5 |   45.1 | 11M          | yes  |

6 links; data: whether frames at 2M are received, without interference and fading
";
    assert_eq!((code(&output), stdout(&output)), (0, table), "{}", stderr(&output));
}

#[test]
fn a_sweep_has_each_note_once() {
    let swept = format!("{SYNCHRONOUS}[sweep]\nseeds = 2\n\"mac.queue\" = [5, 6]\n");
    let folder = Folder::new("notes-of-sweep").with("a.toml", &swept);
    let output = multihop(&folder, &["sweep", "a.toml", "--json"]);
    assert_eq!(code(&output), 0);
    let said = stderr(&output);
    let notes: Vec<_> = said.lines().filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(notes.len(), 2, "{said}");
    assert!(notes[0].starts_with("note: flow 1 has no route"), "{said}");
    let output = multihop(&folder, &["sweep", "a.toml", "--json", "--quiet"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
}

#[test]
fn a_bad_file_names_every_place() {
    let text = SHORT.replace("hops = 1", "hops = \"one\"").replace("newreno", "newrenno");
    let folder = Folder::new("bad").with("a.toml", &text);
    for command in ["check", "run", "sweep"] {
        let output = multihop(&folder, &[command, "a.toml"]);
        assert_eq!((code(&output), stdout(&output)), (2, ""));
        let lines: Vec<&str> = stderr(&output).lines().collect();
        let message = "a.toml:4:8: topology.hops: found \"one\", allowed: a whole number from 1 to 99999";
        assert_eq!(lines[..4], [message, "  |", "4 | hops = \"one\"", "  |        ^^^^^"]);
        assert!(lines[5].starts_with("a.toml:6:13: flow.0.transport: found \"newrenno\", allowed: \"udp\""));
        assert_eq!(lines[8], "  |             ^^^^^^^^^^ did you mean \"newreno\"?");
        assert_eq!(lines.len(), 9);
    }
}

#[test]
fn many_files_and_standard_input() {
    let folder = Folder::new("many").with("good.toml", SHORT).with("bad.toml", "duration = 0");
    let output = multihop(&folder, &["check", "bad.toml", "absent.toml", "good.toml"]);
    assert_eq!((code(&output), stdout(&output)), (2, &*good("good.toml", "")));
    for file in ["bad.toml:1:12: duration: found 0", "absent.toml: No such file"] {
        assert!(stderr(&output).contains(file), "{}", stderr(&output));
    }
    let toml = multihop_with_input(&folder, &["check", "-"], SHORT);
    assert_eq!((code(&toml), stdout(&toml)), (0, &*good("-", "")));
    let json = multihop_with_input(&folder, &["check", "-"], "{\"duration\": 0}");
    assert_eq!((code(&json), stdout(&json)), (2, ""));
    assert!(stderr(&json).starts_with("stdin: duration: found 0, allowed: "), "{}", stderr(&json));
    let run = multihop_with_input(&folder, &["run", "-", "--json"], SHORT);
    assert_eq!((code(&run), stderr(&run)), (0, ""));
    assert!(stdout(&run).contains("\"scenario\":\"stdin\""), "{}", stdout(&run));
}

#[test]
fn a_network_for_an_emulation_needs_no_traffic() {
    let network = "duration = 10\n[topology]\nkind = \"chain\"\nhops = 2\n[emulation]\ninterface = \"tap\"\n";
    let folder =
        Folder::new("network").with("a.toml", network).with("b.toml", &network.replace("tap", "tan"));
    let output = multihop(&folder, &["check", "-v", "a.toml"]);
    let said = "a.toml: no problems: 3 nodes, 0 flows, 10 s; has no traffic of its own: multihop emulate FILE -- COMMAND runs a program over it\n";
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, said, ""));
    let output = multihop(&folder, &["check", "b.toml"]);
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    assert!(stderr(&output).contains("found \"tan\", allowed: "), "{}", stderr(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn a_configuration_of_a_routing_daemon_is_checked_as_the_daemon_does() {
    let good =
        "interfaces = [\"wlan0\", \"eth1\"]\nannounce = [\"default\"]\n[routing]\nprotocol = \"apdr\"\n";
    let folder = Folder::new("check-route")
        .with("good.toml", good)
        .with("network.toml", "interfaces = [\"wlan0\"]\nannounce = [\"10.0.0.1/8\"]\n")
        .with("interval.toml", "interfaces = [\"wlan0\"]\n[routing]\nhello_interval = 0\n")
        .with("key.toml", "interfaces = [\"wlan0\"]\nkey = \"none.key\"\n");
    let output = multihop(&folder, &["check", "-v", "good.toml"]);
    let said = "good.toml: no problems: apdr of IPv4 over wlan0, eth1\n";
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, said, ""));
    let output = multihop(&folder, &["check", "good.toml", "--set", "routing.protocol=apdrr"]);
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    assert!(stderr(&output).ends_with("did you mean \"apdr\"?\n"), "{}", stderr(&output));
    for (file, part) in [
        ("network.toml", "network.toml:2:12: announce: found \"10.0.0.1/8\", allowed: ADDRESS/BITS"),
        (
            "interval.toml",
            "interval.toml:3:18: routing.hello_interval: found 0, allowed: a number from 0.1 to 1000",
        ),
        ("key.toml", "key.toml: cannot read the key (multihop keygen --shared creates one): "),
    ] {
        let output = multihop(&folder, &["check", file]);
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{file}");
        assert!(stderr(&output).starts_with(part), "{}", stderr(&output));
    }
}

#[test]
fn overrides_of_a_run_are_checked() {
    let swept = format!("{SHORT}[sweep]\n\"mac.queue\" = [5, 6, 7]\n");
    let folder = Folder::new("check-set").with("a.toml", SHORT).with("b.toml", &swept);
    let set = ["--set", "topology.hops=3", "--set", "sweep.seeds=2", "--seed", "7"];
    let output = multihop(&folder, &[&["check", "-v", "a.toml", "b.toml"], &set[..]].concat());
    let said =
        good("a.toml", ": 4 nodes, 1 flow, 2 s, 2 runs") + &good("b.toml", ": 4 nodes, 1 flow, 2 s, 6 runs");
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (0, &*said, ""));
    for (set, message) in [
        (
            "topology.hop=3",
            "topology.hop: is not a key here, allowed: hops, kind, spacing, did you mean \"hops\"?",
        ),
        ("hops=3", "did you mean \"topology.hops\"?"),
        ("flow.*.transport=new-reno", "did you mean \"newreno\"?"),
        ("routing.protocol=oslr", "did you mean \"olsr\"?"),
        ("radio.phy=802.11n", "did you mean \"802.11n-20\"?"),
        ("mac.rate_control=minstral", "did you mean \"minstrel\"?"),
        ("flows.0.transport=newreno", "did you mean \"flow\"?"),
        ("sweep.\"mac.queue\"=3", "allowed: an array of values"),
    ] {
        let output = multihop(&folder, &["check", "a.toml", "--set", set]);
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{set}");
        assert!(stderr(&output).contains(message), "{set}: {}", stderr(&output));
    }
}

#[test]
fn a_missing_file_has_a_name_like_another() {
    let folder = Folder::new("misspelt").with("scenario.toml", SHORT);
    for (name, meant) in
        [("scenaro.toml", "scenario.toml"), ("./scenrio.toml", "./scenario.toml"), ("chian-4", "chain-4")]
    {
        let output = multihop(&folder, &["run", name]);
        let message = format!("{name}: No such file or directory (os error 2), did you mean {meant:?}?\n");
        assert_eq!((code(&output), stdout(&output), stderr(&output)), (2, "", &*message));
    }
}

#[test]
fn a_bad_value_in_the_sweep() {
    let folder = Folder::new("axes").with("a.toml", &format!("{SHORT}[sweep]\n\"mac.queue\" = [5, 0]\n"));
    let output = multihop(&folder, &["check", "a.toml"]);
    let message = "override mac.queue=0: mac.queue: found 0, allowed: a whole number from 1 to 1000000\n";
    assert_eq!((code(&output), stdout(&output), stderr(&output)), (2, "", message));
}

#[test]
fn a_missing_file_and_one_that_is_not_text() {
    let folder = Folder::new("absent");
    let output = multihop(&folder, &["check", "nowhere.toml"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).starts_with("nowhere.toml: "), "{}", stderr(&output));
    std::fs::write(folder.path().join("junk.toml"), [0xff, 0xfe, 0, 1]).unwrap();
    let output = multihop(&folder, &["run", "junk.toml"]);
    assert_eq!((code(&output), stderr(&output)), (2, "junk.toml: found bytes that are not UTF-8\n"));
    assert_eq!(code(&multihop(&folder, &["check", "."])), 2);
}

#[test]
fn invalid_arguments_are_rejected() {
    let folder = Folder::new("arguments").with("a.toml", SHORT);
    let attempts: [&[&str]; 8] = [
        &[],
        &["walk"],
        &["run"],
        &["run", "a.toml", "--seed", "x"],
        &["run", "a.toml", "--set", "seed"],
        &["run", "a.toml", "--trace"],
        &["sweep", "a.toml", "--jobs", "0"],
        &["check"],
    ];
    for attempt in attempts {
        let output = multihop(&folder, attempt);
        assert_eq!((code(&output), stdout(&output)), (2, ""), "{attempt:?}");
        assert!(!stderr(&output).is_empty());
    }
    assert_eq!(code(&multihop(&folder, &["--help"])), 0);
    assert_eq!(code(&multihop(&folder, &["--version"])), 0);
}

#[test]
fn the_schema_is_json() {
    let output = multihop(&Folder::new("schema"), &["schema"]);
    assert_eq!(code(&output), 0);
    let schema: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(schema["properties"]["duration"]["type"], "number");
}

#[cfg(target_os = "linux")]
#[test]
fn a_wrong_setting_has_the_same_message_with_a_file_of_wmediumd() {
    let cfg = "ifaces : { ids = [ \"02:00:00:00:00:00\", \"02:00:00:00:01:00\" ]; };";
    let folder = Folder::new("air-set").with("a.toml", SHORT).with("a.cfg", cfg);
    let of = |file: &str| {
        let output = multihop(&folder, &["air", file, "--set", "radio.model=none"]);
        (code(&output), stderr(&output).to_owned())
    };
    let (status, message) = of("a.cfg");
    assert_eq!((status, message.clone()), of("a.toml"));
    assert!(status == 2 && message.contains("radio.model"), "{message}");
}
