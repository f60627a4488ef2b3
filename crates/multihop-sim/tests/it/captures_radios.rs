//! Captures of nodes with several radios, as tshark reads them.

use std::collections::BTreeSet;

use crate::capture::{Capture, NO_ANALYSIS, tshark_is_missing};
use crate::support::ran;

/// Two hops: the first over radio 0, the second over radio 1.
const TWO_CHANNELS: &str = "duration = 3.0\nwarmup = 1.0\ntopology = { kind = \"chain\", hops = 2 }\n\
                            [[radio]]\nchannel = 6\nnodes = [0, 1]\n\
                            [[radio]]\nphy = \"802.11a\"\nbudget = \"ns-2\"\nchannel = 44\nnodes = [1, 2]\n\
                            [[flow]]\napp = \"cbr\"\nsize = 500\nrate_kbps = 80.0\n";

fn set<const N: usize>(rows: Vec<Vec<String>>) -> BTreeSet<[String; N]> {
    rows.into_iter().map(|row| row.try_into().expect("as many values as fields")).collect()
}

#[test]
fn each_radio_of_a_node_is_an_interface_with_its_channel() {
    if tshark_is_missing() {
        return;
    }
    let capture = Capture::of(ran(TWO_CHANNELS), "radios-channels");
    let fields = [
        "frame.interface_name",
        "frame.interface_description",
        "radiotap.channel.freq",
        "radiotap.channel.flags.5ghz",
    ];
    let radio = |node: u32, number: u32, about: &str, freq: &str, is_5_ghz: &str| {
        [format!("node{node}-radio{number}"), about.into(), freq.into(), is_5_ghz.into()]
    };
    let expected = [
        radio(0, 0, "802.11b, channel 6", "2437", "0"),
        radio(1, 0, "802.11b, channel 6", "2437", "0"),
        radio(1, 1, "802.11a, channel 44", "5220", "1"),
        radio(2, 1, "802.11a, channel 44", "5220", "1"),
    ];
    // tshark 4.0 prints flags as 0 and 1, later versions as words.
    let word = |text: String| text.replace("False", "0").replace("True", "1");
    let found = set(capture.read("wlan", NO_ANALYSIS, &fields));
    assert_eq!(
        found.into_iter().map(|row: [String; 4]| row.map(word)).collect::<BTreeSet<_>>(),
        expected.into()
    );
}

#[test]
fn each_radio_has_addresses_of_its_own() {
    if tshark_is_missing() {
        return;
    }
    let capture = Capture::of(ran(TWO_CHANNELS), "radios-addresses");
    // Addresses of second radios follow those of the three nodes.
    let data = set(capture.read(
        "udp && wlan.fc.type_subtype == 0x20",
        NO_ANALYSIS,
        &["wlan.ta", "wlan.ra", "ip.src", "ip.dst"],
    ));
    let hop = |ta: u32, ra: u32| {
        let mac = |n: u32| format!("02:00:00:00:00:0{n}");
        [mac(ta), mac(ra), "10.0.0.1".into(), "10.0.0.3".into()]
    };
    assert_eq!(data, [hop(0, 1), hop(4, 5)].into());
    let requests = set(capture.read(
        "arp.opcode == 1 && frame.interface_name == \"node1-radio1\"",
        NO_ANALYSIS,
        &["arp.src.hw_mac", "arp.src.proto_ipv4", "arp.dst.proto_ipv4"],
    ));
    assert_eq!(requests, [["02:00:00:00:00:04", "10.0.0.5", "10.0.0.6"].map(String::from)].into());
}

#[test]
fn interference_names_the_radio_that_it_comes_from() {
    if tshark_is_missing() {
        return;
    }
    // Radio 1 is on the channel of radio 0, so near to the receiver that frames are lost, and senses nothing.
    let text = "duration = 3.0\nwarmup = 0.5\n[topology]\nkind = \"list\"\npositions = [[0, 0], [200, 0], [600, 0], [800, 0]]\n\
                [[radio]]\nchannel = 1\nmodel = \"sinr\"\nnoise_floor_dbm = -100.0\nrate = \"1M\"\nnodes = [0, 1]\n\
                [[radio]]\nchannel = 1\nmodel = \"sinr\"\nnoise_floor_dbm = -100.0\nrate = \"1M\"\nnodes = [2, 3]\n\
                [mac]\narp = \"oracle\"\nrts_threshold = \"off\"\n\
                [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1000\n\
                [[flow]]\nfrom = 2\nto = 3\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1000\n";
    let capture = Capture::of(ran(text), "radios-interference");
    let filter = "frame.interface_name == \"node1-radio0\" && frame.comment";
    let comments = capture.read(filter, NO_ANALYSIS, &["frame.comment"]);
    // The power is that of the two-ray model over 400 m, as if both nodes had one radio.
    let power = 24.5 + 20.0 * 2.25_f64.log10() - 40.0 * 400_f64.log10();
    let expected = format!("strongest interference: data of node2 (radio 1) at {power:.1} dBm, SINR 12.0 dB");
    assert!(comments.iter().any(|row| row[0] == expected), "{expected} is not in {comments:?}");
}
