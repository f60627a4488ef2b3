use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::testing::damage;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const C: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);

fn list(addresses: &[Ipv4Addr]) -> Addresses {
    Addresses::collect(addresses.iter().copied()).unwrap()
}

fn emitted(header: &Header) -> Vec<u8> {
    let mut out = Vec::new();
    header.emit(&mut out);
    assert_eq!(out.len(), header.wire_len());
    out
}

#[track_caller]
fn check(header: &Header, options: &[u8]) {
    let len = u8::try_from(options.len()).unwrap();
    let mut expected = vec![header.next_header, 0, 0, len];
    expected.extend_from_slice(options);
    assert_eq!(emitted(header), expected);
    assert_eq!(Header::parse(&expected), Ok((header.clone(), &[][..])));
}

fn refused(options: &[u8]) -> ParseError {
    let mut bytes = vec![NO_NEXT_HEADER, 0, 0, u8::try_from(options.len()).unwrap()];
    bytes.extend_from_slice(options);
    Header::parse(&bytes).unwrap_err()
}

fn no_payload() -> Header {
    Header::new(NO_NEXT_HEADER)
}

#[test]
fn route_request_as_in_section_6_2() {
    let request = RouteRequest { id: 0x1234, target: C, route: list(&[A, B]) };
    let header = Header { request: Some(request), ..no_payload() };
    check(&header, &[1, 14, 0x12, 0x34, 10, 0, 0, 3, 10, 0, 0, 1, 10, 0, 0, 2]);
}

#[test]
fn route_reply_as_in_section_6_3() {
    let reply = RouteReply { last_hop_external: true, route: list(&[B, C]) };
    let header = Header { replies: vec![reply], ..no_payload() };
    check(&header, &[2, 9, 0x80, 10, 0, 0, 2, 10, 0, 0, 3]);
}

#[test]
fn route_error_as_in_section_6_4() {
    let error = |fault| RouteError { salvage: 3, source: B, destination: A, fault, quoted: None };
    let header = |fault| Header { errors: vec![error(fault)], ..no_payload() };
    check(&header(Fault::NodeUnreachable(C)), &[3, 14, 1, 3, 10, 0, 0, 2, 10, 0, 0, 1, 10, 0, 0, 3]);
    check(&header(Fault::FlowStateNotSupported), &[3, 10, 2, 3, 10, 0, 0, 2, 10, 0, 0, 1]);
    check(&header(Fault::OptionNotSupported(99)), &[3, 11, 3, 3, 10, 0, 0, 2, 10, 0, 0, 1, 99]);
}

#[test]
fn a_route_error_quotes_the_packet_in_an_extension() {
    let quoted = Quoted { source: A, destination: C, protocol: 6, transport: [9; 20] };
    let fault = Fault::NodeUnreachable(C);
    let error = RouteError { salvage: 0, source: B, destination: A, fault, quoted: Some(quoted) };
    let mut options = vec![3, 44, 1, 0, 10, 0, 0, 2, 10, 0, 0, 1, 10, 0, 0, 3];
    options.extend([6, 0, 10, 0, 0, 1, 10, 0, 0, 3]);
    options.extend([9; 20]);
    check(&Header { errors: vec![error], ..no_payload() }, &options);
    // An extension of another length is ignored.
    options.pop();
    options[1] -= 1;
    options.splice(0..0, [NO_NEXT_HEADER, 0, 0, 45]);
    let (header, _) = Header::parse(&options).unwrap();
    assert_eq!(header.errors, [RouteError { quoted: None, ..error }]);
}

#[test]
fn acknowledgements_as_in_sections_6_5_and_6_6() {
    check(&Header { ack_request: Some(0x0102), ..no_payload() }, &[160, 2, 1, 2]);
    let ack = Ack { id: 7, source: A, destination: B };
    check(&Header { acks: vec![ack], ..no_payload() }, &[32, 10, 0, 7, 10, 0, 0, 1, 10, 0, 0, 2]);
}

