//! tshark reads a capture of every format, with its checksum tests on.

use std::fs::{self, File};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use multihop_core::{Instant, NodeId, Payload};
use multihop_wire::dot11::{Data, Frame, Snap};
use multihop_wire::icmp::{self, Echo, Message, Quote};
use multihop_wire::tcp::{
    self, NetworkState, Options, SackBlocks, Segment, SeqNumber, StateOption, Timestamps,
};
use multihop_wire::{arp, ipv4, radiotap, udp};

use crate::pcapng::PcapngWriter;

pub(crate) const A: NodeId = NodeId(0);
pub(crate) const B: NodeId = NodeId(1);

/// A capture under construction.
pub(crate) struct Capture {
    name: &'static str,
    frames: Vec<Vec<u8>>,
    checks: &'static [&'static str],
}

impl Capture {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, frames: Vec::new(), checks: CHECKS }
    }

    /// Adds a frame with a radiotap header: frame n at n ms, with a short preamble at 11 Mb/s.
    fn frame(&mut self, frame: &Frame) {
        let mut bytes = Vec::new();
        self.radiotap().emit(&mut bytes);
        frame.emit(&mut bytes);
        self.frames.push(bytes);
    }

    fn radiotap(&self) -> radiotap::Header {
        radiotap::Header {
            tsft: self.frames.len() as u64 * 1_000,
            short_preamble: true,
            rate: radiotap::Rate::Legacy(22),
            channel_mhz: 2412,
            channel_flags: 0x00a0,
            power: Some(radiotap::Power { signal_dbm: -61, noise_dbm: Some(-94) }),
            aggregate: None,
        }
    }

    /// Adds an action frame from A to B with this body.
    pub(crate) fn action(&mut self, body: &[u8]) {
        let mut bytes = Vec::new();
        self.radiotap().emit(&mut bytes);
        let control_and_duration = [0xd0, 0, 0, 0];
        let header = [&control_and_duration[..], &B.mac(), &A.mac(), &A.mac(), &[0, 0]].concat();
        let frame = [&header, body].concat();
        bytes.extend(&frame);
        bytes.extend(crc32fast::hash(&frame).to_le_bytes());
        self.frames.push(bytes);
    }

    /// Adds a data frame from A to B.
    fn data(&mut self, ethertype: u16, packet: &[u8]) {
        let mut body = Vec::new();
        Snap { ethertype }.emit(&mut body);
        body.extend(packet);
        let (receiver, transmitter) = (B.mac(), A.mac());
        self.frame(&Frame::Data(Data {
            retry: true,
            duration: 304,
            receiver,
            transmitter,
            sequence: 4095,
            qos: None,
            tid: 0,
            body,
        }));
    }

    /// Adds a data frame with an IP datagram from A to B.
    pub(crate) fn ip(&mut self, protocol: u8, payload: &[u8]) {
        let mut packet = Vec::new();
        header(protocol).emit(payload, &mut packet);
        self.data(ipv4::ETHERTYPE, &packet);
    }

    /// Adds a data frame with a packet of IPv6 from one host to a group: UDP from a port to the same one.
    pub(crate) fn udp_of_ipv6(&mut self, [from, group]: [Ipv6Addr; 2], port: u16, payload: &[u8]) {
        let length = u16::try_from(8 + payload.len()).expect("short");
        let ports = [port.to_be_bytes(), port.to_be_bytes()].concat();
        let addresses = [from.octets(), group.octets()].concat();
        let [upper, lower] = length.to_be_bytes();
        let summed = [
            &addresses[..],
            &[0, 0, upper, lower, 0, 0, 0, udp::PROTOCOL],
            &ports,
            &[upper, lower, 0, 0],
            payload,
        ];
        let sum: u32 = summed
            .concat()
            .chunks(2)
            .map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))
            .sum();
        let sum = !u16::try_from(sum % 0xffff).expect("a remainder");
        let header = [&[0x60, 0, 0, 0, upper, lower, udp::PROTOCOL, 1][..], &addresses];
        let datagram = [&ports[..], &[upper, lower], &sum.to_be_bytes(), payload];
        self.data(ETHERTYPE_IPV6, &[header.concat(), datagram.concat()].concat());
    }

    fn icmp(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.emit(&mut bytes);
        self.ip(icmp::PROTOCOL, &bytes);
    }

    /// What tshark prints for `fields`, frame by frame; fails if it finds an error.
    pub(crate) fn read(&self, fields: &[&str]) -> Option<Vec<Vec<String>>> {
        let mut rows = self.read_any(&[fields, FAULTS].concat())?;
        for row in &mut rows {
            let faults = row.split_off(fields.len());
            let [malformed, severities, messages] = &faults[..] else { panic!("one value for each field") };
            assert_eq!(malformed, "", "in the frame with {row:?}");
            for severity in severities.split(',').filter(|severity| !severity.is_empty()) {
                let severity: u32 = severity.parse().expect("severities are numbers");
                assert!(severity < WARNING, "{messages} in the frame with {row:?}");
            }
        }
        Some(rows)
    }

    /// What tshark prints for `fields`, frame by frame; `None` without tshark.
    #[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
    fn read_any(&self, fields: &[&str]) -> Option<Vec<Vec<String>>> {
        if Command::new("tshark").arg("--version").output().is_err() {
            println!("skipped: tshark not found");
            return None;
        }
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.pcapng", self.name));
        self.write(&path);
        let mut tshark = Command::new("tshark");
        tshark.args(["-n", "-T", "fields", "-E", "separator=;", "-r"]).arg(&path);
        for preference in self.checks {
            tshark.args(["-o", &format!("{preference}:TRUE")]);
        }
        for field in fields {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().expect("tshark starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::remove_file(&path).expect("the capture was written");
        let text = String::from_utf8(output.stdout).expect("tshark prints UTF-8");
        let rows: Vec<Vec<String>> =
            text.lines().map(|line| line.split(';').map(String::from).collect()).collect();
        assert_eq!(rows.len(), self.frames.len());
        Some(rows)
    }

    fn write(&self, path: &Path) {
        let file = File::create(path).expect("the target directory can be written");
        let mut capture = PcapngWriter::new(file, ["A", "B"], None).expect("a new file");
        for (n, frame) in self.frames.iter().enumerate() {
            let at = Instant::from_nanos(n as u64 * 1_000_000);
            capture.packet(1, at, frame, (n == 0).then_some("a comment")).expect("a whole file");
        }
        capture.finish().expect("a whole file");
    }
}

const ETHERTYPE_IPV6: u16 = 0x86dd;

/// Checks that are off or partly off by default.
const CHECKS: &[&str] =
    &["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum", "wlan.check_checksum"];

/// The fields in which tshark reports errors of checksums, lengths and options.
const FAULTS: &[&str] = &["_ws.malformed", "_ws.expert.severity", "_ws.expert.message"];

/// tshark's severity of a warning. Comments and notes, such as on retries, have lower ones.
const WARNING: u32 = 0x0060_0000;

fn header(protocol: u8) -> ipv4::Header {
    ipv4::Header {
        tos: 0,
        id: 0x1234,
        dont_fragment: true,
        ttl: 63,
        protocol,
        source: A.addr(),
        destination: B.addr(),
    }
}

fn segment_bytes(segment: &Segment) -> Vec<u8> {
    let mut out = Vec::new();
    segment.emit(A.addr(), B.addr(), &mut out);
    out
}

/// The rows of a capture; returns from the test if tshark is missing.
macro_rules! rows {
    ($capture:expr, $fields:expr) => {
        match $capture.read(&$fields) {
            Some(rows) => rows,
            None => return, // it said so
        }
    };
}

#[test]
fn control_and_data_frames() {
    let mut capture = Capture::new("control");
    capture.frame(&Frame::Rts { duration: 7_000, receiver: B.mac(), transmitter: A.mac() });
    capture.frame(&Frame::Cts { duration: 6_500, receiver: A.mac() });
    capture.ip(udp::PROTOCOL, &[0, 1, 0, 2, 0, 8, 0, 0]);
    capture.frame(&Frame::Ack { duration: 0, receiver: A.mac() });
    let rows = rows!(
        capture,
        [
            "wlan.fc.type_subtype",
            "wlan.duration",
            "wlan.ra",
            "wlan.ta",
            "wlan.bssid",
            "wlan.seq",
            "wlan.fc.retry",
            "wlan.fcs.status",
        ]
    );
    let (a, b, bssid) = ("02:00:00:00:00:00", "02:00:00:00:00:01", "02:6d:75:6c:74:69");
    assert_eq!(rows[0], ["0x001b", "7000", b, a, "", "", "0", "1"]);
    assert_eq!(rows[1], ["0x001c", "6500", a, "", "", "", "0", "1"]);
    assert_eq!(rows[2], ["0x0020", "304", b, a, bssid, "4095", "1", "1"]);
    assert_eq!(rows[3], ["0x001d", "0", a, "", "", "", "0", "1"]);
}

#[test]
fn radiotap_and_capture_file() {
    let mut capture = Capture::new("radiotap");
    for _ in 0..2 {
        capture.frame(&Frame::Ack { duration: 0, receiver: A.mac() });
    }
    let rows = rows!(
        capture,
        [
            "radiotap.length",
            "radiotap.mactime",
            "radiotap.flags.preamble",
            "radiotap.flags.fcs",
            "radiotap.datarate",
            "radiotap.channel.freq",
            "radiotap.channel.flags.cck",
            "radiotap.dbm_antsignal",
            "radiotap.dbm_antnoise",
            "wlan_radio.snr",
            "wlan_radio.channel",
            "frame.time_epoch",
            "frame.interface_name",
            "frame.comment",
        ]
    );
    assert_eq!(
        rows[0],
        ["24", "0", "1", "1", "11", "2412", "1", "-61", "-94", "33", "1", "0.000000000", "B", "a comment"]
    );
    assert_eq!(
        rows[1],
        ["24", "1000", "1", "1", "11", "2412", "1", "-61", "-94", "33", "1", "0.001000000", "B", ""]
    );
}

#[test]
fn arp_packets() {
    let mut capture = Capture::new("arp");
    let request = arp::Packet {
        operation: arp::Operation::Request,
        sender_mac: A.mac(),
        sender: A.addr(),
        target_mac: [0; 6],
        target: B.addr(),
    };
    let reply = arp::Packet {
        operation: arp::Operation::Reply,
        sender_mac: B.mac(),
        sender: B.addr(),
        target_mac: A.mac(),
        target: A.addr(),
    };
    for packet in [request, reply] {
        let mut bytes = Vec::new();
        packet.emit(&mut bytes);
        capture.data(arp::ETHERTYPE, &bytes);
    }
    let rows = rows!(
        capture,
        [
            "llc.type",
            "arp.opcode",
            "arp.src.hw_mac",
            "arp.src.proto_ipv4",
            "arp.dst.hw_mac",
            "arp.dst.proto_ipv4",
        ]
    );
    let (a, b) = ("02:00:00:00:00:00", "02:00:00:00:00:01");
    assert_eq!(rows[0], ["0x0806", "1", a, "10.0.0.1", "00:00:00:00:00:00", "10.0.0.2"]);
    assert_eq!(rows[1], ["0x0806", "2", b, "10.0.0.2", a, "10.0.0.1"]);
}

#[test]
fn udp_datagrams() {
    let mut capture = Capture::new("udp");
    let datagram = udp::Datagram { source: 5_000, destination: 9, payload: Payload::Virtual(99) };
    let mut bytes = Vec::new();
    datagram.emit(A.addr(), B.addr(), &mut bytes);
    capture.ip(udp::PROTOCOL, &bytes);
    let rows = rows!(
        capture,
        [
            "ip.version",
            "ip.src",
            "ip.dst",
            "ip.ttl",
            "ip.id",
            "ip.len",
            "ip.flags.df",
            "ip.checksum.status",
            "udp.srcport",
            "udp.dstport",
            "udp.length",
            "udp.checksum.status",
        ]
    );
    let expected = ["4", "10.0.0.1", "10.0.0.2", "63", "0x1234", "127", "1", "1", "5000", "9", "107", "1"];
    assert_eq!(rows[0], expected);
}

#[test]
fn icmp_messages() {
    let mut capture = Capture::new("icmp");
    let quote = quote_of_data(0);
    let messages = [
        Message::EchoRequest(Echo { id: 3, seq: 4, payload: Payload::Virtual(56) }),
        Message::EchoReply(Echo { id: 3, seq: 4, payload: Payload::Virtual(56) }),
        Message::Unreachable { code: icmp::HOST_UNREACHABLE, quote },
        Message::TimeExceeded { code: icmp::TTL_EXCEEDED, quote },
    ];
    for message in messages {
        capture.icmp(&message);
    }
    let rows = rows!(
        capture,
        [
            "icmp.type",
            "icmp.code",
            "icmp.checksum.status",
            "icmp.ident",
            "icmp.seq",
            "ip.len",
            "tcp.checksum.status"
        ]
    );
    assert_eq!(rows[0], ["8", "0", "1", "3", "4", "84", ""]);
    assert_eq!(rows[1], ["0", "0", "1", "3", "4", "84", ""]);
    assert_eq!(rows[2], ["3", "1", "1", "", "", "68,40", "1"]);
    assert_eq!(rows[3], ["11", "0", "1", "", "", "68,40", "1"]);
}

#[test]
fn icmp_quote_of_a_longer_segment() {
    let mut capture = Capture::new("quote");
    // The TCP checksum covers data that is not quoted, which tshark reports as an error.
    capture.checks = &["ip.check_checksum", "wlan.check_checksum"];
    capture.icmp(&Message::Unreachable { code: icmp::HOST_UNREACHABLE, quote: quote_of_data(1_460) });
    let rows = rows!(
        capture,
        [
            "icmp.checksum.status",
            "ip.checksum.status",
            "ip.len",
            "ip.proto",
            "tcp.srcport",
            "tcp.dstport",
            "tcp.seq"
        ]
    );
    assert_eq!(rows[0], ["1", "1,1", "68,1500", "1,6", "1024", "80", "77"]);
}

fn quote_of_data(len: u32) -> Quote {
    let (source, destination, seq) = (1_024, 80, SeqNumber(77));
    let payload = Payload::Virtual(len);
    let segment = Segment { source, destination, seq, payload, ..Segment::default() };
    Quote::new(header(tcp::PROTOCOL), &segment_bytes(&segment))
}

#[test]
fn tcp_segment_with_the_options_of_a_syn() {
    let mut capture = Capture::new("syn");
    let segment = Segment {
        source: 1_024,
        destination: 80,
        seq: SeqNumber(1_000),
        syn: true,
        window: 8_192,
        options: Options {
            mss: Some(1_460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 11, echo: 0 }),
            ..Options::default()
        },
        ..Segment::default()
    };
    capture.ip(tcp::PROTOCOL, &segment_bytes(&segment));
    let rows = rows!(
        capture,
        [
            "tcp.srcport",
            "tcp.dstport",
            "tcp.seq_raw",
            "tcp.flags",
            "tcp.window_size_value",
            "tcp.hdr_len",
            "tcp.checksum.status",
            "tcp.options.mss_val",
            "tcp.options.wscale.shift",
            "tcp.options.sack_perm",
            "tcp.options.timestamp.tsval",
            "tcp.options.timestamp.tsecr",
        ]
    );
    let expected = ["1024", "80", "1000", "0x0002", "8192", "40", "1", "1460", "7", "0402", "11", "0"];
    assert_eq!(rows[0], expected);
}

