use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::testing::{Damage, damage};

fn code() -> impl Strategy<Value = LinkCode> {
    (0..16_u8).prop_filter_map("valid", LinkCode::parse)
}

/// An address of which proptest makes values.
trait AnyAddress: Address + Arbitrary + 'static {}

impl AnyAddress for Ipv4Addr {}
impl AnyAddress for Ipv6Addr {}

fn body<A: AnyAddress>() -> impl Strategy<Value = Body<A>> {
    let address = any::<A>;
    let link = (code(), address()).prop_map(|(code, address)| HelloLink { code, address });
    let report = proptest::option::of(report::<A>().prop_map(Box::new));
    let hello =
        (any::<(u8, u8)>(), vec(link, 0..12), report).prop_map(|((interval, willingness), links, report)| {
            Hello { interval: TimeCode(interval), willingness: Willingness(willingness), links, report }
        });
    let costs = (any::<u16>(), quantity(), vec(any::<u32>(), 0..8))
        .prop_map(|(sequence, quantity, costs)| Costs { sequence, quantity, costs });
    let tc =
        (any::<u16>(), vec(address(), 0..8)).prop_map(|(sequence, neighbours)| Tc { sequence, neighbours });
    prop_oneof![
        hello.prop_map(Body::Hello),
        tc.prop_map(|tc| Body::Tc(Arc::new(tc))),
        vec(address(), 0..5).prop_map(|interfaces| Body::Mid(Mid { interfaces })),
        costs.prop_map(|costs| Body::Costs(Arc::new(costs))),
        vec((address(), address()), 0..5).prop_map(|networks| Body::Hna(Hna { networks })),
        (5..=255_u8, vec(any::<u8>(), 0..40)).prop_filter_map("not of another kind", |(kind, bytes)| {
            Opaque::new(kind, bytes).map(Body::Opaque)
        }),
    ]
}

fn quantity() -> impl Strategy<Value = Quantity> {
    any::<u8>().prop_map(Quantity)
}

fn report<A: AnyAddress>() -> impl Strategy<Value = Report<A>> {
    let address = any::<A>;
    let echo = (address(), any::<u32>(), any::<u32>()).prop_map(|(address, stamp, arrived)| Echo {
        address,
        stamp,
        arrived,
    });
    (any::<(u16, u32)>(), quantity(), vec((address(), any::<u32>()), 0..5), vec(echo, 0..4)).prop_map(
        |((number, stamp), quantity, heard, echoes)| Report { number, quantity, stamp, heard, echoes },
    )
}

fn packet<A: AnyAddress>() -> impl Strategy<Value = Packet<A>> {
    let message = (any::<(u8, A, u8, u8, u16)>(), body()).prop_map(
        |((validity, originator, ttl, hop_count, sequence), body)| Message {
            validity: TimeCode(validity),
            originator,
            ttl,
            hop_count,
            sequence,
            body,
        },
    );
    (any::<u16>(), vec(message, 0..4)).prop_map(|(sequence, messages)| Packet { sequence, messages })
}

fn emitted<A: Address>(packet: &Packet<A>) -> Vec<u8> {
    let mut out = Vec::new();
    packet.emit(&mut out);
    out
}

fn hello_with(groups: &[u8]) -> Vec<u8> {
    let size = u8::try_from(16 + groups.len()).unwrap();
    let mut bytes = vec![0, size + 4, 0, 9, 1, 0x86, 0, size, 10, 0, 0, 1, 1, 0, 0, 5, 0, 0, 5, 3];
    bytes.extend(groups);
    bytes
}

fn links(groups: &[u8]) -> Result<Vec<HelloLink>, ParseError> {
    let packet = Packet::parse(&hello_with(groups))?;
    let Body::Hello(hello) = packet.messages.into_iter().next().unwrap().body else { panic!("a HELLO") };
    Ok(hello.links)
}

