//! Captures of routing protocols: tshark and our own parsers read the same values, and as many messages as the run
//! counted.

#[path = "../../../../examples/dsdv.rs"]
mod dsdv;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use multihop_core::{NodeId, Notice};
use multihop_routing_extra::olsrv2::wire as olsrv2;
use multihop_scenario::{Extensions, Scenario, Source};
use multihop_wire::{aodv, dot11, dsr, ipv4, olsr, radiotap, udp};

use crate::capture::{Capture, tshark_is_missing};
use crate::notices;
use crate::support::{Captured, Ran, events, packets, ran, ran_scenario};

/// Datagrams over a chain of three hops whose third node leaves and returns.
fn broken_chain(routing: &str) -> Ran {
    ran(&format!(
        "duration = 60.0\nrouting = {routing}\n[mac]\narp = \"oracle\"\n\
         [topology]\nkind = \"chain\"\nhops = 3\n\
         [mobility]\nkind = \"waypoints\"\n\
         waypoints = [[], [], [[20, 400, 0], [25, 400, 400], [30, 400, 400], [35, 400, 0]], []]\n\
         [[flow]]\nstart = 12.0\napp = \"cbr\"\nrate_kbps = 20.0\n"
    ))
}

/// An IP packet in a capture.
struct Packet {
    /// Whether the capture shows the packet at its transmitter.
    sent: bool,
    header: ipv4::Header,
    payload: Vec<u8>,
}

impl Packet {
    fn parse(captured: &Captured<'_>) -> Option<Self> {
        let (_, frame) = radiotap::Header::parse(captured.bytes).unwrap();
        let dot11::Frame::Data(data) = dot11::Frame::parse(frame).unwrap() else { return None };
        let (snap, packet) = dot11::Snap::parse(&data.body).unwrap();
        if snap.ethertype != ipv4::ETHERTYPE {
            return None;
        }
        let (header, payload) = ipv4::Header::parse(packet).unwrap();
        let sent = data.transmitter == NodeId(captured.interface).mac();
        Some(Self { sent, header, payload: payload.to_vec() })
    }

    /// The data of a datagram to `port`.
    fn datagram(&self, port: u16) -> Option<Vec<u8>> {
        if self.header.protocol != udp::PROTOCOL {
            return None;
        }
        let (source, destination) = (self.header.source, self.header.destination);
        let datagram = udp::Datagram::parse(&self.payload, source, destination).unwrap();
        let mut bytes = Vec::new();
        datagram.payload.emit(&mut bytes);
        (datagram.destination == port).then_some(bytes)
    }
}

/// The IP packets of a run's capture, in the order of the file.
fn ip_packets(ran: &Ran) -> Vec<Packet> {
    packets(&ran.pcap).filter_map(|captured| Packet::parse(&captured)).collect()
}

/// Counts packets of each kind. Retransmitted frames, and packets at their receivers, do not count. Packets that the MAC
/// dropped before their first data frame do.
fn count<M>(ran: &Ran, messages: &[(Packet, M)], kind: impl Fn(&M) -> &'static str) -> BTreeMap<String, u64> {
    let mut seen = BTreeSet::new();
    let mut counts = BTreeMap::new();
    for (packet, message) in messages.iter().filter(|(packet, _)| packet.sent) {
        if seen.insert(u64::from(packet.header.id)) {
            *counts.entry(kind(message).to_owned()).or_default() += 1;
        }
    }
    for dropped in events(&ran.trace).filter(|event| event.what == "D") {
        if let Some(count) = counts.get_mut(dropped.kind).filter(|_| !seen.contains(&dropped.uid)) {
            *count += 1;
        }
    }
    counts
}

fn list<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}

fn bit(flag: bool) -> String {
    u8::from(flag).to_string()
}

