//! Aggregation of 802.11n and 802.11ac in whole runs.

use std::collections::BTreeSet;

use crate::capture::{Capture, NO_ANALYSIS, tshark_is_missing};
use crate::support::{Event, events, ran, result};

/// A chain with `[radio]` and `[mac]` keys, and one flow.
fn chain(hops: u32, seconds: f64, radio: &str, mac: &str, flow: &str) -> String {
    format!(
        "duration = {seconds:?}\n\
         [radio]\nphy = \"802.11n-20\"\nbudget = \"ns-2\"\nrate = \"MCS7\"\n{radio}\n\
         [mac]\nflavour = \"standard\"\narp = \"oracle\"\nrts_threshold = \"off\"\n{mac}\n\
         [topology]\nkind = \"chain\"\nhops = {hops}\n[[flow]]\n{flow}\n"
    )
}

const GREEDY: &str = "app = \"cbr\"\nrate_kbps = 90000.0\nsize = 1460";

/// Duration of one exchange in microseconds: DIFS, the mean backoff, a frame of these MPDUs at 65 Mb/s, SIFS
/// and the answer.
fn cycle(mpdu: u64, mpdus: u64) -> f64 {
    let one = (4 + mpdu).next_multiple_of(4);
    let (bytes, answer) = if mpdus > 1 { (one * (mpdus - 1) + 4 + mpdu, 32) } else { (mpdu, 28) };
    let data = 36 + 4 * (8 * bytes + 22).div_ceil(260);
    34.0 + 7.5 * 9.0 + data as f64 + 16.0 + f64::from(answer)
}

#[test]
fn goodput_over_one_hop_follows_from_the_sizes_of_aggregates() {
    // 1488 bytes from IP on: 30 of header; two of 14 and their padding in one MPDU. 29 are the most of 5484 us.
    for (mac, packets, cycle) in [
        ("ampdu = 64", 29, cycle(1518, 29)),
        ("ampdu = 8", 8, cycle(1518, 8)),
        ("amsdu = 3839", 2, cycle(30 + 1504 + 1502, 1)),
        ("amsdu = 7935", 5, cycle(30 + 4 * 1504 + 1502, 1)),
        ("ampdu = 4\namsdu = 3839", 8, cycle(30 + 1504 + 1502, 4)),
    ] {
        let found = result(&chain(1, 3.0, "", &format!("{mac}\nqueue = 200"), GREEDY)).totals.goodput_kbps;
        let expected = 8e3 * 1460.0 * f64::from(packets) / cycle;
        assert!((found / expected - 1.0).abs() < 0.005, "{mac}: {found} kb/s, expected {expected}");
    }
}

/// A physical layer with several streams in a channel, by the numbers of its standard.
struct Streams {
    phy: String,
    /// Number of subcarriers that carry data.
    subcarriers: u64,
    /// The schemes of a stream.
    schemes: std::ops::Range<usize>,
    /// Duration of the preamble with one, two, three and four streams, microseconds.
    preamble: [f64; 4],
    /// Duration of a symbol, microseconds.
    symbol: f64,
    /// Microseconds of which the symbols of a frame fill a multiple.
    step: f64,
    /// Data bits of a symbol for each encoder with a tail of 6 bits.
    encoder: Option<u64>,
    /// Maximum number of MPDUs in a frame, and maximum number of bytes.
    limits: (u64, u64),
    /// Schemes of so many streams that do not exist.
    missing: &'static [(usize, usize)],
}

impl Streams {
    /// The name of a rate of 802.11ac or 802.11ax; 802.11n counts schemes through.
    fn rate(&self, index: usize, streams: usize) -> String {
        match streams {
            _ if self.schemes.len() == 8 => format!("MCS{}", index + 8 * (streams - 1)),
            1 => format!("MCS{index}"),
            _ => format!("MCS{index}x{streams}"),
        }
    }

