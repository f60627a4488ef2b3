//! tshark reads a capture of every format, with its checksum tests on.

use multihop_core::Payload;
use multihop_wire::dot11::Frame;
use multihop_wire::icmp::{self, Echo, Message, Quote};
use multihop_wire::tcp::{
    self, NetworkState, Options, SackBlocks, Segment, SeqNumber, StateOption, Timestamps,
};
use multihop_wire::{arp, udp};

use multihop_testkit::capture::{A, B, Capture, header};

fn segment_bytes(segment: &Segment) -> Vec<u8> {
    let mut out = Vec::new();
    segment.emit(A.addr(), B.addr(), &mut out);
    out
}

fn icmp_bytes(message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    message.emit(&mut out);
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
fn radiotap() {
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
        ]
    );
    assert_eq!(rows[0], ["24", "0", "1", "1", "11", "2412", "1", "-61", "-94", "33", "1", "0.000000000"]);
    assert_eq!(rows[1], ["24", "1000", "1", "1", "11", "2412", "1", "-61", "-94", "33", "1", "0.001000000"]);
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
        capture.ip(icmp::PROTOCOL, &icmp_bytes(&message));
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
    let quote = quote_of_data(1_460);
    let message = Message::Unreachable { code: icmp::HOST_UNREACHABLE, quote };
    capture.ip(icmp::PROTOCOL, &icmp_bytes(&message));
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
