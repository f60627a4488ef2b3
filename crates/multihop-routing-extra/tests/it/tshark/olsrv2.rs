//! tshark reads HELLOs and TCs of OLSRv2.

use std::sync::Arc;

use multihop_core::{Duration, NodeId, Payload};
use multihop_routing_extra::olsrv2::wire::{
    Advertised, Hello, LinkStatus, Message, Metric, Metrics, Neighbour, PORT, Packet, Tc, TimeCode,
    Willingness,
};
use multihop_routing_extra::rfc5444::{self, Address, AddressBlock, Tlv};
use multihop_wire::udp;

use multihop_testkit::capture::{A, B, Capture};

#[test]
fn hellos_and_tcs_of_olsrv2() {
    let packet = Packet { sequence: Some(258), messages: vec![Message::Hello(hello()), Message::Tc(tc())] };
    let mut payload = Vec::new();
    packet.emit(&mut payload);
    assert_eq!(payload.len(), packet.wire_len());
    let datagram = udp::Datagram { source: PORT, destination: PORT, payload: Payload::Bytes(payload) };
    let mut bytes = Vec::new();
    datagram.emit(A.addr(), B.addr(), &mut bytes);
    let mut capture = Capture::new("olsrv2");
    capture.ip(udp::PROTOCOL, &bytes);
    let Some(rows) = capture.read(FIELDS) else { return };
    assert_eq!(
        rows[0],
        [
            "258",
            "0,1",
            "10.0.0.1,10.0.0.1",
            "255",
            "2",
            "772",
            // The fields of the HELLO are validity, interval, willingness; those of the TC are validity and
            // number of the content.
            "1,0,7,1,8",
            "0x64,0x6f",
            "0x58",
            "7",
            "3",
            "0x0009",
            "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.2,10.0.0.3",
            "2,3,7,7,8,9,7",
            "0",
            // The fields of the two neighbours in the HELLO: their states, and the costs of receiving from
            // them.
            "01,02,a12e,837d",
            "0,0",
            "1,0",
            "0,0",
            "1,1",
            "0x537d,0x112e",
            "3",
            "3",
        ]
    );
}

/// A TC as hosts send it over IPv6, signed: a host and a network behind the originator.
#[test]
fn a_signed_tc_of_ipv6() {
    let value = |kind, extension, value: &[u8]| Tlv { kind, extension, value: Some(value.to_vec()) };
    let addresses = [("fd00::2", 128), ("fd00:7::", 64)];
    let addresses =
        addresses.map(|(address, prefix)| Address { address: address.parse().expect("an address"), prefix });
    let mut block = AddressBlock { addresses: addresses.to_vec(), tlvs: Vec::new() };
    block.tag(9, 0, &[Some([3]), None]);
    block.tag(10, 0, &[None, Some([1])]);
    let message = rfc5444::Message {
        kind: 1,
        is_ipv6: true,
        originator: Some("fd00::1".parse().expect("an address")),
        tlvs: vec![value(1, 0, &[0x6f]), value(8, 0, &[0, 9])],
        blocks: vec![block],
        ..rfc5444::Message::default()
    };
    let tlvs = vec![value(6, 0, &[7; 12]), value(5, 2, &[3, 3, 0, 0xaa, 0xbb])];
    let packet = rfc5444::Packet { sequence: Some(258), tlvs, messages: vec![message] };
    let mut payload = Vec::new();
    packet.emit(&mut payload);
    let datagram = udp::Datagram { source: PORT, destination: PORT, payload: Payload::Bytes(payload) };
    let mut bytes = Vec::new();
    datagram.emit(A.addr(), B.addr(), &mut bytes);
    let mut capture = Capture::new("olsrv2-ipv6");
    capture.ip(udp::PROTOCOL, &bytes);
    let fields = [
        "packetbb.pkttlv.type",
        "packetbb.msg.origaddr6",
        "packetbb.msg.addr.value6",
        "packetbb.msg.addr.value.prefix",
        "packetbb.addrtlv.type",
    ];
    let Some(rows) = capture.read(&fields) else { return };
    assert_eq!(rows[0], ["6,5", "fd00::1", "fd00::2,fd00:7::", "128,64", "9,10"]);
}

/// A HELLO with a symmetric neighbour that is a relay, and one that is only heard.
fn hello() -> Hello {
    let [cheap, dear] = [350, 2800].map(Metric::at_least);
    let both = Metrics { incoming: Some(cheap), outgoing: Some(dear) };
    let symmetric = Neighbour {
        link: Some(LinkStatus::Symmetric),
        floods: true,
        routes: true,
        link_metrics: both,
        metrics: both,
        ..Neighbour::new(B.addr())
    };
    let heard = Neighbour {
        link: Some(LinkStatus::Heard),
        link_metrics: Metrics { incoming: Some(dear), outgoing: None },
        ..Neighbour::new(C.addr())
    };
    Hello {
        originator: A.addr(),
        validity: TimeCode::at_least(Duration::from_secs(6)),
        interval: Some(TimeCode::at_least(Duration::from_secs(2))),
        willingness: Willingness { flooding: 7, routing: 3 },
        addresses: vec![A.addr()],
        further: Vec::new(),
        neighbours: vec![symmetric, heard],
    }
}

fn tc() -> Tc {
    let links = vec![(B.addr(), Some(Metric::at_least(350))), (C.addr(), None)];
    Tc {
        originator: A.addr(),
        hop_limit: 255,
        hop_count: 2,
        sequence: 772,
        validity: TimeCode::at_least(Duration::from_secs(15)),
        interval: None,
        advertised: Arc::new(Advertised { sequence: 9, complete: true, links, networks: Vec::new() }),
    }
}

const C: NodeId = NodeId(2);

const FIELDS: &[&str] = &[
    "packetbb.seqnr",
    "packetbb.msg.type",
    "packetbb.msg.origaddr4",
    "packetbb.msg.hoplimit",
    "packetbb.msg.hopcount",
    "packetbb.msg.seqnum",
    "packetbb.msgtlv.type",
    "packetbb.tlv.validitytime",
    "packetbb.tlv.intervaltime",
    "packetbb.tlv.mprwillingnessflooding",
    "packetbb.tlv.mprwillingnessrouting",
    "packetbb.tlv.contseqnum",
    "packetbb.msg.addr.value4",
    "packetbb.addrtlv.type",
    "packetbb.tlv.localifs",
    "packetbb.tlv.multivalue",
    "packetbb.tlv.linkmetriclinkin",
    "packetbb.tlv.linkmetriclinkout",
    "packetbb.tlv.linkmetricneighin",
    "packetbb.tlv.linkmetricneighout",
    "packetbb.tlv.linkmetricvalue",
    "packetbb.tlv.mpr",
    "packetbb.tlv.nbraddrtype",
];
