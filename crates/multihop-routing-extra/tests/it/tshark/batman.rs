//! tshark reads originator messages of B.A.T.M.A.N. IV.

use multihop_core::Payload;
use multihop_routing_extra::batman::wire::{Ogm, PORT, Packet, Seqno};
use multihop_wire::udp;

use multihop_testkit::capture::{A, B, Capture};

#[test]
fn originator_messages() {
    let own = Ogm {
        unidirectional: false,
        direct_link: true,
        ttl: 49,
        seqno: Seqno(258),
        originator: A.addr(),
        previous: B.addr(),
        tq: 225,
    };
    let other =
        Ogm { unidirectional: true, direct_link: false, ttl: 50, tq: 255, originator: B.addr(), ..own };
    let mut payload = Vec::new();
    Packet { ogms: vec![own, other] }.emit(&mut payload);
    let datagram = udp::Datagram { source: PORT, destination: PORT, payload: Payload::Bytes(payload) };
    let mut bytes = Vec::new();
    datagram.emit(A.addr(), B.addr(), &mut bytes);
    let mut capture = Capture::new("batman");
    capture.ip(udp::PROTOCOL, &bytes);
    let Some(rows) = capture.read(FIELDS) else { return };
    assert_eq!(
        rows[0],
        ["5,5", "0,1", "1,0", "49,50", "258,258", "10.0.0.1,10.0.0.2", "10.0.0.2,10.0.0.2", "225,255", "0,0",]
    );
}

const FIELDS: &[&str] = &[
    "bat.batman.version",
    "bat.batman.flags.unidirectional",
    "bat.batman.flags.directlink",
    "bat.batman.ttl",
    "bat.batman.seq",
    "bat.batman.orig",
    "bat.batman.old_orig",
    "bat.batman.tq",
    "bat.batman.hna_len",
];
