use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use multihop_testkit::damage::damage;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const OTHER: RouterId = RouterId([1, 2, 3, 4, 5, 6, 7, 8]);

fn emitted(tlvs: Vec<Tlv>) -> Vec<u8> {
    let mut out = Vec::new();
    Packet { tlvs }.emit(&mut out);
    out
}

/// Parses a packet with this body into TLVs.
#[track_caller]
fn parsed(body: &[u8]) -> Vec<Tlv> {
    let len = u8::try_from(body.len()).unwrap();
    Packet::parse(&[&[42, 2, 0, len], body].concat()).unwrap().tlvs
}

fn update(host: Ipv4Addr, offer: Option<(RouterId, u16)>) -> Update {
    Update {
        prefix: Prefix::host(host),
        next_hop: None,
        interval: Centis(1600),
        seqno: Seqno(7),
        offer: offer.map(|(router_id, metric)| Offer { router_id, metric }),
        channels: None,
    }
}

#[test]
fn known_bytes() {
    let hello = Hello { unicast: false, seqno: Seqno(258), interval: Centis(400), timestamp: Some(9) };
    let ihu = Ihu {
        address: Some(B.into()),
        rxcost: 256,
        interval: Centis(1200),
        echo: Some(Echo { origin: 1, receive: 2 }),
    };
    assert_eq!(
        emitted(alloc::vec![Tlv::Hello(hello), Tlv::Ihu(ihu)]),
        [
            &[42, 2, 0, 36][..],
            &[4, 12, 0, 0, 1, 2, 1, 0x90, 3, 4, 0, 0, 0, 9],
            &[5, 20, 1, 0, 1, 0, 4, 0xb0, 10, 0, 0, 2, 3, 8, 0, 0, 0, 1, 0, 0, 0, 2],
        ]
        .concat()
    );
    let updates = [
        update(A, Some((RouterId::of(A), 0))),
        update(B, Some((OTHER, 300))),
        update(A, Some((OTHER, 301))),
        update(B, None),
    ];
    assert_eq!(
        emitted(updates.map(Tlv::Update).to_vec()),
        [
            &[42, 2, 0, 76][..],
            &[8, 14, 1, 0x40, 32, 0, 6, 0x40, 0, 7, 0, 0, 10, 0, 0, 1],
            &[6, 10, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
            &[8, 14, 1, 0, 32, 0, 6, 0x40, 0, 7, 1, 44, 10, 0, 0, 2],
            &[8, 14, 1, 0, 32, 0, 6, 0x40, 0, 7, 1, 45, 10, 0, 0, 1],
            &[8, 14, 1, 0, 32, 0, 6, 0x40, 0, 7, 255, 255, 10, 0, 0, 2],
        ]
        .concat()
    );
    let request = SeqnoRequest { prefix: Prefix::host(B), seqno: Seqno(8), hop_count: 64, router_id: OTHER };
    let net = Prefix::new(A, 12);
    assert_eq!(
        emitted(alloc::vec![Tlv::SeqnoRequest(request), Tlv::RouteRequest(net), Tlv::RouteRequest(None)]),
        [
            &[42, 2, 0, 30][..],
            &[10, 18, 1, 32, 0, 8, 64, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 0, 0, 2],
            &[9, 4, 1, 12, 10, 0],
            &[9, 2, 0, 0],
        ]
        .concat()
    );
}

#[test]
fn updates_name_the_channels_of_their_routes() {
    let channels = Channels::new([11, 255]).after(1);
    let over = Update { channels: Some(channels), ..update(A, Some((RouterId::of(A), 9))) };
    let none = Update { channels: Some(Channels::default()), ..over };
    let bytes = [
        &[42, 2, 0, 39][..],
        &[8, 19, 1, 0x40, 32, 0, 6, 0x40, 0, 7, 0, 9, 10, 0, 0, 1, 2, 3, 1, 11, 255],
        &[8, 16, 1, 0x40, 32, 0, 6, 0x40, 0, 7, 0, 9, 10, 0, 0, 1, 2, 0],
    ]
    .concat();
    let tlvs = [over, none].map(Tlv::Update).to_vec();
    assert_eq!(emitted(tlvs.clone()), bytes);
    assert_eq!(Packet::parse(&bytes), Ok(Packet { tlvs }));
    assert!(Channels::new(1..=20).after(30).iter().eq([30, 1, 2, 3, 4, 5, 6, 7]), "the first eight");
}

#[test]
fn padding_unknown_tlvs_and_optional_sub_tlvs_are_skipped() {
    let ack = Tlv::Ack { opaque: 5 };
    assert_eq!(parsed(&[0, 1, 2, 0, 0, 99, 1, 7, 3, 2, 0, 5, 3, 5, 0, 5, 112, 1, 9]), [ack, ack]);
}

#[test]
fn mandatory_sub_tlvs_and_other_encodings_make_a_tlv_void() {
    assert_eq!(parsed(&[3, 5, 0, 5, 128, 1, 9]), []);
    assert_eq!(
        parsed(&[5, 14, 4, 0, 1, 0, 4, 0xb0, 1, 2, 3, 4, 5, 6, 7, 8]),
        [],
        "an IHU of an unknown encoding"
    );
    assert_eq!(parsed(&[9, 3, 1, 33, 10]), [], "a prefix of 33 bits");
    assert_eq!(parsed(&[8, 14, 1, 0, 32, 0, 6, 0x40, 0, 7, 0, 0, 10, 0, 0, 1]), [], "no router-id");
    assert_eq!(parsed(&[8, 13, 1, 0x40, 32, 1, 6, 0x40, 0, 7, 0, 0, 0, 0, 1]), [], "nothing to omit");
}

#[test]
fn updates_follow_from_earlier_ones() {
    let body = [
        &[7, 6, 1, 0, 10, 0, 0, 9][..],
        &[8, 14, 1, 0xc0, 32, 0, 6, 0x40, 0, 7, 0, 0, 10, 0, 0, 1],
        &[8, 11, 1, 0, 32, 3, 6, 0x40, 0, 7, 1, 44, 2],
    ]
    .concat();
    let via = |update| Tlv::Update(Update { next_hop: Some(IpAddr::from([10, 0, 0, 9])), ..update });
    let id = RouterId::of(A);
    assert_eq!(parsed(&body), [via(update(A, Some((id, 0)))), via(update(B, Some((id, 300))))]);
}

#[test]
fn an_ipv6_update_sets_the_router_id() {
    let v6 = [0x20, 1, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let body = [
        &[8, 26, 2, 0x40, 128, 0, 6, 0x40, 0, 7, 0, 0][..],
        &v6,
        &[8, 14, 1, 0, 32, 0, 6, 0x40, 0, 7, 1, 44, 10, 0, 0, 2],
    ]
    .concat();
    let six = Update { prefix: Prefix::host(v6), ..update(B, Some((OTHER, 0))) };
    assert_eq!(parsed(&body), [six, update(B, Some((OTHER, 300)))].map(Tlv::Update));
}

#[test]
fn other_versions_and_cut_bodies_are_refused() {
    let field = |name, found, allowed| Err(ParseError::Field { name, found, allowed });
    assert_eq!(Packet::parse(&[41, 2, 0, 0]), field("magic", 41, "42"));
    assert_eq!(Packet::parse(&[42, 3, 0, 0]), field("version", 3, "2"));
    assert_eq!(Packet::parse(&[42, 2, 0, 4, 3, 2]), Err(ParseError::Truncated { found: 6, needed: 8 }));
    assert_eq!(Packet::parse(&[42, 2, 0, 2, 3, 2]), Err(ParseError::Truncated { found: 2, needed: 4 }));
}

#[test]
fn sequence_numbers_wrap() {
    let last = Seqno(u16::MAX);
    assert_eq!(last.next(), Seqno(0));
    assert!(Seqno(0).newer_than(last) && !last.newer_than(Seqno(0)) && !last.newer_than(last));
}

/// Packet of babeld 1.12.1: a Hello with a timestamp, updates whose prefixes are compressed, a packet counter, a MAC.
#[rustfmt::skip]
const BABELD: [u8; 159] = [
    0x2a, 0x02, 0x00, 0x79, 0x04, 0x0c, 0x00, 0x00, 0xa6, 0x97, 0x00, 0x1e, 0x03, 0x04, 0xe3, 0x67,
    0xeb, 0xe3, 0x06, 0x0a, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x08, 0x1a,
    0x02, 0x80, 0x80, 0x00, 0x00, 0x78, 0xf1, 0xd4, 0x00, 0x00, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x08, 0x0b, 0x02, 0x80, 0x80, 0x0f,
    0x00, 0x78, 0xf1, 0xd4, 0x00, 0x00, 0x77, 0x07, 0x06, 0x01, 0x00, 0x0a, 0x00, 0x01, 0x02, 0x08,
    0x0e, 0x01, 0x00, 0x20, 0x00, 0x00, 0x78, 0xf1, 0xd4, 0x00, 0x00, 0x0a, 0x00, 0x01, 0x02, 0x08,
    0x0e, 0x01, 0x00, 0x20, 0x00, 0x00, 0x78, 0xf1, 0xd4, 0x00, 0x00, 0x0a, 0x00, 0x09, 0x04, 0x11,
    0x0c, 0x00, 0x00, 0x00, 0x06, 0xff, 0x81, 0x52, 0xfd, 0x38, 0xaa, 0x1b, 0x76, 0x10, 0x20, 0xc9,
    0x86, 0xc1, 0xb8, 0xe0, 0x49, 0x04, 0x97, 0x2f, 0x76, 0x66, 0xd4, 0x24, 0x51, 0xce, 0xa7, 0x6f,
    0xc8, 0xaf, 0x9e, 0xaa, 0xd3, 0xbb, 0x5a, 0xd2, 0xa5, 0x92, 0xca, 0x4f, 0xc5, 0x40, 0x51,
];

#[test]
fn a_packet_of_babeld_is_read() {
    let six = |last| IpAddr::from([0xfd00, 0, 0, 1, 0, 0, 0, last]);
    let update = |address: IpAddr, next_hop: Option<[u8; 4]>| {
        Tlv::Update(Update {
            prefix: Prefix::host(address),
            next_hop: next_hop.map(IpAddr::from),
            interval: Centis(120),
            seqno: Seqno(0xf1d4),
            offer: Some(Offer { router_id: OTHER, metric: 0 }),
            channels: None,
        })
    };
    let own = Some([10, 0, 1, 2]);
    let hello =
        Hello { unicast: false, seqno: Seqno(0xa697), interval: Centis(30), timestamp: Some(0xe367_ebe3) };
    let tlvs = vec![
        Tlv::Hello(hello),
        update(six(2), None),
        update(six(0x77), None),
        update([10, 0, 1, 2].into(), own),
        update([10, 0, 9, 4].into(), own),
    ];
    assert_eq!(Packet::parse(&BABELD), Ok(Packet { tlvs: tlvs.clone() }));
    // This agent compresses prefixes like babeld, but writes neither the further TLVs of the body nor a
    // trailer.
    let body = BABELD.len() - 34 - 14;
    assert_eq!(emitted(tlvs)[4..], BABELD[4..body]);
}

fn prefix() -> impl Strategy<Value = Prefix> {
    let four = (any::<Ipv4Addr>(), 0_u8..=32).prop_map(|(address, len)| Prefix::new(address, len).unwrap());
    // The addresses share their first bytes.
    let low = (any::<u8>(), any::<u16>(), 0_u8..=128).prop_map(|(place, low, len)| {
        let address = Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(low) << (place % 112));
        Prefix::new(address, len).unwrap()
    });
    prop_oneof![four, low]
}

fn any_update() -> impl Strategy<Value = Tlv> {
    let ids = prop_oneof![Just(None), Just(Some(OTHER)), any::<[u8; 8]>().prop_map(|id| Some(RouterId(id)))];
    let offer = prop::option::of((ids, 0..INFINITY));
    let channels = prop::option::of(vec(1_u8.., 0..=MAX_CHANNELS).prop_map(Channels::new));
    (prefix(), any::<(u16, u16)>(), offer, channels).prop_map(
        |(prefix, (interval, seqno), offer, channels)| {
            let offer = offer.map(|(id, metric)| {
                let implied = prefix.as_host().map_or(OTHER, RouterId::of);
                Offer { router_id: id.unwrap_or(implied), metric }
            });
            let (interval, seqno) = (Centis(interval), Seqno(seqno));
            Tlv::Update(Update { prefix, next_hop: None, interval, seqno, offer, channels })
        },
    )
}

fn tlv() -> impl Strategy<Value = Tlv> {
    let hello = any::<(bool, u16, u16, Option<u32>)>().prop_map(|(unicast, seqno, interval, timestamp)| {
        Tlv::Hello(Hello { unicast, seqno: Seqno(seqno), interval: Centis(interval), timestamp })
    });
    let ihu = any::<(Option<IpAddr>, u16, u16, Option<(u32, u32)>)>().prop_map(
        |(address, rxcost, interval, echo)| {
            let echo = echo.map(|(origin, receive)| Echo { origin, receive });
            Tlv::Ihu(Ihu { address, rxcost, interval: Centis(interval), echo })
        },
    );
    let request = (prefix(), any::<(u16, [u8; 8])>(), 1_u8..).prop_map(|(prefix, (seqno, id), hop_count)| {
        Tlv::SeqnoRequest(SeqnoRequest { prefix, seqno: Seqno(seqno), hop_count, router_id: RouterId(id) })
    });
    prop_oneof![
        hello,
        ihu,
        any_update(),
        request,
        prop::option::of(prefix()).prop_map(Tlv::RouteRequest),
        Just(Tlv::RetractAll),
        any::<u16>().prop_map(|opaque| Tlv::Ack { opaque }),
        any::<(u16, u16)>()
            .prop_map(|(opaque, interval)| Tlv::AckRequest { opaque, interval: Centis(interval) }),
    ]
}

proptest! {
    #[test]
    fn parse_undoes_emit(tlvs in vec(tlv(), 0..12), hops in any::<(Option<Ipv4Addr>, Option<Ipv6Addr>)>()) {
        let tlvs = tlvs.into_iter().map(|tlv| match tlv {
            Tlv::Update(update) => {
                let (four, six) = (hops.0.map(IpAddr::V4), hops.1.map(IpAddr::V6));
                let next_hop = if update.prefix.is_ipv6() { six } else { four };
                Tlv::Update(Update { next_hop, ..update })
            }
            other => other,
        });
        let packet = Packet { tlvs: tlvs.collect() };
        let mut bytes = Vec::new();
        packet.emit(&mut bytes);
        prop_assert_eq!(bytes.len(), packet.wire_len());
        prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
    }

    #[test]
    fn no_input_panics(tlvs in vec(tlv(), 0..12), damage in damage()) {
        let mut bytes = emitted(tlvs);
        damage.apply(&mut bytes);
        let _ = Packet::parse(&bytes);
    }
}