/// Fails if tshark reports a warning.
fn assert_no_fault(capture: &Capture, filter: &str) {
    let fields = ["frame.number", "_ws.malformed", "_ws.expert.severity", "_ws.expert.message"];
    for row in capture.read(filter, &[], &fields) {
        assert_eq!(row[1], "", "{row:?}");
        let warned = row[2].split(',').filter_map(|s| s.parse::<u32>().ok()).any(|s| s >= 0x0060_0000);
        assert!(!warned, "{row:?}");
    }
}

fn aodv_kind(message: &aodv::Message) -> &'static str {
    match message {
        aodv::Message::Request(_) => "rreq",
        aodv::Message::Reply(reply) if reply.originator == reply.destination => "hello",
        aodv::Message::Reply(_) => "rrep",
        aodv::Message::Error(_) => "rerr",
        aodv::Message::ReplyAck => "rrep-ack",
    }
}

const AODV: [&str; 18] = [
    "aodv.type",
    "aodv.flags.rreq_join",
    "aodv.flags.rreq_repair",
    "aodv.flags.rreq_gratuitous",
    "aodv.flags.rreq_destinationonly",
    "aodv.flags.rreq_unknown",
    "aodv.flags.rrep_repair",
    "aodv.flags.rrep_ack",
    "aodv.flags.rerr_nodelete",
    "aodv.hopcount",
    "aodv.rreq_id",
    "aodv.dest_ip",
    "aodv.dest_seqno",
    "aodv.orig_ip",
    "aodv.orig_seqno",
    "aodv.prefix_sz",
    "aodv.lifetime",
    "aodv.unreach_dest_ip",
];

/// The values of the fields above, as our parser reads them.
fn aodv_row(message: &aodv::Message) -> Vec<String> {
    let mut row = BTreeMap::new();
    match message {
        aodv::Message::Request(request) => {
            row.insert("aodv.type", "1".to_owned());
            row.insert("aodv.flags.rreq_join", bit(request.join));
            row.insert("aodv.flags.rreq_repair", bit(request.repair));
            row.insert("aodv.flags.rreq_gratuitous", bit(request.gratuitous));
            row.insert("aodv.flags.rreq_destinationonly", bit(request.destination_only));
            row.insert("aodv.flags.rreq_unknown", bit(request.destination_sequence.is_none()));
            row.insert("aodv.hopcount", request.hop_count.to_string());
            row.insert("aodv.rreq_id", request.id.to_string());
            row.insert("aodv.dest_ip", request.destination.to_string());
            row.insert("aodv.dest_seqno", request.destination_sequence.unwrap_or_default().0.to_string());
            row.insert("aodv.orig_ip", request.originator.to_string());
            row.insert("aodv.orig_seqno", request.originator_sequence.0.to_string());
        }
        aodv::Message::Reply(reply) => {
            row.insert("aodv.type", "2".to_owned());
            row.insert("aodv.flags.rrep_repair", bit(reply.repair));
            row.insert("aodv.flags.rrep_ack", bit(reply.ack_required));
            row.insert("aodv.prefix_sz", reply.prefix_size.to_string());
            row.insert("aodv.hopcount", reply.hop_count.to_string());
            row.insert("aodv.dest_ip", reply.destination.to_string());
            row.insert("aodv.dest_seqno", reply.destination_sequence.0.to_string());
            row.insert("aodv.orig_ip", reply.originator.to_string());
            row.insert("aodv.lifetime", reply.lifetime_ms.to_string());
        }
        aodv::Message::Error(error) => {
            row.insert("aodv.type", "3".to_owned());
            row.insert("aodv.flags.rerr_nodelete", bit(error.no_delete));
            row.insert("aodv.unreach_dest_ip", list(error.unreachable.iter().map(|u| u.destination)));
            row.insert("aodv.dest_seqno", list(error.unreachable.iter().map(|u| u.sequence.0)));
        }
        aodv::Message::ReplyAck => {
            row.insert("aodv.type", "4".to_owned());
        }
    }
    AODV.iter().map(|field| row.remove(field).unwrap_or_default()).collect()
}