    /// Number of MPDUs in an aggregate of packets of 1460 bytes over one hop, and the time until the next
    /// aggregate, microseconds.
    fn saturation(&self, index: usize, streams: usize) -> (u64, f64) {
        // Coded bits of a subcarrier and the code, in twelfths of a data bit.
        let twelfths = [6, 12, 18, 24, 36, 48, 54, 60, 72, 80, 90, 100][index];
        let bits = self.subcarriers * streams as u64 * twelfths / 12;
        let bytes = |mpdus: u64| if mpdus > 1 { 1524 * (mpdus - 1) + 4 + 1518 } else { 1518 };
        let time = |mpdus: u64| {
            let overhead = 16 + self.encoder.map_or(0, |most| 6 * bits.div_ceil(most));
            let symbols = (8 * bytes(mpdus) + overhead).div_ceil(bits) as f64 * self.symbol;
            self.preamble[streams - 1] + (symbols / self.step - 1e-9).ceil() * self.step
        };
        let (most, longest) = self.limits;
        let fits = |mpdus: &u64| time(*mpdus) <= 5484.0 && bytes(*mpdus) <= longest;
        let mpdus = (2..=most).take_while(fits).last().unwrap_or(1);
        // An ACK has 14 bytes; a block ACK 32, or 56 where frames can have more than 64 MPDUs. 6, 12 or 24 Mb/s.
        let answer = match mpdus {
            1 => 14,
            _ if most > 64 => 56,
            _ => 32,
        };
        let answer_bits = [24, 48, 48][index.min(2)].max(if index > 2 { 96 } else { 0 });
        let answer = 20 + 4 * (8_u64 * answer + 22).div_ceil(answer_bits);
        (mpdus, 34.0 + 7.5 * 9.0 + time(mpdus) + 16.0 + answer as f64)
    }

    /// Runs rates, and compares their goodput with arithmetic.
    fn check(&self, rates: impl Iterator<Item = (usize, usize)>) {
        for (index, streams) in rates.filter(|rate| !self.missing.contains(rate)) {
            let (mpdus, cycle) = self.saturation(index, streams);
            let (name, expected) = (self.rate(index, streams), 8e3 * 1460.0 * mpdus as f64 / cycle);
            let flow = "app = \"cbr\"\nrate_kbps = 5000000.0\nsize = 1460\nfrom = 0\nto = 1\n";
            let (most, _) = self.limits;
            // An aggregate more or less is 1%.
            let (warmup, seconds) = (4e-6 * cycle, 104e-6 * cycle);
            let text = chain(1, seconds, "", &format!("ampdu = {most}\nqueue = 600"), flow);
            let text = text.replace("802.11n-20", &self.phy).replace("MCS7", &name);
            let text = format!("warmup = {warmup:?}\n{text}");
            let found = result(&text).totals.goodput_kbps;
            let difference = found / expected - 1.0;
            assert!(difference.abs() < 0.02, "{} {name}: {found} kb/s, expected {expected}", self.phy);
        }
    }

    /// Every pair of MCS index and number of streams.
    fn all(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let schemes = self.schemes.clone();
        (1..=4).flat_map(move |streams| schemes.clone().map(move |index| (index, streams)))
    }
}

/// 802.11n, 802.11ac and 802.11ax in each width, with each guard interval.
fn layers() -> Vec<Streams> {
    let mut all = Vec::new();
    for (suffix, symbol) in [("", 4.0), ("-short-guard", 3.6)] {
        let common = |name: &str, subcarriers| Streams {
            phy: format!("802.11{name}{suffix}"),
            subcarriers,
            schemes: 0..8,
            preamble: [36.0, 40.0, 48.0, 48.0],
            symbol,
            step: 4.0,
            encoder: Some(1080),
            limits: (64, 65_535),
            missing: &[],
        };
        all.extend([("n-20", 52), ("n-40", 108)].map(|(name, subcarriers)| common(name, subcarriers)));
        for (name, subcarriers, missing) in [
            ("ac-20", 52, &[(9, 1), (9, 2), (9, 4)][..]),
            ("ac-40", 108, &[]),
            ("ac-80", 234, &[(6, 3)]),
            ("ac-160", 468, &[(9, 3)]),
        ] {
            all.push(Streams {
                schemes: 0..10,
                preamble: [40.0, 44.0, 52.0, 52.0],
                encoder: Some(2160),
                limits: (64, 1_048_575),
                missing,
                ..common(name, subcarriers)
            });
        }
    }
    for (suffix, guard, training) in [("", 0.8, 6.4), ("-medium-guard", 1.6, 6.4), ("-long-guard", 3.2, 12.8)]
    {
        for (width, subcarriers) in [(20, 234), (40, 468), (80, 980), (160, 1960)] {
            all.push(Streams {
                phy: format!("802.11ax-{width}{suffix}"),
                subcarriers,
                schemes: 0..12,
                preamble: [1.0, 2.0, 4.0, 4.0].map(|symbols| 36.0 + symbols * (training + guard)),
                symbol: 12.8 + guard,
                step: 12.8 + guard,
                encoder: None,
                limits: (256, 6_500_631),
                missing: &[],
            });
        }
    }
    all
}

#[test]
fn saturation_of_802_11n_ac_and_ax_follows_from_the_standards() {
    // The rates are the slowest and the fastest one of each layer, and another one that differs from layer to
    // layer.
    for (number, layer) in layers().iter().enumerate() {
        let schemes = layer.schemes.len();
        layer.check([(0, 1), (number % schemes, number % 4 + 1), (schemes - 1, 4)].into_iter());
    }
}