#[test]
fn known_bytes_of_a_hello() {
    let bytes = hello_with(&[10, 0, 0, 8, 10, 0, 0, 2, 1, 0, 0, 12, 10, 0, 0, 3, 10, 0, 0, 4]);
    let asymmetric = |address: [u8; 4]| HelloLink {
        code: LinkCode::Asymmetric(NeighbourType::Not),
        address: Ipv4Addr::from(address),
    };
    let packet = Packet {
        sequence: 9,
        messages: vec![Message {
            validity: TimeCode::at_least(Duration::from_secs(6)),
            originator: [10, 0, 0, 1].into(),
            ttl: 1,
            hop_count: 0,
            sequence: 5,
            body: Body::Hello(Hello {
                interval: TimeCode::at_least(Duration::from_secs(2)),
                willingness: Willingness::DEFAULT,
                links: vec![
                    HelloLink { code: LinkCode::Symmetric { mpr: true }, address: [10, 0, 0, 2].into() },
                    asymmetric([10, 0, 0, 3]),
                    asymmetric([10, 0, 0, 4]),
                ],
                report: None,
            }),
        }],
    };
    assert_eq!(emitted(&packet), bytes);
    assert_eq!(Packet::parse(&bytes), Ok(packet));
}

#[test]
fn known_bytes_of_a_tc() {
    let bytes =
        [0, 28, 0, 2, 2, 0xe7, 0, 24, 10, 0, 0, 1, 255, 0, 0, 7, 1, 2, 0, 0, 10, 0, 0, 2, 10, 0, 0, 3];
    let tc: Tc = Tc { sequence: 0x102, neighbours: vec![[10, 0, 0, 2].into(), [10, 0, 0, 3].into()] };
    let packet = Packet {
        sequence: 2,
        messages: vec![Message {
            validity: TimeCode::at_least(Duration::from_secs(15)),
            originator: [10, 0, 0, 1].into(),
            ttl: 255,
            hop_count: 0,
            sequence: 7,
            body: Body::Tc(Arc::new(tc)),
        }],
    };
    assert_eq!(emitted(&packet), bytes);
    assert_eq!(Packet::parse(&bytes), Ok(packet));
}

#[test]
fn known_bytes_of_a_report() {
    let groups = [
        &[16, 0, 0, 20, 0, 7, 0, 0, 0, 0, 1, 2, 10, 0, 0, 2, 0, 0, 3, 4][..],
        &[17, 0, 0, 16, 10, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6],
    ];
    let bytes = hello_with(&groups.concat());
    let packet = <Packet>::parse(&bytes).unwrap();
    let Body::Hello(hello) = &packet.messages[0].body else { panic!("a HELLO") };
    let address = [10, 0, 0, 2].into();
    let report = Report {
        number: 7,
        quantity: Quantity(0),
        stamp: 0x102,
        heard: vec![(address, 0x304)],
        echoes: vec![Echo { address, stamp: 5, arrived: 6 }],
    };
    assert_eq!((&hello.links, &hello.report), (&vec![], &Some(Box::new(report))));
    assert_eq!(emitted(&packet), bytes);
}

#[test]
fn known_bytes_of_costs() {
    let bytes =
        [0, 28, 0, 2, 144, 0xe7, 0, 24, 10, 0, 0, 1, 255, 0, 0, 7, 1, 2, 1, 0, 0, 0, 3, 4, 0, 0, 0, 5];
    let packet = <Packet>::parse(&bytes).unwrap();
    let costs = Costs { sequence: 0x102, quantity: Quantity(1), costs: vec![0x304, 5] };
    assert_eq!(packet.messages[0].body, Body::Costs(Arc::new(costs)));
    assert_eq!(emitted(&packet), bytes);
}

