//! Captures of a TCP connection over four hops with UDP in the other direction, read by tshark.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Ran, ran};

const SCENARIO: &str = "\
duration = 20.0
[mac]
arp = \"ns2\"
[topology]
kind = \"chain\"
hops = 4
[[flow]]
transport = \"newreno\"
[[flow]]
from = 4
to = 0
app = \"cbr\"
rate_kbps = 10.0
size = 500
";

/// Checks that are off by default.
const CHECKS: [&str; 6] = [
    "ip.check_checksum:TRUE",
    "tcp.check_checksum:TRUE",
    "udp.check_checksum:TRUE",
    "wlan.check_checksum:TRUE",
    "wlan.ignore_wep:No",
    "tcp.relative_sequence_numbers:FALSE",
];

/// A run and its capture in a file of its own.
pub(crate) struct Capture {
    pub(crate) ran: Ran,
    path: PathBuf,
}

impl Capture {
    fn new(name: &str) -> Self {
        Self::of(ran(SCENARIO), name)
    }

    /// The file is named `name`.
    pub(crate) fn of(ran: Ran, name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
        std::fs::write(&path, &ran.pcap).unwrap();
        Self { ran, path }
    }

    /// The values of `fields` in each frame that matches `filter`.
    pub(crate) fn read(&self, filter: &str, options: &[&str], fields: &[&str]) -> Vec<Vec<String>> {
        let mut tshark = tshark();
        tshark.arg("-r").arg(&self.path).args(["-n", "-T", "fields", "-E", "separator=;", "-Y", filter]);
        for option in CHECKS.iter().chain(options) {
            tshark.args(["-o", option]);
        }
        for field in fields {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split(';').map(String::from).collect()).collect()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // Otherwise, the next run would overwrite the capture.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn tshark() -> Command {
    Command::new("tshark")
}

#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
pub(crate) fn tshark_is_missing() -> bool {
    let missing = tshark().arg("--version").output().is_err();
    if missing {
        println!("skipped: tshark not found");
    }
    missing
}

/// Every frame is shown at its transmitter and, if received, at its receiver. The analysis of sequence numbers is off,
/// because it would see everything twice.
pub(crate) const NO_ANALYSIS: &[&str] = &["tcp.analyze_sequence_numbers:FALSE"];

#[test]
fn tshark_understands_every_layer_of_every_frame() {
    if tshark_is_missing() {
        return;
    }
    let capture = Capture::new("layers");
    let fields = [
        "frame.protocols",
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
        "wlan.fcs.status",
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
    ];
    let rows = capture.read("frame", NO_ANALYSIS, &fields);
    let mut layers = BTreeMap::new();
    for row in &rows {
        let [protocols, malformed, severities, messages, fcs, ip, tcp, udp] = &row[..] else {
            panic!("one value for each field: {row:?}")
        };
        *layers.entry(protocols.as_str()).or_insert(0_u64) += 1;
        assert_eq!(malformed, "", "{row:?}");
        // Chats and notes (a frame is a retry, a SYN opens a connection) are less severe than warnings.
        let warned = severities.split(',').filter_map(|s| s.parse::<u32>().ok()).any(|s| s >= 0x0060_0000);
        assert!(!warned, "{messages}");
        assert_eq!(fcs, "1", "good, in {row:?}");
        for checksum in [ip, tcp, udp] {
            assert!(["", "1"].contains(&checksum.as_str()), "good where there is one, in {row:?}");
        }
    }
    let seen: BTreeSet<_> =
        layers.keys().map(|layers| layers.replace("radiotap:wlan_radio:wlan", "wlan")).collect();
    let expected =
        ["wlan", "wlan:llc:arp", "wlan:llc:ip:tcp", "wlan:llc:ip:tcp:data", "wlan:llc:ip:udp:data"];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    // Each transmission appears as one frame, receptions as further frames.
    let sent: u64 = capture.ran.result.mac.frames.values().sum();
    assert_eq!(capture.ran.sent().len() as u64, sent);
    assert!(rows.len() as u64 > sent);
}

/// tshark computes the airtime of a frame, preamble included, from the fields of its radiotap header.
#[test]
fn tshark_reads_the_rates_of_ofdm_and_their_airtimes() {
    if tshark_is_missing() {
        return;
    }
    // wlan_radio.phy: 5 is 802.11a, 6 is g, 7 is n. 496 bytes are 3990 bits with SERVICE and tail.
    for (phy, rate, number, mbps, mcs, airtime) in [
        ("802.11a", "54M", "5", "54", "", 20 + 4 * 19),
        ("802.11g", "9M", "6", "9", "", 20 + 4 * 111),
        ("802.11n-20", "MCS7", "7", "65", "7", 36 + 4 * 16),
        ("802.11n-40", "MCS15", "7", "270", "15", 40 + 4 * 4),
    ] {
        let radio = format!(
            "[radio]\nphy = \"{phy}\"\nbudget = \"ns-2\"\nrate = \"{rate}\"\n[mac]\nllc = true\narp = \"oracle\"\n"
        );
        let flow = "[[flow]]\napp = \"cbr\"\nrate_kbps = 100.0\nsize = 432\n";
        let scenario = format!("duration = 1.0\n{radio}[topology]\nkind = \"chain\"\nhops = 1\n{flow}");
        let capture = Capture::of(ran(&scenario), phy);
        let fields = [
            "wlan_radio.phy",
            "wlan_radio.data_rate",
            "radiotap.mcs.index",
            "frame.len",
            "wlan_radio.duration",
            "_ws.malformed",
        ];
        let rows = capture.read("wlan.fc.type_subtype == 0x20", NO_ANALYSIS, &fields);
        let length = if mcs.is_empty() { "518" } else { "521" };
        assert_eq!(rows[0], [number, mbps, mcs, length, &airtime.to_string(), ""], "{phy}");
    }
}

/// A radiotap field of its own names the rates of 802.11ac. tshark's airtimes of them leave out a symbol of the
/// preamble, SERVICE and tail.
#[test]
fn tshark_reads_the_rates_of_802_11ac() {
    if tshark_is_missing() {
        return;
    }
    // wlan_radio.phy: 8 is 802.11ac. The bandwidths are radiotap's numbers.
    for (phy, rate, bandwidth, streams, index, mbps) in [
        ("802.11ac-20", "MCS0", "0", "1", "0", "6.5"),
        ("802.11ac-40", "MCS9", "1", "1", "9", "180"),
        ("802.11ac-80", "MCS7x2", "4", "2", "7", "585"),
        ("802.11ac-160-short-guard", "MCS8x4", "11", "4", "8", "3120"),
    ] {
        let radio = format!(
            "[radio]\nphy = \"{phy}\"\nbudget = \"ns-2\"\nrate = \"{rate}\"\n[mac]\nllc = true\narp = \"oracle\"\n"
        );
        let flow = "[[flow]]\napp = \"cbr\"\nrate_kbps = 100.0\nsize = 432\n";
        let scenario = format!("duration = 1.0\n{radio}[topology]\nkind = \"chain\"\nhops = 1\n{flow}");
        let capture = Capture::of(ran(&scenario), phy);
        let fields = [
            "wlan_radio.phy",
            "wlan_radio.11ac.bandwidth",
            "wlan_radio.11ac.nss",
            "wlan_radio.11ac.mcs",
            "wlan_radio.data_rate",
            "_ws.malformed",
        ];
        let rows = capture.read("wlan.fc.type_subtype == 0x20", NO_ANALYSIS, &fields);
        assert_eq!(rows[0], ["8", bandwidth, streams, index, mbps, ""], "{phy}");
    }
}

/// A radiotap field of its own names the rates of 802.11ax. Wireshark's data rates have the guard interval.
#[test]
fn tshark_reads_the_rates_of_802_11ax() {
    if tshark_is_missing() {
        return;
    }
    // wlan_radio.phy: 11 is 802.11ax. Bandwidth, guard interval and training symbols are radiotap's numbers.
    for (phy, rate, bandwidth, streams, index, [guard, size, symbols], mbps) in [
        ("802.11ax-20", "MCS0", "0", "1", "0", ["0", "2", "0"], "8.6"),
        ("802.11ax-40-medium-guard", "MCS9x2", "1", "2", "9", ["1", "2", "1"], "433.3"),
        ("802.11ax-80-long-guard", "MCS11", "2", "1", "11", ["2", "3", "0"], "510.4"),
        ("802.11ax-160", "MCS11x4", "3", "4", "11", ["0", "2", "2"], "4803.9"),
    ] {
        let radio = format!(
            "[radio]\nphy = \"{phy}\"\nbudget = \"ns-2\"\nrate = \"{rate}\"\n[mac]\nllc = true\narp = \"oracle\"\n"
        );
        let flow = "[[flow]]\napp = \"cbr\"\nrate_kbps = 100.0\nsize = 432\n";
        let scenario = format!("duration = 1.0\n{radio}[topology]\nkind = \"chain\"\nhops = 1\n{flow}");
        let capture = Capture::of(ran(&scenario), phy);
        let fields = [
            "wlan_radio.phy",
            "radiotap.he.data_5.data_bw_ru_allocation",
            "radiotap.he.data_6.nsts",
            "radiotap.he.data_3.data_mcs",
            "radiotap.he.data_5.gi",
            "radiotap.he.data_5.ltf_symbol_size",
            "radiotap.he.num_ltf_symbols",
            "wlan_radio.data_rate",
            "_ws.malformed",
        ];
        let rows = capture.read("wlan.fc.type_subtype == 0x20", NO_ANALYSIS, &fields);
        let number = |text: &str| {
            text.strip_prefix("0x")
                .map_or(text.to_owned(), |hex| u32::from_str_radix(hex, 16).expect("a number").to_string())
        };
        let found: Vec<String> = rows[0].iter().map(|text| number(text)).collect();
        assert_eq!(found, ["11", bandwidth, streams, index, guard, size, symbols, mbps, ""], "{phy}");
    }
}

/// A radiotap field of its own names the rates of 802.11ah. tshark does not compute their airtimes.
#[test]
fn tshark_reads_the_rates_of_802_11ah() {
    if tshark_is_missing() {
        return;
    }
    // In wlan_radio.phy, 10 is 802.11ah. In radiotap.s1g.bandwidth, 0 is 1 MHz and 1 is 2 MHz; the format
    // depends on it.
    for (phy, rate, width, guard, index) in [
        ("802.11ah-1", "MCS10", "0", "0", "10"),
        ("802.11ah-1-short-guard", "MCS9", "0", "1", "9"),
        ("802.11ah-2", "MCS0", "1", "0", "0"),
        ("802.11ah-2-short-guard", "MCS8", "1", "1", "8"),
    ] {
        let radio = format!(
            "[radio]\nphy = \"{phy}\"\nbudget = \"ns-2\"\nrate = \"{rate}\"\n[mac]\narp = \"oracle\"\n"
        );
        let flow = "[[flow]]\napp = \"cbr\"\nrate_kbps = 50.0\nsize = 432\n";
        let scenario = format!("duration = 1.0\n{radio}[topology]\nkind = \"chain\"\nhops = 1\n{flow}");
        let capture = Capture::of(ran(&scenario), phy);
        let fields = [
            "wlan_radio.phy",
            "wlan_radio.frequency",
            "radiotap.s1g.s1g_ppdu_format",
            "radiotap.s1g.bandwidth",
            "radiotap.s1g.guard_interval",
            "radiotap.s1g.mcs",
        ];
        let rows = capture.read("wlan.fc.type_subtype == 0x20", NO_ANALYSIS, &fields);
        assert_eq!(rows[0], ["10", "915", width, width, guard, index], "{phy}");
        let checks = ["frame.protocols", "_ws.malformed", "_ws.expert.message", "wlan.fcs.status"];
        for row in capture.read("frame", NO_ANALYSIS, &checks) {
            let payload = if row[0].contains("udp") { ":llc:ip:udp:data" } else { "" };
            assert_eq!(row, [&format!("radiotap:wlan_radio:wlan{payload}"), "", "", "1"], "{phy}");
        }
    }
}

/// Duration fields of RTS, CTS and data have the remaining time of the exchange: SIFS 10, CTS and ACK 304 us, data 192
/// us and 4 us per byte at 2 Mb/s.
#[test]
fn duration_fields_and_retry_bits_are_right() {
    if tshark_is_missing() {
        return;
    }
    let capture = Capture::new("durations");
    let fields = [
        "frame.interface_id",
        "wlan.fc.type_subtype",
        "wlan.duration",
        "wlan.ta",
        "wlan.ra",
        "wlan.seq",
        "wlan.fc.retry",
        "ip.len",
    ];
    let rows = capture.read("frame", NO_ANALYSIS, &fields);
    let mac = |node: &str| format!("02:00:00:00:00:{:02x}", node.parse::<u8>().unwrap());
    // For each node, the duration field of its last RTS, and of the last CTS that it received.
    let mut announced = BTreeMap::new();
    let mut granted = BTreeMap::new();
    let mut last_sequence = BTreeMap::new();
    let mut repeated = 0;
    for row in &rows {
        let [interface, kind, duration, transmitter, receiver, sequence, retry, ip_len] = &row[..] else {
            panic!("one value for each field: {row:?}")
        };
        let duration: u64 = duration.parse().unwrap();
        let own = mac(interface);
        match kind.as_str() {
            "0x001b" if *transmitter == own => {
                announced.insert(interface.clone(), duration);
            }
            "0x001c" if *receiver == own => {
                granted.insert(interface.clone(), duration);
            }
            "0x001d" => assert_eq!(duration, 0),
            "0x0020" if receiver == "ff:ff:ff:ff:ff:ff" => assert_eq!(duration, 0),
            "0x0020" if *transmitter == own => {
                // ARP messages have 28 bytes.
                let bytes: u64 = if ip_len.is_empty() { 28 } else { ip_len.parse().unwrap() };
                let data = 192 + 4 * (bytes + 28);
                assert_eq!(duration, 10 + 304);
                assert_eq!(announced[interface], 3 * 10 + 304 + data + 304, "{row:?}");
                assert_eq!(granted[interface], 2 * 10 + data + 304, "{row:?}");
                let again = last_sequence.insert(own, sequence.clone()).as_ref() == Some(sequence);
                assert_eq!(retry, if again { "1" } else { "0" }, "{row:?}");
                repeated += u64::from(again);
            }
            "0x001b" | "0x001c" | "0x0020" => {}
            other => panic!("a frame of type {other}"),
        }
    }
    assert!(repeated > 0, "some frames were retransmitted");
}

/// On the sender's interface, tshark follows the connection as on a real one. All its remarks have a cause that the
/// simulator counted.
#[test]
fn every_remark_of_the_tcp_analysis_has_a_counted_cause() {
    if tshark_is_missing() {
        return;
    }
    let all = Capture::new("analysis");
    let path = all.path.with_file_name("analysis-0.pcapng");
    let status = tshark()
        .arg("-r")
        .arg(&all.path)
        .args(["-Y", "frame.interface_id==0", "-w"])
        .arg(&path)
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    let Capture { ran, .. } = &all;
    let own = Capture {
        ran: Ran {
            result: ran.result.clone(),
            trace: String::new(),
            pcap: Vec::new(),
            record: String::new(),
        },
        path,
    };
    let fields = [
        "wlan.fc.retry",
        "ip.id",
        "ip.src",
        "tcp.analysis.retransmission",
        "tcp.analysis.out_of_order",
        "tcp.analysis.lost_segment",
        "tcp.analysis.duplicate_ack",
        "tcp.analysis.flags",
        "_ws.expert.message",
    ];
    let rows = own.read("tcp", &[], &fields);
    let mut found = Remarks::default();
    let mut explained = 0;
    let mut captured = BTreeSet::new();
    for row in &rows {
        let [retry, id, source, retransmission, out_of_order, lost, duplicate, flags, messages] = &row[..]
        else {
            panic!("one value for each field: {row:?}")
        };
        let is = |field: &String| !field.is_empty();
        // Both remarks mean that tshark has seen these bytes before, or has missed them.
        let again = is(retransmission) || is(out_of_order);
        if again && retry == "1" {
            found.mac_retries += 1;
        } else if again {
            found.retransmissions += 1;
        }
        found.gaps += usize::from(is(lost));
        found.duplicate_acks += usize::from(is(duplicate));
        explained += usize::from(again || is(lost) || is(duplicate));
        assert_eq!(is(flags), again || is(lost) || is(duplicate), "no other remark: {messages}");
        if source == "10.0.0.1" {
            captured.insert(u64::from_str_radix(id.trim_start_matches("0x"), 16).unwrap());
        }
    }
    assert!(explained > 50, "{explained} remarks");
    assert_eq!(found, expected(ran, &captured, &rows));
}

/// Remarks of tshark about a capture, by kind.
#[derive(Debug, Default, Eq, PartialEq)]
struct Remarks {
    /// Segments seen again because the MAC retransmitted the frame.
    mac_retries: usize,
    /// Segments that TCP retransmitted.
    retransmissions: usize,
    /// Missing segments: the MAC dropped them before their first data frame.
    gaps: usize,
    /// ACKs with the number of the previous one.
    duplicate_acks: usize,
}

/// Remarks that tshark should make, from the simulator's own trace and counters. A packet's `uid` is its IP
/// identification.
fn expected(ran: &Ran, captured: &BTreeSet<u64>, rows: &[Vec<String>]) -> Remarks {
    let lines: Vec<Vec<&str>> = ran.trace.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let at_0 = |event: &str, kind: &str| -> Vec<(u64, &str)> {
        lines
            .iter()
            .filter(|line| line[0] == event && line[2] == "0" && line[4] == kind)
            .map(|line| (line[6].parse().unwrap(), line[3]))
            .collect()
    };
    let acks = at_0("r", "ack");
    let duplicate_acks = acks.windows(2).filter(|pair| pair[0].1 == pair[1].1).count();
    // A gap: new segments that were never transmitted, followed by one that was.
    let mut numbers = BTreeSet::new();
    let mut gaps = 0;
    let mut missing = false;
    for (uid, number) in at_0("s", "tcp") {
        if !numbers.insert(number) {
            continue;
        }
        gaps += usize::from(missing && captured.contains(&uid));
        missing = !captured.contains(&uid);
    }
    let flow = &ran.result.flows[0];
    Remarks {
        mac_retries: rows.iter().filter(|row| row[0] == "1" && row[2] == "10.0.0.1").count(),
        retransmissions: usize::try_from(flow.segments_retransmitted).unwrap(),
        gaps,
        duplicate_acks,
    }
}