#[test]
fn source_route_as_in_section_6_7() {
    let route = SourceRoute {
        first_hop_external: true,
        last_hop_external: false,
        salvage: 5,
        segments_left: 1,
        route: list(&[B, C]),
    };
    let header = Header { source_route: Some(route), ..Header::new(6) };
    // 1 0 0000 0101 000001
    check(&header, &[96, 10, 0x81, 0x41, 10, 0, 0, 2, 10, 0, 0, 3]);
}

#[test]
fn padding_and_options_that_may_be_removed_are_skipped() {
    // Pad1, PadN, a timeout of flow state (128), an option to be skipped (30), then the route.
    let options = [224, 0, 2, 9, 9, 128, 2, 0, 60, 30, 1, 5, 224, 96, 2, 0, 0];
    let mut bytes = vec![17, 0, 0, u8::try_from(options.len()).unwrap()];
    bytes.extend_from_slice(&options);
    bytes.extend_from_slice(b"data");
    let (header, payload) = Header::parse(&bytes).unwrap();
    let route = SourceRoute {
        first_hop_external: false,
        last_hop_external: false,
        salvage: 0,
        segments_left: 0,
        route: Addresses::EMPTY,
    };
    assert_eq!(header, Header { source_route: Some(route), ..Header::new(17) });
    assert_eq!(payload, b"data");
}

#[test]
fn refusals_say_why() {
    let field = |name, found, allowed| ParseError::Field { name, found, allowed };
    assert_eq!(Header::parse(&[6, 0x80, 0, 0]), Err(field("flow state header", 1, "0")));
    assert_eq!(refused(&[96, 2, 0, 1]), field("segments left", 1, "up to the number of addresses"));
    assert_eq!(refused(&[160, 2, 0, 1, 160, 2, 0, 1]), field("acknowledgement request", 2, "1"));
    assert!(matches!(refused(&[97, 0]), ParseError::Field { name: "option type", found: 97, .. }));
    let mut long = vec![2, 1 + 17 * 4, 0];
    long.extend([7; 17 * 4]);
    assert_eq!(refused(&long), field("number of addresses", 17, "up to 16"));
    assert_eq!(refused(&[2, 3, 0, 1, 2]), ParseError::Truncated { found: 3, needed: 5 });
    assert_eq!(refused(&[1, 9, 0]), ParseError::Truncated { found: 3, needed: 11 });
    assert_eq!(Header::parse(&[6, 0, 0, 4, 0, 1]), Err(ParseError::Truncated { found: 6, needed: 8 }));
}

#[test]
fn accounted_lengths_are_those_of_ns2() {
    // hdr_sr.h: 4, 4 (n - 1) for n nodes with both ends, 8 for a request, 5 + 4 n for a reply of n
    // nodes, 16 for an error, rounded up to 4.
    let way = |nodes: &[Ipv4Addr], salvage| SourceRoute {
        first_hop_external: false,
        last_hop_external: false,
        salvage,
        segments_left: 0,
        route: list(nodes),
    };
    let data = Header { source_route: Some(way(&[A, B], 0)), ..Header::new(6) };
    assert_eq!((data.accounted_len(), data.wire_len()), (4 + 4 * 3, 16));
    let salvaged = Header { source_route: Some(way(&[A, B], 1)), ..Header::new(6) };
    assert_eq!((salvaged.accounted_len(), salvaged.wire_len()), (4 + 4 * 2, 16));
    let request = RouteRequest { id: 1, target: C, route: list(&[A]) };
    let request = Header { request: Some(request), ..no_payload() };
    assert_eq!((request.accounted_len(), request.wire_len()), (4 + 8 + 4, 16));
    let reply = RouteReply { last_hop_external: false, route: list(&[B, C]) };
    let reply = Header { replies: vec![reply], source_route: Some(way(&[B], 0)), ..no_payload() };
    // 4 + 4 * 2 + 5 + 4 * 3 = 29
    assert_eq!((reply.accounted_len(), reply.wire_len()), (32, 4 + 11 + 8));
    for header in [data, salvaged] {
        let route = header.source_route.unwrap();
        assert_eq!(route.wire_len(), header.wire_len());
        assert_eq!(route.accounted_len(), header.accounted_len());
    }
}