#[test]
fn invalid_and_unknown_link_codes_are_ignored() {
    let good = [6, 0, 0, 8, 10, 0, 0, 2];
    // A symmetric link to a non-neighbour, neighbour type 3, and codes above 15.
    for bad in [[2, 0, 0, 8, 1, 2, 3, 4], [13, 0, 0, 8, 1, 2, 3, 4], [16, 0, 0, 8, 1, 2, 3, 4]] {
        let expected = HelloLink { code: LinkCode::Symmetric { mpr: false }, address: [10, 0, 0, 2].into() };
        assert_eq!(links(&[bad, good].concat()), Ok(vec![expected]));
    }
    assert_eq!(links(&[200, 0, 0, 5, 7]), Ok(vec![]));
    let odd = ParseError::Field { name: "size of addresses", found: 1, allowed: "a multiple of 4" };
    assert_eq!(links(&[6, 0, 0, 5, 7]), Err(odd));
}

#[test]
fn lengths_are_checked() {
    let tc = [0, 20, 0, 2, 2, 0xe7, 0, 16, 10, 0, 0, 1, 255, 0, 0, 7, 1, 2, 0, 0];
    assert!(<Packet>::parse(&tc).is_ok());
    let mut short = tc;
    short[7] = 11;
    let expected = ParseError::Field { name: "message size", found: 11, allowed: "12 or more" };
    assert_eq!(<Packet>::parse(&short), Err(expected));
    short[7] = 17;
    assert_eq!(<Packet>::parse(&short), Err(ParseError::Truncated { found: 16, needed: 17 }));
    short[1] = 3;
    let expected = ParseError::Field { name: "packet length", found: 3, allowed: "4 or more" };
    assert_eq!(<Packet>::parse(&short), Err(expected));
}

#[test]
fn kinds_of_the_core_protocol_are_not_opaque() {
    for kind in 0..=255 {
        assert_eq!(Opaque::new(kind, vec![]).is_none(), matches!(kind, 1..=4 | 144), "{kind}");
    }
}

#[test]
fn times_of_the_rfc() {
    // RFC 3626 §18.3.
    for (seconds, a, b) in [(2, 0, 5), (6, 8, 6), (15, 14, 7), (30, 14, 8)] {
        let code = TimeCode::at_least(Duration::from_secs(seconds));
        assert_eq!(code, TimeCode(a << 4 | b));
        assert_eq!(code.time(), Duration::from_secs(seconds));
    }
}

#[test]
fn every_time_code() {
    let mut codes: Vec<TimeCode> = (0..=255).map(TimeCode).collect();
    codes.sort_by_key(|code| code.time());
    assert_eq!(codes[0].time(), Duration::from_micros(62_500));
    assert_eq!(codes[255].time(), Duration::from_secs(3_968));
    for code in &codes {
        let (a, b) = (f64::from(code.0 >> 4), i32::from(code.0 & 15));
        let exact = (1.0 + a / 16.0) * 2_f64.powi(b) / 16.0;
        assert_eq!(code.time(), Duration::from_secs_f64(exact));
        assert_eq!(TimeCode::at_least(code.time()), *code);
    }
    for pair in codes.windows(2) {
        let above = pair[0].time() + Duration::from_nanos(1);
        assert_eq!(TimeCode::at_least(above), pair[1]);
    }
    assert_eq!(TimeCode::at_least(Duration::ZERO), TimeCode(0));
    assert_eq!(TimeCode::at_least(Duration::MAX), TimeCode(255));
}

