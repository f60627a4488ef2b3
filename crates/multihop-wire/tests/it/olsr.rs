//! tshark reads OLSR packets.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use multihop_core::{Duration, Payload};
use multihop_wire::olsr::{
    Body, Costs, Echo, GROUP, Hello, HelloLink, Hna, LinkCode, Message, Mid, NeighbourType, Opaque, PORT,
    Packet, Quantity, Report, Tc, TimeCode, Willingness,
};
use multihop_wire::udp;

use multihop_testkit::capture::{A, B, Capture};

#[test]
fn every_kind_of_message() {
    let mut capture = Capture::new("olsr");
    for (n, bodies) in (1..).zip(packets()) {
        let packet = Packet { sequence: 700 + n, messages: bodies.into_iter().map(message).collect() };
        let mut payload = Vec::new();
        packet.emit(&mut payload);
        let datagram = udp::Datagram { source: PORT, destination: PORT, payload: Payload::Bytes(payload) };
        let mut bytes = Vec::new();
        datagram.emit(A.addr(), B.addr(), &mut bytes);
        capture.ip(udp::PROTOCOL, &bytes);
    }
    let Some(rows) = capture.read(&FIELDS) else { return };
    assert_eq!(
        rows[0],
        [
            "48",
            "701",
            "1",
            "6",
            "44",
            "10.0.0.1",
            "254",
            "1",
            "513",
            "2",
            "3",
            "10,1,3",
            "8,8,12",
            "10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5",
            "",
            "",
            "",
            "",
            "",
        ]
    );
    assert_eq!(
        rows[1],
        [
            "76",
            "702",
            "2,3,4",
            "6,6,6",
            "24,20,28",
            "10.0.0.1,10.0.0.1,10.0.0.1",
            "254,254,254",
            "1,1,1",
            "513,513,513",
            "",
            "",
            "",
            "",
            "10.0.0.2,10.0.0.3",
            "258",
            "10.1.0.1,10.2.0.1",
            "10.9.0.0,0.0.0.0",
            "255.255.0.0,0.0.0.0",
            "",
        ]
    );
    assert_eq!(rows[2][..5], ["20", "703", "99", "6", "16"]);
    assert_eq!(rows[2][18], "01020304");
    // tshark shows the extension of the HELLO as two more groups of links, and that of the TC as bytes.
    assert_eq!(rows[3][2..5], ["1,2,144", "6,6,6", "80,24,24"]);
    assert_eq!(rows[3][11..13], ["10,1,3,16,17", "8,8,12,20,16"]);
    assert!(rows[3][13].starts_with("10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,0.7.0.0,"));
    assert!(rows[3][13].ends_with(",10.0.0.2,10.0.0.3"));
    assert_eq!([&rows[3][14], &rows[3][18]], ["258", "01020000000005dc000007d0"]);
}

/// An IPv6 address for an IPv4 address: 10.0.0.2 becomes a00:2::.
fn long(address: Ipv4Addr) -> Ipv6Addr {
    let bits = address.to_bits();
    Ipv6Addr::from_bits(u128::from(bits) << 96)
}

#[test]
fn hello_tc_and_mid_with_addresses_of_ipv6() {
    let mut capture = Capture::new("olsr-ipv6");
    let [hello, mut others, ..] = packets();
    // tshark 4.0 reads networks of IPv6 with the length of those of IPv4, and messages of unknown types beyond their end.
    others.retain(|body| !matches!(body, Body::Hna(_)));
    for (sequence, bodies) in [(701, hello), (702, others)] {
        let messages = bodies.into_iter().map(message);
        let longer = |message: Message| {
            message.readdress(&mut |address| Some(long(address))).expect("each address has another")
        };
        let packet = Packet { sequence, messages: messages.map(longer).collect() };
        let mut payload = Vec::new();
        packet.emit(&mut payload);
        udp_of_ipv6(&mut capture, [long(A.addr()), GROUP], PORT, &payload);
    }
    let Some(rows) = capture.read(&LONG_FIELDS) else { return };
    let a = "a00:1::";
    assert_eq!(rows[0][..5], ["108", "701", "1", "104", a]);
    assert_eq!(rows[0][5..8], ["10,1,3", "20,20,36", "a00:2::,a00:3::,a00:4::,a00:5::"]);
    assert_eq!(rows[1][..5], ["120", "702", "2,3", "60,56", &[a; 2].join(",")]);
    assert_eq!(rows[1][7..], ["a00:2::,a00:3::", "258", "a01:1::,a02:1::"]);
}