#[test]
fn tshark_reads_aodv_as_we_do() {
    for (name, routing, kinds) in [
        ("aodv-ns2", "{ protocol = \"aodv\" }", &["rerr", "rrep", "rreq"][..]),
        (
            "aodv-uu",
            "{ protocol = \"aodv\", preset = \"uu\", link_failure = \"hello\" }",
            &["hello", "rerr", "rrep", "rreq"],
        ),
    ] {
        let ran = broken_chain(routing);
        let messages: Vec<_> = ip_packets(&ran)
            .into_iter()
            .filter_map(|packet| Some((packet.datagram(aodv::PORT)?, packet)))
            .map(|(bytes, packet)| (packet, aodv::Message::parse(&bytes).unwrap()))
            .collect();
        let counts = count(&ran, &messages, aodv_kind);
        assert_eq!(counts, ran.result.routing.packets, "{name}");
        assert_eq!(counts.keys().collect::<Vec<_>>(), kinds, "{name}");
        if tshark_is_missing() {
            continue;
        }
        let capture = Capture::of(ran, name);
        assert_no_fault(&capture, "aodv");
        let rows = capture.read("aodv", &[], &AODV);
        let expected: Vec<_> = messages.iter().map(|(_, message)| aodv_row(message)).collect();
        assert_eq!(rows.len(), expected.len(), "{name}");
        for (row, expected) in rows.iter().zip(&expected) {
            assert_eq!(row, expected, "{name}: {AODV:?}");
        }
    }
}

fn olsr_kind(packet: &olsr::Packet) -> &'static str {
    let floods = packet.messages.iter().any(|message| !matches!(message.body, olsr::Body::Hello(_)));
    if floods { "tc" } else { "hello" }
}

const OLSR: [&str; 12] = [
    "olsr.packet_len",
    "olsr.packet_seq_num",
    "olsr.message_type",
    "olsr.origin_addr",
    "olsr.ttl",
    "olsr.hop_count",
    "olsr.message_seq_num",
    "olsr.willingness",
    "olsr.ansn",
    "olsr.neighbor_addr",
    "olsr.vtime",
    "olsr.htime",
];

/// The values of the fields above except for the last two, as our parser reads them.
fn olsr_row(packet: &olsr::Packet) -> Vec<String> {
    let messages = &packet.messages;
    let hellos = || {
        messages.iter().filter_map(|message| match &message.body {
            olsr::Body::Hello(hello) => Some(hello),
            _ => None,
        })
    };
    let tcs = || {
        messages.iter().filter_map(|message| match &message.body {
            olsr::Body::Tc(tc) => Some(tc),
            _ => None,
        })
    };
    let neighbours = messages.iter().flat_map(|message| match &message.body {
        olsr::Body::Hello(hello) => hello.links.iter().map(|link| link.address).collect(),
        olsr::Body::Tc(tc) => tc.neighbours.clone(),
        _ => Vec::<Ipv4Addr>::new(),
    });
    let kind = |message: &olsr::Message| if matches!(message.body, olsr::Body::Hello(_)) { 1 } else { 2 };
    vec![
        packet.len().to_string(),
        packet.sequence.to_string(),
        list(messages.iter().map(kind)),
        list(messages.iter().map(|message| message.originator)),
        list(messages.iter().map(|message| message.ttl)),
        list(messages.iter().map(|message| message.hop_count)),
        list(messages.iter().map(|message| message.sequence)),
        list(hellos().map(|hello| hello.willingness.0)),
        list(tcs().map(|tc| tc.sequence)),
        list(neighbours),
    ]
}

/// Validity times and HELLO intervals, in seconds.
fn olsr_times(packet: &olsr::Packet) -> [Vec<f64>; 2] {
    let validity = packet.messages.iter().map(|message| message.validity.time().as_secs_f64());
    let intervals = packet.messages.iter().filter_map(|message| match &message.body {
        olsr::Body::Hello(hello) => Some(hello.interval.time().as_secs_f64()),
        _ => None,
    });
    [validity.collect(), intervals.collect()]
}