#[test]
fn tcp_segments_with_sack_and_data() {
    let mut capture = Capture::new("sack");
    let mut sack = SackBlocks::default();
    for block in 1..=3 {
        assert!(sack.push(SeqNumber(block * 3_000), SeqNumber(block * 3_000 + 1_460)));
    }
    let segment = Segment {
        source: 80,
        destination: 1_024,
        seq: SeqNumber(500),
        ack: Some(SeqNumber(1_001)),
        psh: true,
        fin: true,
        window: 100,
        options: Options { timestamps: Some(Timestamps { value: 12, echo: 11 }), sack, ..Options::default() },
        payload: Payload::Virtual(1_461),
        ..Segment::default()
    };
    capture.ip(tcp::PROTOCOL, &segment_bytes(&segment));
    let rows = rows!(
        capture,
        [
            "tcp.seq_raw",
            "tcp.ack_raw",
            "tcp.flags",
            "tcp.len",
            "tcp.hdr_len",
            "tcp.checksum.status",
            "tcp.options.timestamp.tsval",
            "tcp.options.timestamp.tsecr",
            "tcp.options.sack.count",
            "tcp.options.sack_le",
            "tcp.options.sack_re",
            "wlan.fcs.status",
        ]
    );
    // tshark shows the edges of blocks relative to the first acknowledgement number, 1001.
    let (left, right) = ("2000,5000,8000", "3460,6460,9460");
    let expected = ["500", "1001", "0x0019", "1461", "56", "1", "12", "11", "3", left, right, "1"];
    assert_eq!(rows[0], expected);
}

