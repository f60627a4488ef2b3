//! tshark reads path selection frames of HWMP, with the headers of management frames around them.

use multihop_routing_extra::hwmp::wire::{Error, Message, Reason, Reply, Request, Unreachable};
use multihop_wire::aodv::Sequence;

use multihop_testkit::capture::{A, B, Capture};

#[test]
fn path_requests_replies_and_errors() {
    let request = Request {
        hop_count: 2,
        ttl: 29,
        id: 258,
        originator: A.addr(),
        originator_sequence: Sequence(5),
        lifetime: 5000,
        metric: 91,
        target_only: true,
        target: B.addr(),
        target_sequence: None,
    };
    let reply = Reply {
        hop_count: 1,
        ttl: 30,
        target: B.addr(),
        target_sequence: Sequence(9),
        lifetime: 4000,
        metric: 70,
        originator: A.addr(),
        originator_sequence: Sequence(6),
    };
    let reason = Reason::DestinationUnreachable;
    let unreachable = vec![Unreachable { destination: B.addr(), sequence: Sequence(10), reason }];
    let mut capture = Capture::new("hwmp");
    for message in
        [Message::Request(request), Message::Reply(reply), Message::Error(Error { ttl: 31, unreachable })]
    {
        let mut body = Vec::new();
        message.emit(&mut body);
        action(&mut capture, &body);
    }
    let Some(rows) = capture.read(FIELDS) else { return };
    let (a, b) = ("02:00:0a:00:00:01", "02:00:0a:00:00:02");
    assert_eq!(rows[0], ["13", "0x01", "130", "2", "29", "258", a, "5", "5000", "91", "1", "1", "1", b, "0"]);
    assert_eq!(rows[1], ["13", "0x01", "131", "1", "30", "", a, "6", "4000", "70", "", "", "", b, "9"]);
    assert_eq!(rows[2], ["13", "0x01", "132", "", "31", "", "", "", "", "", "1", "", "", b, "10"]);
}

/// Adds an action frame from A to B with this body.
fn action(capture: &mut Capture, body: &[u8]) {
    let mut bytes = Vec::new();
    capture.radiotap().emit(&mut bytes);
    let control_and_duration = [0xd0, 0, 0, 0];
    let header = [&control_and_duration[..], &B.mac(), &A.mac(), &A.mac(), &[0, 0]].concat();
    let frame = [&header, body].concat();
    bytes.extend(&frame);
    bytes.extend(crc32fast::hash(&frame).to_le_bytes());
    capture.frames.push(bytes);
}

const FIELDS: &[&str] = &[
    "wlan.fixed.category_code",
    "wlan.fixed.mesh_action",
    "wlan.tag.number",
    "wlan.hwmp.hopcount",
    "wlan.hwmp.ttl",
    "wlan.hwmp.pdid",
    "wlan.hwmp.orig_sta",
    "wlan.hwmp.orig_sn",
    "wlan.hwmp.lifetime",
    "wlan.hwmp.metric",
    "wlan.hwmp.targ_count",
    "wlan.hwmp.to_flag",
    "wlan.hwmp.usn_flag",
    "wlan.hwmp.targ_sta",
    "wlan.hwmp.targ_sn",
];
