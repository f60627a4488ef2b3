//! tshark reads AODV messages.

use multihop_core::Payload;
use multihop_wire::aodv::{Error, Message, PORT, Reply, Request, Sequence, Unreachable};
use multihop_wire::udp;

use multihop_testkit::capture::{A, B, Capture};

#[test]
fn every_message_of_aodv() {
    let mut capture = Capture::new("aodv");
    for message in messages() {
        let mut payload = Vec::new();
        message.emit(&mut payload);
        let datagram = udp::Datagram { source: PORT, destination: PORT, payload: Payload::Bytes(payload) };
        let mut bytes = Vec::new();
        datagram.emit(A.addr(), B.addr(), &mut bytes);
        capture.ip(udp::PROTOCOL, &bytes);
    }
    let Some(rows) = capture.read(&[REQUEST, REPLY, ERROR].concat()) else { return };
    let filled: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| row.iter().map(String::as_str).filter(|value| !value.is_empty()).collect())
        .collect();
    assert_eq!(
        filled[0],
        ["1", "1", "0", "1", "0", "1", "3", "16909060", "10.0.0.2", "0", "10.0.0.1", "4294967295"]
    );
    assert_eq!(
        filled[1],
        ["1", "0", "1", "0", "1", "0", "255", "1", "10.0.0.2", "77", "10.0.0.1", "4294967295"]
    );
    assert_eq!(filled[2], ["2", "2", "10.0.0.2", "4294967294", "10.0.0.1", "0", "1", "24", "10000"]);
    assert_eq!(filled[3], ["3", "7,4294967295", "1", "2", "10.0.0.1,10.0.0.2"]);
    assert_eq!(filled[4], ["4"]);
}

fn messages() -> [Message; 5] {
    let request = Request {
        join: true,
        repair: false,
        gratuitous: true,
        destination_only: false,
        hop_count: 3,
        id: 0x0102_0304,
        destination: B.addr(),
        destination_sequence: None,
        originator: A.addr(),
        originator_sequence: Sequence(u32::MAX),
    };
    let other = Request {
        join: false,
        repair: true,
        gratuitous: false,
        destination_only: true,
        hop_count: 255,
        id: 1,
        destination_sequence: Some(Sequence(77)),
        ..request
    };
    let reply = Reply {
        repair: false,
        ack_required: true,
        prefix_size: 24,
        hop_count: 2,
        destination: B.addr(),
        destination_sequence: Sequence(u32::MAX - 1),
        originator: A.addr(),
        lifetime_ms: 10_000,
    };
    let unreachable = vec![
        Unreachable { destination: A.addr(), sequence: Sequence(7) },
        Unreachable { destination: B.addr(), sequence: Sequence(u32::MAX) },
    ];
    [
        Message::Request(request),
        Message::Request(other),
        Message::Reply(reply),
        Message::Error(Error { no_delete: true, unreachable }),
        Message::ReplyAck,
    ]
}

const REQUEST: &[&str] = &[
    "aodv.type",
    "aodv.flags.rreq_join",
    "aodv.flags.rreq_repair",
    "aodv.flags.rreq_gratuitous",
    "aodv.flags.rreq_destinationonly",
    "aodv.flags.rreq_unknown",
    "aodv.hopcount",
    "aodv.rreq_id",
    "aodv.dest_ip",
    "aodv.dest_seqno",
    "aodv.orig_ip",
    "aodv.orig_seqno",
];

const REPLY: &[&str] = &["aodv.flags.rrep_repair", "aodv.flags.rrep_ack", "aodv.prefix_sz", "aodv.lifetime"];

const ERROR: &[&str] = &["aodv.flags.rerr_nodelete", "aodv.destcount", "aodv.unreach_dest_ip"];