#[test]
fn a_source_route_names_its_receiver() {
    let route = |segments_left| SourceRoute {
        first_hop_external: false,
        last_hop_external: false,
        salvage: 0,
        segments_left,
        route: list(&[A, B]),
    };
    assert_eq!([0, 1, 2, 3].map(|left| route(left).receiver(C)), [Some(C), Some(B), Some(A), None]);
}

fn addresses() -> impl Strategy<Value = Addresses> {
    vec(any::<Ipv4Addr>(), 0..=Addresses::MAX).prop_map(|addresses| list(&addresses))
}

fn route_error() -> impl Strategy<Value = RouteError> {
    let fault = prop_oneof![
        any::<Ipv4Addr>().prop_map(Fault::NodeUnreachable),
        Just(Fault::FlowStateNotSupported),
        any::<u8>().prop_map(Fault::OptionNotSupported),
    ];
    let quoted = any::<Option<(u8, Ipv4Addr, Ipv4Addr, [u8; 20])>>().prop_map(|quoted| {
        quoted.map(|(protocol, source, destination, transport)| Quoted {
            source,
            destination,
            protocol,
            transport,
        })
    });
    (0..16_u8, any::<(Ipv4Addr, Ipv4Addr)>(), fault, quoted).prop_map(
        |(salvage, (source, destination), fault, quoted)| RouteError {
            salvage,
            source,
            destination,
            fault,
            quoted,
        },
    )
}

fn source_route() -> impl Strategy<Value = SourceRoute> {
    (any::<(bool, bool)>(), 0..16_u8, any::<u8>(), addresses()).prop_map(
        |((first_hop_external, last_hop_external), salvage, left, route)| SourceRoute {
            first_hop_external,
            last_hop_external,
            salvage,
            segments_left: left % u8::try_from(route.len() + 1).unwrap(),
            route,
        },
    )
}

prop_compose! {
    fn header()(
        next_header: u8,
        request in proptest::option::of((any::<(u16, Ipv4Addr)>(), addresses())),
        replies in vec((any::<bool>(), addresses()), 0..3),
        errors in vec(route_error(), 0..4),
        ack_request: Option<u16>,
        acks in vec(any::<(u16, Ipv4Addr, Ipv4Addr)>(), 0..3),
        source_route in proptest::option::of(source_route()),
    ) -> Header {
        Header {
            next_header,
            request: request.map(|((id, target), route)| RouteRequest { id, target, route }),
            replies: replies
                .into_iter()
                .map(|(last_hop_external, route)| RouteReply { last_hop_external, route })
                .collect(),
            errors,
            ack_request,
            acks: acks
                .into_iter()
                .map(|(id, source, destination)| Ack { id, source, destination })
                .collect(),
            source_route,
        }
    }
}

proptest! {
    #[test]
    fn parse_undoes_emit(header in header(), payload in any::<Vec<u8>>()) {
        let mut packet = emitted(&header);
        packet.extend_from_slice(&payload);
        prop_assert_eq!(Header::parse(&packet), Ok((header, &payload[..])));
    }

    #[test]
    fn parse_never_panics(bytes in any::<Vec<u8>>(), header in header(), damage in damage()) {
        let _ = Header::parse(&bytes);
        let mut packet = emitted(&header);
        damage.apply(&mut packet);
        if let Ok((header, _)) = Header::parse(&packet) {
            let again = emitted(&header);
            prop_assert_eq!(Header::parse(&again), Ok((header, &[][..])));
        }
    }
}
