//! tshark reads DSR headers.

use std::net::Ipv4Addr;

use multihop_core::Payload;
use multihop_wire::dsr::{
    self, Ack, Addresses, Fault, Header, NO_NEXT_HEADER, RouteError, RouteReply, RouteRequest, SourceRoute,
};
use multihop_wire::{Quoted, udp};

use multihop_testkit::capture::{A, B, Capture};

const NODES: [Ipv4Addr; 3] =
    [Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(10, 0, 0, 4), Ipv4Addr::new(10, 0, 0, 5)];

fn list(nodes: &[Ipv4Addr]) -> Addresses {
    Addresses::collect(nodes.iter().copied()).expect("no more than 16")
}

fn add(capture: &mut Capture, header: &Header, payload: &[u8]) {
    let mut bytes = Vec::new();
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    capture.ip(dsr::PROTOCOL, &bytes);
}

fn source_route(salvage: u8) -> SourceRoute {
    SourceRoute {
        first_hop_external: false,
        last_hop_external: true,
        salvage,
        segments_left: 2,
        route: list(&NODES),
    }
}

#[test]
fn discovery() {
    let mut capture = Capture::new("dsr-discovery");
    let request = RouteRequest { id: 0x1234, target: NODES[2], route: list(&NODES[..2]) };
    add(&mut capture, &Header { request: Some(request), ..Header::new(NO_NEXT_HEADER) }, &[]);
    let reply = RouteReply { last_hop_external: true, route: list(&NODES) };
    let route = Some(source_route(0));
    add(
        &mut capture,
        &Header { replies: vec![reply], source_route: route, ..Header::new(NO_NEXT_HEADER) },
        &[],
    );
    let fields = [
        "dsr.nexthdr",
        "dsr.flowstate",
        "dsr.len",
        "dsr.option.type",
        "dsr.option.len",
        "dsr.option.rreq.id",
        "dsr.option.rreq.targetaddress",
        "dsr.option.rreq.address",
        "dsr.option.rrep.lasthopex",
        "dsr.option.rrep.address",
        "dsr.option.srcrt.segsleft",
    ];
    let Some(rows) = capture.read(&fields) else { return };
    let passed = "10.0.0.3,10.0.0.4";
    assert_eq!(rows[0], ["0x3b", "0", "16", "1", "14", "0x1234", "10.0.0.5", passed, "", "", ""]);
    let way = "10.0.0.3,10.0.0.4,10.0.0.5";
    assert_eq!(rows[1], ["0x3b", "0", "31", "2,96", "13,14", "", "", "", "1", way, "2"]);
}

#[test]
fn maintenance() {
    let mut capture = Capture::new("dsr-maintenance");
    let error = RouteError {
        salvage: 3,
        source: NODES[0],
        destination: NODES[1],
        fault: Fault::NodeUnreachable(NODES[2]),
        quoted: Some(Quoted { source: NODES[0], destination: NODES[1], protocol: 6, transport: [1; 20] }),
    };
    let ack = Ack { id: 7, source: NODES[0], destination: NODES[1] };
    let header = Header {
        errors: vec![error],
        ack_request: Some(6),
        acks: vec![ack],
        source_route: Some(source_route(0)),
        ..Header::new(NO_NEXT_HEADER)
    };
    add(&mut capture, &header, &[]);
    let fields = [
        "dsr.option.type",
        "dsr.option.err.type",
        "dsr.option.err.salvage",
        "dsr.option.err.src",
        "dsr.option.err.dest",
        "dsr.option.err.unreachablenode",
        "dsr.option.ackreq.id",
        "dsr.option.ack.id",
        "dsr.option.ack.source",
        "dsr.option.ack.dest",
    ];
    let Some(rows) = capture.read(&fields) else { return };
    let [a, b, c] = ["10.0.0.3", "10.0.0.4", "10.0.0.5"];
    assert_eq!(rows[0], ["3,160,32,96", "1", "0x03", a, b, c, "0x0006", "0x0007", a, b]);
}

#[test]
fn data_behind_a_source_route() {
    let mut capture = Capture::new("dsr-data");
    let datagram = udp::Datagram { source: 5_000, destination: 9, payload: Payload::Virtual(100) };
    let mut bytes = Vec::new();
    datagram.emit(A.addr(), B.addr(), &mut bytes);
    let header = Header { source_route: Some(source_route(9)), ..Header::new(udp::PROTOCOL) };
    add(&mut capture, &header, &bytes);
    let fields = [
        "dsr.nexthdr",
        "dsr.option.srcrt.firsthopext",
        "dsr.option.srcrt.lasthopext",
        "dsr.option.srcrt.salvage",
        "dsr.option.srcrt.segsleft",
        "udp.srcport",
        "udp.length",
    ];
    let Some(rows) = capture.read(&fields) else { return };
    assert_eq!(rows[0], ["0x11", "0", "1", "0x09", "2", "5000", "108"]);
}