#[test]
fn tcp_segments_with_a_network_state() {
    let mut capture = Capture::new("network-state");
    for (n, kind) in (0..).zip(StateOption::KINDS) {
        let segment = Segment {
            source: 80,
            destination: 1_024,
            ack: Some(SeqNumber(1_001)),
            window: 100 + n,
            options: Options {
                timestamps: Some(Timestamps { value: 12, echo: 11 }),
                state: Some(StateOption { kind, state: NetworkState::CHANNEL_ERROR }),
                ..Options::default()
            },
            ..Segment::default()
        };
        capture.ip(tcp::PROTOCOL, &segment_bytes(&segment));
    }
    let rows =
        rows!(capture, ["tcp.hdr_len", "tcp.checksum.status", "tcp.options", "tcp.options.timestamp.tsval"]);
    for (row, kind) in rows.iter().zip(["fd", "fe"]) {
        let options = format!("010101080a0000000c0000000b{kind}0304");
        assert_eq!(row[..], ["36", "1", &options, "12"]);
    }
}

#[test]
fn tcp_reset() {
    let mut capture = Capture::new("reset");
    let reset = Segment { rst: true, seq: SeqNumber(5_000), ..Segment::default() };
    capture.ip(tcp::PROTOCOL, &segment_bytes(&reset));
    // tshark warns about every reset.
    if let Some(rows) =
        capture.read_any(&["_ws.malformed", "tcp.seq_raw", "tcp.flags", "tcp.checksum.status"])
    {
        assert_eq!(rows[0], ["", "5000", "0x0004", "1"]);
    }
}

#[test]
fn damage_is_detected() {
    let mut capture = Capture::new("damage");
    let segment = Segment { payload: Payload::Virtual(10), ..Segment::default() };
    capture.ip(tcp::PROTOCOL, &segment_bytes(&segment));
    let last_of_data = capture.frames[0].len() - 5;
    capture.frames[0][last_of_data] = 1;
    if let Some(rows) = capture.read_any(&["tcp.checksum.status", "wlan.fcs.status"]) {
        assert_eq!(rows[0], ["0", "0"]);
    }
}