#[test]
fn tshark_reads_olsr_as_we_do() {
    let ran = broken_chain("{ protocol = \"olsr\" }");
    let messages: Vec<_> = ip_packets(&ran)
        .into_iter()
        .filter_map(|packet| Some((packet.datagram(olsr::PORT)?, packet)))
        .map(|(bytes, packet)| (packet, olsr::Packet::parse(&bytes).unwrap()))
        .collect();
    assert_eq!(count(&ran, &messages, olsr_kind), ran.result.routing.packets);
    assert_eq!(ran.result.routing.packets.keys().collect::<Vec<_>>(), ["hello", "tc"]);
    if tshark_is_missing() {
        return;
    }
    let capture = Capture::of(ran, "olsr");
    assert_no_fault(&capture, "olsr");
    let rows = capture.read("olsr", &[], &OLSR);
    assert_eq!(rows.len(), messages.len());
    for (row, (_, packet)) in rows.iter().zip(&messages) {
        assert_eq!(row[..10], olsr_row(packet), "{OLSR:?}");
        let seconds = |text: &String| -> Vec<f64> {
            text.split(',').filter(|s| !s.is_empty()).map(|s| s.parse().unwrap()).collect()
        };
        assert_eq!([seconds(&row[10]), seconds(&row[11])], olsr_times(packet), "{row:?}");
    }
}

fn olsrv2_kind(packet: &olsrv2::Packet) -> &'static str {
    let floods = packet.messages.iter().any(|message| matches!(message, olsrv2::Message::Tc(_)));
    if floods { "tc" } else { "hello" }
}

const OLSRV2: [&str; 11] = [
    "packetbb.seqnr",
    "packetbb.msg.type",
    "packetbb.msg.origaddr4",
    "packetbb.tlv.validitytime",
    "packetbb.msg.hoplimit",
    "packetbb.msg.hopcount",
    "packetbb.msg.seqnum",
    "packetbb.tlv.contseqnum",
    "packetbb.tlv.mprwillingnessflooding",
    "packetbb.tlv.mprwillingnessrouting",
    "packetbb.msg.addr.value4",
];

/// The values of the fields above, as our parser reads them.
fn olsrv2_row(packet: &olsrv2::Packet) -> Vec<String> {
    let hello = |message: &olsrv2::Message| match message {
        olsrv2::Message::Hello(hello) => Some(hello.clone()),
        olsrv2::Message::Tc(_) => None,
    };
    let tc = |message: &olsrv2::Message| match message {
        olsrv2::Message::Tc(tc) => Some(tc.clone()),
        olsrv2::Message::Hello(_) => None,
    };
    let hellos: Vec<_> = packet.messages.iter().filter_map(hello).collect();
    let tcs: Vec<_> = packet.messages.iter().filter_map(tc).collect();
    let heads = packet.messages.iter().map(|message| match message {
        olsrv2::Message::Hello(hello) => (0, hello.originator, hello.validity),
        olsrv2::Message::Tc(tc) => (1, tc.originator, tc.validity),
    });
    let addresses = packet.messages.iter().flat_map(|message| match message {
        olsrv2::Message::Hello(hello) => {
            let neighbours = hello.neighbours.iter().map(|neighbour| neighbour.address);
            hello.addresses.iter().copied().chain(neighbours).collect::<Vec<_>>()
        }
        olsrv2::Message::Tc(tc) => tc.advertised.links.iter().map(|&(to, _)| to).collect(),
    });
    vec![
        list(packet.sequence),
        list(heads.clone().map(|(kind, ..)| kind)),
        list(heads.clone().map(|(_, originator, _)| originator)),
        list(heads.map(|(.., validity)| format!("0x{:02x}", validity.0))),
        list(tcs.iter().map(|tc| tc.hop_limit)),
        list(tcs.iter().map(|tc| tc.hop_count)),
        list(tcs.iter().map(|tc| tc.sequence)),
        list(tcs.iter().map(|tc| format!("0x{:04x}", tc.advertised.sequence))),
        list(hellos.iter().map(|hello| hello.willingness.flooding)),
        list(hellos.iter().map(|hello| hello.willingness.routing)),
        list(addresses),
    ]
}