fn packets() -> [Vec<Body>; 4] {
    let address = |last| [10, 0, 0, last].into();
    let link = |code, last| HelloLink { code, address: address(last) };
    let hello = Hello {
        interval: TimeCode::at_least(Duration::from_secs(2)),
        willingness: Willingness::DEFAULT,
        links: vec![
            link(LinkCode::Symmetric { mpr: true }, 2),
            link(LinkCode::Asymmetric(NeighbourType::Not), 3),
            link(LinkCode::Lost(NeighbourType::Not), 4),
            link(LinkCode::Lost(NeighbourType::Not), 5),
        ],
        report: None,
    };
    let report = Report {
        number: 7,
        quantity: Quantity(0),
        stamp: 1_000_000,
        heard: vec![(address(2), 1_500)],
        echoes: vec![Echo { address: address(2), stamp: 9, arrived: 10 }],
    };
    let reporting = Hello { report: Some(Box::new(report)), ..hello.clone() };
    let costs = Costs { sequence: 258, quantity: Quantity(0), costs: vec![1_500, 2_000] };
    let tc = Arc::new(Tc { sequence: 258, neighbours: vec![address(2), address(3)] });
    let mid = Mid { interfaces: vec![[10, 1, 0, 1].into(), [10, 2, 0, 1].into()] };
    let network = ([10, 9, 0, 0].into(), [255, 255, 0, 0].into());
    let hna = Hna { networks: vec![network, ([0; 4].into(), [0; 4].into())] };
    let opaque = Opaque::new(99, vec![1, 2, 3, 4]).expect("not of the core protocol");
    [
        vec![Body::Hello(hello)],
        vec![Body::Tc(tc.clone()), Body::Mid(mid), Body::Hna(hna)],
        vec![Body::Opaque(opaque)],
        vec![Body::Hello(reporting), Body::Tc(tc), Body::Costs(Arc::new(costs))],
    ]
}

fn message(body: Body) -> Message {
    Message {
        validity: TimeCode::at_least(Duration::from_secs(6)),
        originator: A.addr(),
        ttl: 254,
        hop_count: 1,
        sequence: 513,
        body,
    }
}

const LONG_FIELDS: [&str; 10] = [
    "olsr.packet_len",
    "olsr.packet_seq_num",
    "olsr.message_type",
    "olsr.message_size",
    "olsr.origin6_addr",
    "olsr.link_type",
    "olsr.link_message_size",
    "olsr.neighbor6_addr",
    "olsr.ansn",
    "olsr.interface6_addr",
];

const FIELDS: [&str; 19] = [
    "olsr.packet_len",
    "olsr.packet_seq_num",
    "olsr.message_type",
    "olsr.vtime",
    "olsr.message_size",
    "olsr.origin_addr",
    "olsr.ttl",
    "olsr.hop_count",
    "olsr.message_seq_num",
    "olsr.htime",
    "olsr.willingness",
    "olsr.link_type",
    "olsr.link_message_size",
    "olsr.neighbor_addr",
    "olsr.ansn",
    "olsr.interface_addr",
    "olsr.network_addr",
    "olsr.netmask",
    "olsr.data",
];

/// Adds a data frame with a packet of IPv6 from one host to a group: UDP from a port to the same one.
fn udp_of_ipv6(capture: &mut Capture, [from, group]: [Ipv6Addr; 2], port: u16, payload: &[u8]) {
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
    capture.data(ETHERTYPE_IPV6, &[header.concat(), datagram.concat()].concat());
}

const ETHERTYPE_IPV6: u16 = 0x86dd;