#[test]
#[ignore = "a thousand runs take a minute; `make validate` makes them"]
fn saturation_of_every_rate_of_802_11n_ac_and_ax_follows_from_the_standards() {
    layers().iter().for_each(|layer| layer.check(layer.all()));
}

#[test]
fn one_category_of_edca_delivers_what_the_station_without_edca_does() {
    let goodput = |mac: &str| {
        let flow = format!("{GREEDY}\ncategory = \"video\"");
        result(&chain(
            1,
            1.0,
            "frame_loss = 0.02",
            &format!("ampdu = 32\namsdu = 3839\nqueue = 200\n{mac}"),
            &flow,
        ))
        .totals
    };
    let edca = "edca = { video = { aifsn = 2, cw_min = 15, cw_max = 1023, txop = 0.0 } }";
    assert_eq!(goodput(edca).goodput_kbps, goodput("").goodput_kbps);
}

/// Microseconds of an aggregate of MPDUs of 1518 bytes at 65 Mb/s, SIFS and its answer.
fn exchange(mpdus: u64) -> f64 {
    cycle(1518, mpdus) - 34.0 - 7.5 * 9.0
}

#[test]
fn goodput_of_a_transmission_opportunity_follows_from_its_limit() {
    // AIFS is 34 us, the mean backoff half a slot. A frame of 8 MPDUs takes up to 1.6 ms: the limit has room
    // for two of them with SIFS after each, and then for a frame of as many MPDUs as still fit.
    let limit = 4096.0;
    let rest = limit - 2.0 * (exchange(8) + 16.0);
    let last = (2..8).take_while(|&mpdus| exchange(mpdus) <= rest).last().expect("two MPDUs fit");
    let expected = 8e3 * 1460.0 * (16 + last) as f64 / (34.0 + 4.5 + limit - rest + exchange(last));
    let edca =
        "edca = { voice = { aifsn = 2, cw_min = 1, cw_max = 1, txop = 0.004096 } }\nampdu = 8\nqueue = 200";
    let found =
        result(&chain(1, 1.0, "", edca, &format!("{GREEDY}\ncategory = \"voice\""))).totals.goodput_kbps;
    assert!((found / expected - 1.0).abs() < 0.005, "{found} kb/s, expected {expected}");
}

#[test]
fn losses_of_mpdus_neither_reorder_nor_lose_nor_repeat_packets() {
    let flow = "app = \"cbr\"\nrate_kbps = 12000.0\nsize = 1460\nstop = 1.0";
    for mac in ["ampdu = 64", "ampdu = 64\namsdu = 3839", "amsdu = 7935"] {
        let ran = ran(&chain(
            3,
            2.5,
            "frame_loss = 0.1",
            &format!("{mac}\nqueue = 1000\nshort_retry = \"off\""),
            flow,
        ));
        let [flow] = &ran.result.flows[..] else { panic!("one flow") };
        assert_eq!(flow.segments_sent, flow.segments_delivered, "{mac}");
        assert_eq!(flow.out_of_order, 0, "{mac}");
        let arrived = |event: &Event<'_>| event.what == "r" && event.node == 3;
        let numbers: Vec<u64> =
            events(&ran.trace).filter(arrived).map(|event| event.number.parse().unwrap()).collect();
        assert_eq!(numbers.len() as u64, flow.segments_sent, "{mac}");
        assert!(numbers.is_sorted(), "{mac}");
        assert!(ran.result.mac.retries > 0, "{mac}");
    }
}

/// Every packet is either sent, delivered or dropped for exactly one reason.
#[test]
fn every_packet_ends_once_when_links_fail() {
    let flow = "app = \"cbr\"\nrate_kbps = 20000.0\nsize = 1460";
    let text = chain(3, 3.0, "frame_loss = 0.4", "ampdu = 16\nshort_retry = 2", flow);
    let ran = ran(&text);
    let uids = |what: &str, node: Option<u32>| -> Vec<u64> {
        let fits = |event: &Event<'_>| event.what == what && node.is_none_or(|node| event.node == node);
        events(&ran.trace).filter(fits).map(|event| event.uid).collect()
    };
    let (sent, received, dropped) = (uids("s", None), uids("r", Some(3)), uids("D", None));
    let delivered: BTreeSet<u64> = received.iter().copied().collect();
    assert_eq!(delivered.len(), received.len(), "nothing is passed on twice");
    let ended: BTreeSet<u64> = received.iter().chain(&dropped).copied().collect();
    assert!(sent.iter().all(|uid| ended.contains(uid)), "every packet arrives or is dropped");
    assert!(ran.result.drops["retry-limit"] > 100, "{:?}", ran.result.drops);
}

