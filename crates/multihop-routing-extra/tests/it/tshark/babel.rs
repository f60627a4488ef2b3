//! tshark reads Babel packets.

use multihop_core::Payload;
use multihop_routing_extra::babel::wire::{
    Centis, Echo, Hello, Ihu, Offer, PORT, Packet, Prefix, RouterId, Seqno, SeqnoRequest, Tlv, Update,
};
use multihop_wire::udp;

use multihop_testkit::capture::{A, B, Capture};

#[test]
fn every_tlv_of_babel() {
    let mut capture = Capture::new("babel");
    for tlvs in packets() {
        let packet = Packet { tlvs };
        let mut payload = Vec::new();
        packet.emit(&mut payload);
        assert_eq!(payload.len(), packet.wire_len());
        let datagram = udp::Datagram { source: PORT, destination: PORT, payload: Payload::Bytes(payload) };
        let mut bytes = Vec::new();
        datagram.emit(A.addr(), B.addr(), &mut bytes);
        capture.ip(udp::PROTOCOL, &bytes);
    }
    let Some(rows) = capture.read(FIELDS) else { return };
    let filled: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| row.iter().map(String::as_str).filter(|value| !value.is_empty()).collect())
        .collect();
    assert_eq!(
        filled[0],
        [
            "42",
            "2",
            "36",
            "5,4",
            "20,12",
            "1200,400",
            "0x0102",
            "1",
            // tshark's "address" of an IHU also contains the cost in front and the timestamps at the end.
            "018004b00a00000203080000000100000002",
            "0x0180",
            "3,3",
            "8,4",
        ]
    );
    assert_eq!(
        filled[1],
        [
            "42",
            "2",
            "67",
            "8,7,6,8,8",
            "14,6,10,13,14",
            "1600,1600,1600",
            "0x0007,0x0007,0x0007",
            "1,1,1,1",
            "0a000001,0a000002,0a0000,0a000002",
            "0x40,0x00,0x00",
            "32,24,32",
            "0,0,0",
            "0,300,65535",
            "0102030405060708",
        ]
    );
    assert_eq!(
        filled[2],
        [
            "42",
            "2",
            "56",
            "8,9,9,10,2,3",
            "10,2,6,18,6,2",
            "0,20",
            "0x0000,0x0008",
            "0,0,1,1",
            "<MISSING>,<MISSING>,0a000002,0a000002",
            "0x00",
            "0,0,32,32",
            "0",
            "65535",
            "64",
            "0102030405060708",
            "0x0005,0x0005",
        ]
    );
}

fn packets() -> [Vec<Tlv>; 3] {
    let hello =
        Hello { unicast: false, seqno: Seqno(258), interval: Centis(400), timestamp: Some(0x0102_0304) };
    let echo = Some(Echo { origin: 1, receive: 2 });
    let ihu = Ihu { address: Some(B.addr().into()), rxcost: 384, interval: Centis(1200), echo };
    let own = Update {
        prefix: Prefix::host(A.addr()),
        next_hop: None,
        interval: Centis(1600),
        seqno: Seqno(7),
        offer: Some(Offer { router_id: RouterId::of(A.addr()), metric: 0 }),
        channels: None,
    };
    let other = RouterId([1, 2, 3, 4, 5, 6, 7, 8]);
    let network = Update {
        prefix: Prefix::new(B.addr(), 24).expect("at most 32 bits"),
        next_hop: Some(B.addr().into()),
        offer: Some(Offer { router_id: other, metric: 300 }),
        ..own
    };
    let lost = Update { prefix: Prefix::host(B.addr()), offer: None, ..network };
    let host = Prefix::host(B.addr());
    let request = SeqnoRequest { prefix: host, seqno: Seqno(8), hop_count: 64, router_id: other };
    [
        // tshark reads beyond the end of a packet if an IHU with timestamps is the last.
        vec![Tlv::Ihu(ihu), Tlv::Hello(hello)],
        vec![Tlv::Update(own), Tlv::Update(network), Tlv::Update(lost)],
        vec![
            Tlv::RetractAll,
            Tlv::RouteRequest(None),
            Tlv::RouteRequest(Some(host)),
            Tlv::SeqnoRequest(request),
            Tlv::AckRequest { opaque: 5, interval: Centis(20) },
            Tlv::Ack { opaque: 5 },
        ],
    ]
}

const FIELDS: &[&str] = &[
    "babel.magic",
    "babel.version",
    "babel.bodylen",
    "babel.message.type",
    "babel.message.length",
    "babel.message.interval",
    "babel.message.seqno",
    "babel.message.ae",
    "babel.message.prefix",
    "babel.message.rxcost",
    "babel.message.flags",
    "babel.message.plen",
    "babel.message.omitted",
    "babel.message.metric",
    "babel.message.hopcount",
    "babel.message.routerid",
    "babel.message.nonce",
    "babel.subtlv.type",
    "babel.subtlv.length",
];
