use multihop_core::LostSegment;
use proptest::prelude::*;

use super::*;
use crate::testing::{damage, payload, set_checksum};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn options() -> impl Strategy<Value = Options> {
    let small = (any::<u8>(), 1..=MAX_BLOCK, 1_u8.., any::<[bool; 3]>(), any::<bool>(), 1_u8..);
    (small, 1_u16.., any::<(u32, u32)>()).prop_map(
        |((version, block_size, cwnd_max, rules, takes_notices, initial_ttl), mss, times)| Options {
            version,
            mss,
            block_size,
            cwnd_max,
            ack_policy: if rules[0] { AckPolicy::EveryWindow } else { AckPolicy::EveryTwo },
            ack_block_end: rules[1],
            ack_gaps: rules[2],
            takes_notices,
            initial_ttl,
            ack_interval: times.0,
            rto_min: times.1,
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let some = payload().prop_filter("data has bytes", |payload| !payload.is_empty());
    prop_oneof![
        Just(Body::Empty),
        (0..MAX_BLOCK, any::<bool>(), some).prop_map(|(position, last, payload)| Body::Data {
            position,
            last,
            payload
        }),
        (0..MAX_BLOCK).prop_map(|position| Body::Fin { position }),
        options().prop_map(Body::Syn),
        Just(Body::Reset),
    ]
}

/// Segments whose block numbers and windows fit the framing.
fn segment(framing: Framing) -> impl Strategy<Value = Segment> {
    let ack = any::<(u16, u16, u8, bool)>().prop_map(move |(block, bitmap, tx_seq, held)| Ack {
        block: framing.block_after(BlockSeq(block), 0),
        bitmap: Bitmap::from_wire(bitmap & 0xfff),
        tx_seq,
        held,
    });
    (any::<(u16, u16, u16, u8, u8, bool, u16)>(), body(), prop::option::of(ack)).prop_map(
        move |((source, destination, block, tx_seq, delay, congested, window), body, ack)| Segment {
            source,
            destination,
            block: framing.block_after(BlockSeq(block), 0),
            tx_seq,
            ack_delay: match (&body, ack) {
                (Body::Data { .. } | Body::Fin { .. }, None) => delay,
                _ => 0,
            },
            body,
            ack,
            congested,
            window: window.min(framing.max_window()),
        },
    )
}

fn in_udp(segment: &Segment) -> Vec<u8> {
    let mut out = Vec::new();
    segment.emit_in_udp(&mut out);
    out
}

fn over_ip(segment: &Segment) -> Vec<u8> {
    let mut out = Vec::new();
    segment.emit_over_ip(A, B, &mut out);
    out
}

fn known() -> Segment {
    Segment {
        source: 1024,
        destination: 80,
        block: BlockSeq(0x0abc),
        tx_seq: 0x11,
        body: Body::Data { position: 1, last: true, payload: vec![0xee].into() },
        ack: Some(Ack { block: BlockSeq(0x0def), bitmap: Bitmap::first(2), tx_seq: 0x22, held: true }),
        ack_delay: 0,
        congested: true,
        window: 7,
    }
}

fn error(name: &'static str, found: u32, allowed: &'static str) -> ParseError {
    ParseError::Field { name, found, allowed }
}

#[test]
fn known_bytes_in_udp() {
    // 010000000000 is BitmapData with the ACK flag; 110000000000 is BitmapAck with txStat, LAST and HELD.
    let expected = [0x0a, 0xbc, 0x40, 0x08, 0x0d, 0xef, 0xc0, 0x0e, 0x11, 0x22, 0, 7, 0xee];
    assert_eq!(in_udp(&known()), expected);
}

/// The delay of the ACK has the place of AckTxSeq, which has no meaning without an ACK.
#[test]
fn data_that_acknowledges_nothing_says_how_long_its_ack_may_wait() {
    let segment = Segment { ack: None, ack_delay: 75, congested: false, ..known() };
    let expected = [0x0a, 0xbc, 0x40, 0x00, 0, 0, 0, 4, 0x11, 75, 0, 7, 0xee];
    assert_eq!(in_udp(&segment), expected);
    assert_eq!(Segment::parse_in_udp(&expected, 1024, 80), Ok(segment));
    let probe = Segment::parse_in_udp(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 75, 0, 7], 1024, 80).unwrap();
    assert_eq!(probe.ack_delay, 0);
}

#[test]
fn known_bytes_over_ip() {
    // The sum by hand: 0a00+0001+0a00+0002 + 00fd+0011 + 0400+0050 + abc4+008d+efc0+0e11+2207+ee00 = 2d38a,
    // folded d38c.
    let expected =
        [4, 0, 0, 80, 0x2c, 0x73, 0xab, 0xc4, 0x00, 0x8d, 0xef, 0xc0, 0x0e, 0x11, 0x22, 0x07, 0xee];
    assert_eq!(over_ip(&known()), expected);
}

#[test]
fn a_syn_is_its_header_and_all_options() {
    let syn = Segment { body: Body::Syn(Options::default()), ..Segment::default() };
    let bytes = in_udp(&syn);
    assert_eq!(bytes[2..4], [0, 2]);
    assert_eq!(bytes[12..20], [1, 1, VERSION, 2, 2, 0x02, 0x18, 3]);
    assert_eq!(bytes.len(), syn.wire_len(Framing::Udp));
    assert_eq!(over_ip(&syn).len(), syn.wire_len(Framing::Ip));
}

#[test]
fn unknown_options_and_padding_are_skipped_and_known_ones_must_be_valid() {
    let mut bytes = in_udp(&Segment { body: Body::Syn(Options::default()), ..Segment::default() });
    bytes.extend([0, 77, 3, 1, 2, 3, 0, 0, 3, 1, 5]);
    let syn = Segment::parse_in_udp(&bytes, 0, 0).unwrap();
    assert_eq!(syn.body, Body::Syn(Options { block_size: 5, ..Options::default() }));
    let none = Segment::parse_in_udp(&bytes[..12], 0, 0).unwrap();
    assert_eq!(none.body, Body::Syn(Options { version: 0, ..Options::default() }));
    for wrong in [&[3, 1, 13][..], &[3, 1, 0], &[3, 2, 1, 1], &[2, 2, 0, 0], &[5, 1, 8], &[4, 1, 0]] {
        let bytes = [&bytes[..12], wrong].concat();
        let allowed = "1 to 9, each with its own length and range";
        let found = u32::from(wrong[0]);
        assert_eq!(Segment::parse_in_udp(&bytes, 0, 0), Err(error("option", found, allowed)));
    }
    let cut = [&bytes[..12], &[3, 1][..]].concat();
    assert!(matches!(Segment::parse_in_udp(&cut, 0, 0), Err(ParseError::Truncated { .. })));
}

#[test]
fn impossible_fields_are_refused() {
    let header = |data: u16, bits: u8, payload: &[u8]| {
        let [a, b] = data.to_be_bytes();
        let bytes = [&[0, 1, a, b, 0, 0, 0, bits, 0, 0, 0, 0], payload].concat();
        Segment::parse_in_udp(&bytes, 0, 0).map(|segment| segment.body)
    };
    assert_eq!(header(0, 0, &[]), Ok(Body::Empty));
    assert_eq!(header(0x0020, 0, &[]), Err(error("BitmapData", 2, "0, there is no data")));
    assert_eq!(header(0, 0, &[1]), Err(error("BitmapData", 0, "one bit, there is data")));
    assert_eq!(header(0x0030, 0, &[1]), Err(error("BitmapData", 3, "at most one bit")));
    assert_eq!(header(0, 4, &[]), Err(error("LAST", 1, "0 without data")));
    let fin = "0 unless with LAST, a position and no data";
    assert_eq!(header(0x8001, 4, &[]), Ok(Body::Fin { position: 0 }));
    for (data, bits, payload) in [(0x8001, 0, &[][..]), (0x0001, 4, &[]), (0x8001, 4, &[1])] {
        assert_eq!(header(data, bits, payload), Err(error("FIN", 1, fin)));
    }
    for data in [0x0006, 0x0005, 0x0003, 0x8002, 0x8004] {
        assert!(matches!(header(data, 0, &[]), Err(ParseError::Field { name: "flags", .. })), "{data:x}");
    }
    assert!(header(0x0004, 0, &[1]).is_err());
}

#[test]
fn reserved_bits_and_fields_without_their_flag_are_ignored() {
    let mut bytes = in_udp(&Segment::default());
    bytes[4..8].fill(0xf3);
    bytes[7] = 0x03;
    bytes[9] = 9;
    assert_eq!(Segment::parse_in_udp(&bytes, 0, 0), Ok(Segment::default()));
}

#[test]
fn other_addresses_and_short_headers_are_refused() {
    let packet = over_ip(&known());
    assert_eq!(Segment::parse_over_ip(&packet, A, A), Err(ParseError::Checksum));
    assert_eq!(
        Segment::parse_over_ip(&packet[..15], A, B),
        Err(ParseError::Truncated { found: 15, needed: 16 })
    );
    let short = &in_udp(&known())[..11];
    assert_eq!(Segment::parse_in_udp(short, 1, 2), Err(ParseError::Truncated { found: 11, needed: 12 }));
}

#[test]
fn block_numbers_wrap_in_each_framing() {
    for (framing, last) in [(Framing::Udp, 0xffff), (Framing::Ip, 0x0fff)] {
        let last = BlockSeq(last);
        assert_eq!(framing.block_after(last, 1), BlockSeq(0));
        assert_eq!(framing.distance(last, BlockSeq(0)), 1);
        assert_eq!(framing.distance(BlockSeq(0), last), -1);
        assert_eq!(framing.distance(last, framing.block_after(last, 1000)), 1000);
        assert_eq!(framing.distance(framing.block_after(last, 1000), last), -1000);
    }
}

#[test]
fn a_quote_identifies_its_data_segment() {
    let segment = known();
    let expected = SegmentId::Tpa { block: 0x0abc, position: 1 };
    let over_ip: [u8; 20] = [&over_ip(&segment)[..], &[0; 3]].concat().try_into().unwrap();
    assert_eq!(Framing::Ip.quoted(&over_ip), expected);
    let udp = [4, 0, 0, 80, 0, 21, 0, 0];
    let quote = |segment: &Segment| {
        let bytes: [u8; 20] = [&udp[..], &in_udp(segment)[..12]].concat().try_into().unwrap();
        Framing::Udp.quoted(&bytes)
    };
    assert_eq!(quote(&segment), expected);
    assert_eq!(quote(&Segment { body: Body::Empty, ..segment.clone() }), SegmentId::Other);
    assert_eq!(quote(&Segment { body: Body::Syn(Options::default()), ..segment }), SegmentId::Other);
}

proptest! {
    #[test]
    fn a_quote_is_the_start_of_the_datagram(segment in segment(Framing::Udp)) {
        let (source, destination) = (segment.source, segment.destination);
        let mut datagram = Vec::new();
        udp::Datagram { source, destination, payload: in_udp(&segment).into() }.emit(A, B, &mut datagram);
        let quoted = segment.quoted_in_udp(A, B);
        prop_assert_eq!(&quoted.transport[..], &datagram[..20]);
        prop_assert_eq!(
            quoted.lost_segment(),
            LostSegment { source, destination, segment: segment.id() },
        );
    }

    #[test]
    fn parse_undoes_emit_in_udp(segment in segment(Framing::Udp)) {
        let bytes = in_udp(&segment);
        prop_assert_eq!(bytes.len(), segment.wire_len(Framing::Udp));
        prop_assert_eq!(Segment::parse_in_udp(&bytes, segment.source, segment.destination), Ok(segment));
    }

    #[test]
    fn parse_undoes_emit_over_ip(segment in segment(Framing::Ip)) {
        let bytes = over_ip(&segment);
        prop_assert_eq!(bytes.len(), segment.wire_len(Framing::Ip));
        prop_assert_eq!(Segment::parse_over_ip(&bytes, A, B), Ok(segment));
    }

    #[test]
    fn parse_never_panics(bytes in any::<Vec<u8>>(), segment in segment(Framing::Udp), damage in damage()) {
        let _ = Segment::parse_in_udp(&bytes, 1, 2);
        let _ = Segment::parse_over_ip(&bytes, A, B);
        let mut packet = in_udp(&segment);
        damage.apply(&mut packet);
        let _ = Segment::parse_in_udp(&packet, 1, 2);
        let mut packet = over_ip(&segment);
        damage.apply(&mut packet);
        let _ = Segment::parse_over_ip(&packet, A, B);
        set_checksum(&mut packet, 4, |packet| checksum(packet, A, B));
        let _ = Segment::parse_over_ip(&packet, A, B);
    }
}