#[test]
fn tcp_gains_from_aggregation() {
    let flow = "transport = { kind = \"newreno\", window_max = 64 }";
    let goodput = |mac| result(&chain(1, 5.0, "", mac, flow)).totals.goodput_kbps;
    let (without, with) = (goodput(""), goodput("ampdu = 64"));
    assert!(with > 1.8 * without, "{with} with, {without} without");
}

#[test]
fn tshark_reads_aggregates_and_block_acks() {
    if tshark_is_missing() {
        return;
    }
    let flow = "app = \"cbr\"\nrate_kbps = 60000.0\nsize = 432";
    let text =
        chain(1, 0.3, "frame_loss = 0.1", "ampdu = 64\namsdu = 3839\nshort_retry = 1\nllc = true", flow);
    let capture = Capture::of(ran(&text), "aggregates");
    let read = |filter: &str, fields: &[&str]| capture.read(filter, NO_ANALYSIS, fields);
    assert!(read("_ws.malformed || wlan.fcs.status == 0", &["frame.number"]).is_empty());
    let bytes = |row: &[String], [frame, header]: [usize; 2]| {
        row[frame].parse::<u32>().unwrap() - row[header].parse::<u32>().unwrap()
    };
    // Compressed block ACKs of 32 bytes behind the radiotap header.
    let fields =
        ["wlan.ba.control.ba_type", "wlan.fixed.ssc.sequence", "wlan.ba.bm", "frame.len", "radiotap.length"];
    let answers = read("wlan.fc.type_subtype == 0x19", &fields);
    assert!(answers.len() > 10, "{answers:?}");
    assert!(answers.iter().all(|row| bytes(row, [3, 4]) == 32), "{answers:?}");
    let requests = read("wlan.fc.type_subtype == 0x18", &["frame.len", "radiotap.length"]);
    assert!(requests.iter().all(|row| bytes(row, [0, 1]) == 24) && !requests.is_empty(), "{requests:?}");
    // QoS data, with the number of its aggregate, several packets in each.
    let fields = [
        "radiotap.ampdu.reference",
        "wlan.qos.amsdupresent",
        "wlan.seq",
        "udp.length",
        "radiotap.ampdu.flags.last",
    ];
    let data = read("wlan.fc.type_subtype == 0x28 && frame.interface_id == 0", &fields);
    let aggregates: BTreeSet<&str> =
        data.iter().map(|row| row[0].as_str()).filter(|at| !at.is_empty()).collect();
    assert!(
        aggregates.len() > 10 && data.len() > 3 * aggregates.len(),
        "{} of {}",
        aggregates.len(),
        data.len()
    );
    let several =
        data.iter().filter(|row| row[3].split(',').count() == 7 && row[3].starts_with("440")).count();
    assert!(several > 10, "{data:?}");
    assert!(data.iter().any(|row| row[1] == "1" || row[1] == "True"), "{data:?}");
}

#[test]
fn tshark_reads_the_traffic_identifiers_of_edca() {
    if tshark_is_missing() {
        return;
    }
    let flow = |category: &str| {
        format!("app = \"cbr\"\nrate_kbps = 20000.0\nsize = 432\ncategory = \"{category}\"\nfrom = 0\nto = 1")
    };
    let flows = ["background", "best-effort", "video", "voice"].map(flow).join("\n[[flow]]\n");
    let text = chain(1, 0.2, "frame_loss = 0.2", "ampdu = 16\nshort_retry = 2\nedca = true", &flows);
    let capture = Capture::of(ran(&text), "categories");
    let read = |filter: &str, field: &str| -> BTreeSet<String> {
        capture.read(filter, NO_ANALYSIS, &[field]).into_iter().flatten().collect()
    };
    assert!(read("_ws.malformed || wlan.fcs.status == 0", "frame.number").is_empty());
    let all = BTreeSet::from(["0", "1", "4", "6"].map(str::to_owned));
    assert_eq!(read("wlan.fc.type_subtype == 0x28", "wlan.qos.tid"), all);
    for answers in ["0x19", "0x18"] {
        let tids = read(&format!("wlan.fc.type_subtype == {answers}"), "wlan.ba.basic.tidinfo");
        let tids: BTreeSet<_> =
            tids.iter().map(|tid| tid.trim_start_matches("0x").trim_start_matches('0')).collect();
        assert!(
            tids.contains("6") && tids.is_subset(&BTreeSet::from(["", "1", "4", "6"])),
            "{answers}: {tids:?}"
        );
    }
}