#[test]
fn tshark_reads_olsrv2_as_we_do() {
    let ran = broken_chain("{ protocol = \"olsrv2\" }");
    let messages: Vec<_> = ip_packets(&ran)
        .into_iter()
        .filter_map(|packet| Some((packet.datagram(olsrv2::PORT)?, packet)))
        .map(|(bytes, packet)| (packet, olsrv2::Packet::parse(&bytes).unwrap()))
        .collect();
    assert_eq!(count(&ran, &messages, olsrv2_kind), ran.result.routing.packets);
    assert_eq!(ran.result.routing.packets.keys().collect::<Vec<_>>(), ["hello", "tc"]);
    if tshark_is_missing() {
        return;
    }
    let capture = Capture::of(ran, "olsrv2");
    assert_no_fault(&capture, "packetbb");
    let rows = capture.read("packetbb", &[], &OLSRV2);
    assert_eq!(rows.len(), messages.len());
    for (row, (_, packet)) in rows.iter().zip(&messages) {
        assert_eq!(*row, olsrv2_row(packet), "{OLSRV2:?}");
    }
}

const DSR: [&str; 11] = [
    "dsr.nexthdr",
    "dsr.option.rreq.id",
    "dsr.option.rreq.targetaddress",
    "dsr.option.rreq.address",
    "dsr.option.rrep.address",
    "dsr.option.err.salvage",
    "dsr.option.err.src",
    "dsr.option.err.dest",
    "dsr.option.err.unreachablenode",
    "dsr.option.srcrt.salvage",
    "dsr.option.srcrt.segsleft",
];

/// The values of the fields above, as our parser reads them.
fn dsr_row(header: &dsr::Header) -> Vec<String> {
    let hex = |n: u8| format!("0x{n:02x}");
    let unreachable = |error: &dsr::RouteError| match error.fault {
        dsr::Fault::NodeUnreachable(node) => Some(node),
        _ => None,
    };
    vec![
        hex(header.next_header),
        list(header.request.map(|request| format!("0x{:04x}", request.id))),
        list(header.request.map(|request| request.target)),
        list(header.request.iter().flat_map(|request| request.route.iter())),
        list(header.replies.iter().flat_map(|reply| reply.route.iter())),
        list(header.errors.iter().map(|error| hex(error.salvage))),
        list(header.errors.iter().map(|error| error.source)),
        list(header.errors.iter().map(|error| error.destination)),
        list(header.errors.iter().filter_map(unreachable)),
        list(header.source_route.map(|route| hex(route.salvage))),
        list(header.source_route.map(|route| route.segments_left)),
    ]
}

fn dsr_kind(header: &dsr::Header) -> &'static str {
    match header {
        dsr::Header { request: Some(_), .. } => "rreq",
        dsr::Header { replies, .. } if !replies.is_empty() => "rrep",
        dsr::Header { errors, .. } if !errors.is_empty() => "rerr",
        _ => "data",
    }
}