#[test]
fn known_bytes_of_messages_with_addresses_of_ipv6() {
    let address = |last: u8| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let header = |kind: u8, size: u8| [&[kind, 0x86, 0, size][..], &address(1), &[1, 0, 0, 5]].concat();
    let mut ones = [0xff; 16];
    ones[15] = 0;
    for (kind, content) in [
        (
            1,
            [&[0, 0, 5, 3, 10, 0, 0, 20][..], &address(2), &[1, 0, 0, 36], &address(3), &address(4)].concat(),
        ),
        (1, [&[0, 0, 5, 3, 16, 0, 0, 32, 0, 7, 0, 0, 0, 0, 1, 2][..], &address(2), &[0, 0, 3, 4]].concat()),
        (2, [&[1, 2, 0, 0][..], &address(2), &address(3)].concat()),
        (3, address(9).to_vec()),
        (4, [address(0), ones].concat()),
        (144, vec![1, 2, 1, 0, 0, 0, 3, 4, 0, 0, 0, 5]),
        (99, vec![1, 2, 3]),
    ] {
        let size = u8::try_from(24 + content.len()).unwrap();
        let bytes = [&[0, size + 4, 0, 9][..], &header(kind, size), &content].concat();
        let packet = Packet::<Ipv6Addr>::parse(&bytes).unwrap();
        let [message] = &packet.messages[..] else { panic!("one message") };
        assert_eq!((message.originator.octets(), message.sequence), (address(1), 5));
        let network = |last: u8| Ipv6Addr::from(address(last));
        match &message.body {
            Body::Hello(Hello { links, report: None, .. }) => {
                let far: Vec<_> = links.iter().map(|link| link.address).collect();
                assert_eq!(far, [network(2), network(3), network(4)]);
            }
            Body::Hello(Hello { report, .. }) => {
                assert_eq!(report.as_ref().unwrap().heard, [(network(2), 0x304)]);
            }
            Body::Tc(tc) => {
                assert_eq!((tc.sequence, &tc.neighbours[..]), (0x102, &[network(2), network(3)][..]))
            }
            Body::Mid(mid) => assert_eq!(mid.interfaces, [network(9)]),
            Body::Hna(hna) => assert_eq!(hna.networks, [(network(0), ones.into())]),
            Body::Costs(costs) => assert_eq!(costs.costs, [0x304, 5]),
            Body::Opaque(opaque) => assert_eq!(opaque.bytes(), [1, 2, 3]),
        }
        assert_eq!(emitted(&packet), bytes);
    }
    let short = [&[0, 28, 0, 9][..], &header(3, 23)].concat();
    let expected = ParseError::Field { name: "message size", found: 23, allowed: "24 or more" };
    assert_eq!(Packet::<Ipv6Addr>::parse(&short), Err(expected));
    let odd = [&[0, 32, 0, 9][..], &header(3, 28), &[10, 0, 0, 1]].concat();
    let expected = ParseError::Field { name: "size of addresses", found: 4, allowed: "a multiple of 16" };
    assert_eq!(Packet::<Ipv6Addr>::parse(&odd), Err(expected));
}

fn survives<A: Address>(bytes: &[u8], packet: &Packet<A>, damage: &Damage) {
    let _ = Packet::<A>::parse(bytes);
    let mut bytes = emitted(packet);
    damage.apply(&mut bytes);
    let _ = Packet::<A>::parse(&bytes);
}

fn comes_back<A: Address>(packet: &Packet<A>) -> Result<(), TestCaseError> {
    let bytes = emitted(packet);
    prop_assert_eq!(bytes.len(), packet.len());
    prop_assert_eq!(&Packet::parse(&bytes).unwrap(), packet);
    Ok(())
}

proptest! {
    #[test]
    fn parse_undoes_emit(four in packet::<Ipv4Addr>(), six in packet::<Ipv6Addr>()) {
        comes_back(&four)?;
        comes_back(&six)?;
    }

    #[test]
    fn parse_never_panics(
        bytes in any::<Vec<u8>>(),
        four in packet::<Ipv4Addr>(),
        six in packet::<Ipv6Addr>(),
        damage in damage(),
    ) {
        survives(&bytes, &four, &damage);
        survives(&bytes, &six, &damage);
    }

    #[test]
    fn other_addresses_change_nothing_else(packet in packet::<Ipv4Addr>()) {
        for message in &packet.messages {
            let long = message.readdress(&mut |address| Some(address.to_ipv6_mapped())).unwrap();
            prop_assert_eq!(&long.readdress(&mut |address| address.to_ipv4_mapped()).unwrap(), message);
            let addresses = std::cell::Cell::new(0);
            let _ = message.readdress(&mut |address| { addresses.set(addresses.get() + 1); Some(address) });
            prop_assert_eq!(long.len(), message.len() + 12 * addresses.get());
            prop_assert_eq!(message.readdress(&mut |_| None::<Ipv6Addr>), None);
        }
    }
}