#[test]
fn tshark_reads_dsr_as_we_do() {
    let ran = broken_chain("{ protocol = \"dsr\" }");
    let messages: Vec<_> = ip_packets(&ran)
        .into_iter()
        .filter(|packet| packet.header.protocol == dsr::PROTOCOL)
        .map(|packet| {
            let (header, _) = dsr::Header::parse(&packet.payload).unwrap();
            (packet, header)
        })
        .collect();
    let mut counts = count(&ran, &messages, dsr_kind);
    assert!(counts.remove("data") > Some(100));
    assert_eq!(counts, ran.result.routing.packets);
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["rerr", "rrep", "rreq"]);
    if tshark_is_missing() {
        return;
    }
    let capture = Capture::of(ran, "dsr");
    assert_no_fault(&capture, "dsr");
    let rows = capture.read("dsr", &[], &DSR);
    assert_eq!(rows.len(), messages.len());
    for (row, (_, header)) in rows.iter().zip(&messages) {
        assert_eq!(*row, dsr_row(header), "{DSR:?}");
    }
}

/// Destination, sequence number and hops of each route in a message of examples/dsdv.rs.
fn dsdv_routes(bytes: &[u8]) -> Vec<(Ipv4Addr, u32, u8)> {
    let (routes, rest) = bytes.as_chunks::<9>();
    assert!(rest.is_empty(), "{} bytes", bytes.len());
    let route = |&[a, b, c, d, e, f, g, h, hops]: &[u8; 9]| {
        (Ipv4Addr::new(a, b, c, d), u32::from_be_bytes([e, f, g, h]), hops)
    };
    routes.iter().map(route).collect()
}

#[test]
fn captures_have_the_messages_of_a_user_defined_protocol() {
    let text = include_str!("../../../../examples/dsdv.toml").to_owned();
    let source = Source::Toml { text, name: "dsdv.toml".to_owned() };
    let extensions = Extensions::default().routing::<dsdv::Dsdv>(dsdv::DSDV);
    let ran = ran_scenario(&Scenario::load_with(&source, &[], &extensions).unwrap());
    let messages: Vec<_> = ip_packets(&ran)
        .into_iter()
        .filter_map(|packet| Some((packet.datagram(650)?, packet)))
        .map(|(bytes, packet)| (packet, dsdv_routes(&bytes)))
        .collect();
    assert_eq!(count(&ran, &messages, |_| "routes"), ran.result.routing.packets);
    for (packet, routes) in &messages {
        let (destination, sequence, hops) = routes[0];
        assert_eq!(
            (destination, sequence % 2, hops),
            (packet.header.source, 0, 0),
            "the route to the sender"
        );
    }
    let ends = [NodeId(0), NodeId(3)].map(NodeId::addr);
    let to_the_end = |(packet, routes): &(Packet, Vec<(Ipv4Addr, u32, u8)>)| {
        let route = routes.iter().find(|route| route.0 == ends[1]);
        route.filter(|_| packet.header.source == ends[0]).map(|&(_, sequence, hops)| (sequence % 2, hops))
    };
    let found: BTreeSet<_> = messages.iter().filter_map(to_the_end).collect();
    assert_eq!(found, BTreeSet::from([(0, 3), (1, u8::MAX)]), "three hops, or broken with an odd number");
    let flow = &ran.result.flows[0];
    assert!(flow.segments_delivered > 50, "{} datagrams arrived", flow.segments_delivered);
    assert!(ran.result.drops.contains_key("no-route"), "{:?}", ran.result.drops);
}

#[test]
fn tshark_reads_the_quotes_in_unreachable_messages() {
    let (ran, heard) = notices::talk(&notices::chain("{ protocol = \"aodv\" }"));
    assert!(heard.iter().any(|(_, notice)| matches!(notice, Notice::LinkFailed(_))));
    if tshark_is_missing() {
        return;
    }
    let capture = Capture::of(ran, "icmp");
    assert_no_fault(&capture, "icmp");
    let rows = capture.read("icmp", &[], &["icmp.type", "icmp.code", "ip.src", "ip.dst", "ip.proto"]);
    // The message is sent once and received once: the node at the link failure notifies the source of a packet for node 3.
    let row = ["3", "1", "10.0.0.2,10.0.0.1", "10.0.0.1,10.0.0.4", "1,253"].map(String::from);
    assert_eq!(rows, [row.clone(), row]);
}
