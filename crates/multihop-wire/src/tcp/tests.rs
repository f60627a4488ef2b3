use multihop_core::{LostSegment, SegmentId};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::testing::{damage, payload, set_checksum};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn blocks(blocks: &[(u32, u32)]) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for &(left, right) in blocks {
        sack.push(SeqNumber(left), SeqNumber(right));
    }
    sack
}

/// Options that all fit, so that none is lost.
fn options() -> impl Strategy<Value = Options> {
    let timestamps = any::<Option<(u32, u32)>>();
    let state = proptest::option::of((StateOption::KINDS, any::<u8>()));
    let blocks_sent = vec(any::<(u32, u32)>(), 0..=4);
    (any::<(Option<u16>, Option<u8>, bool)>(), timestamps, state, blocks_sent).prop_map(
        |((mss, window_scale, sack_permitted), timestamps, state, mut sack)| {
            let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
            let state = state.map(|(kind, bits)| StateOption { kind, state: NetworkState::from_bits(bits) });
            let mut options =
                Options { mss, window_scale, sack_permitted, timestamps, state, ..Options::default() };
            let taken = 4 * usize::from(mss.is_some())
                + 3 * usize::from(window_scale.is_some())
                + 2 * usize::from(sack_permitted)
                + 10 * usize::from(timestamps.is_some())
                + 3 * usize::from(state.is_some());
            sack.truncate((40 - taken - 2) / 8);
            options.sack = blocks(&sack);
            options
        },
    )
}

fn segment() -> impl Strategy<Value = Segment> {
    let fields = any::<(u16, u16, u32, Option<u32>, u16)>();
    (fields, any::<[bool; 6]>(), options(), payload()).prop_map(
        |((source, destination, seq, ack, window), [syn, fin, rst, psh, ece, cwr], options, payload)| {
            Segment {
                source,
                destination,
                seq: SeqNumber(seq),
                ack: ack.map(SeqNumber),
                syn,
                fin,
                rst,
                psh,
                ece,
                cwr,
                window,
                options,
                payload,
                ..Segment::default()
            }
        },
    )
}

fn emitted(segment: &Segment) -> Vec<u8> {
    let mut out = Vec::new();
    segment.emit(A, B, &mut out);
    out
}

/// The option bytes of a segment that has only these options.
fn option_bytes(options: Options) -> Vec<u8> {
    emitted(&Segment { options, ..Segment::default() })[20..].to_vec()
}

/// A segment with these option bytes, parsed.
fn parsed(options: &[u8]) -> Result<Options, ParseError> {
    assert_eq!(options.len() % 4, 0);
    let mut packet = emitted(&Segment::default());
    packet[12] += u8::try_from(options.len() / 4).unwrap() << 4;
    packet.extend(options);
    set_checksum(&mut packet, 16, |packet| checksum(packet, A, B));
    Segment::parse(&packet, A, B).map(|segment| segment.options)
}

#[test]
fn known_bytes() {
    let segment = Segment {
        source: 1024,
        destination: 80,
        seq: SeqNumber(0x0102_0304),
        ack: Some(SeqNumber(0x0506_0708)),
        psh: true,
        window: 0x2000,
        payload: Payload::Virtual(1),
        ..Segment::default()
    };
    // The sum by hand: 0a00+0001+0a00+0002 + 0006+0015 + 0400+0050 + 0102+0304 + 0506+0708 + 5018+2000 =
    // 989a.
    let expected = [4, 0, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x18, 0x20, 0, 0x67, 0x65, 0, 0, 0];
    assert_eq!(emitted(&segment), expected);
    assert_eq!(segment.header_len(), 20);
}

/// RFC 3168 §6.1: ECE and CWR are the two bits before URG. The ECN field of the IP header is no part of the
/// segment.
#[test]
fn bits_of_ecn() {
    let bits = |ece, cwr| emitted(&Segment { ece, cwr, ecn: Ecn::Ce, ..Segment::default() })[12..14].to_vec();
    assert_eq!([bits(true, false), bits(false, true)], [[0x50, 0x40], [0x50, 0x80]]);
}

#[test]
fn timestamps_alone_are_aligned() {
    let timestamps = Some(Timestamps { value: 1, echo: 0xff });
    let bytes = option_bytes(Options { timestamps, ..Options::default() });
    assert_eq!(bytes, [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0xff]);
}

#[test]
fn options_of_a_syn() {
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..Options::default()
    };
    let expected = [1, 2, 4, 0x05, 0xb4, 3, 3, 7, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!(option_bytes(options), expected);
}

#[test]
fn a_network_state_beside_timestamps() {
    let state = NetworkState::ROUTE_CHANGE.with(NetworkState::CHANNEL_ERROR);
    let options = Options {
        timestamps: Some(Timestamps { value: 1, echo: 2 }),
        state: Some(StateOption { kind: 253, state }),
        ..Options::default()
    };
    let bytes = [1, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 253, 3, 6];
    assert_eq!(option_bytes(options), bytes);
    assert_eq!(parsed(&bytes), Ok(options));
    // Only the low four bits are the state.
    assert_eq!(parsed(&[254, 3, 0xf1, 0]).unwrap().state.unwrap().state, NetworkState::CONGESTION);
    assert!(state.has(NetworkState::ROUTE_CHANGE) && !state.has(NetworkState::CONGESTION));
}

#[test]
fn sack_blocks_that_do_not_fit_are_not_sent() {
    let all = blocks(&[(1, 2), (3, 4), (5, 6), (7, 8)]);
    assert_eq!(parsed(&option_bytes(Options { sack: all, ..Options::default() })).unwrap().sack, all);
    let timestamps = Some(Timestamps::default());
    let options = Options { timestamps, sack: all, ..Options::default() };
    assert_eq!(options.wire_len(), 36);
    let sent = parsed(&option_bytes(options)).unwrap().sack;
    assert_eq!(sent, blocks(&[(1, 2), (3, 4), (5, 6)]));
}

#[test]
fn a_fifth_sack_block_is_refused() {
    let mut sack = blocks(&[(1, 2), (3, 4), (5, 6), (7, 8)]);
    assert!(!sack.push(SeqNumber(9), SeqNumber(10)));
    assert_eq!(sack.as_slice().len(), 4);
}

#[test]
fn unknown_and_misshapen_options_are_skipped() {
    let expected = Options { mss: Some(536), ..Options::default() };
    assert_eq!(parsed(&[252, 3, 9, 2, 4, 2, 24, 0]), Ok(expected));
    assert_eq!(parsed(&[253, 4, 9, 9, 2, 4, 2, 24]), Ok(expected));
    assert_eq!(parsed(&[3, 4, 1, 1, 2, 4, 2, 24]), Ok(expected));
    assert_eq!(parsed(&[5, 5, 0, 0, 0, 1, 1, 1]), Ok(Options::default()));
    assert_eq!(parsed(&[0, 2, 4, 2]), Ok(Options::default()), "nothing after the end");
}

#[test]
fn invalid_option_lengths_are_refused() {
    let length = |found| ParseError::Field { name: "option length", found, allowed: "2 or more" };
    assert_eq!(parsed(&[1, 1, 8, 0]), Err(length(0)));
    assert_eq!(parsed(&[1, 1, 8, 1]), Err(length(1)));
    assert_eq!(parsed(&[1, 1, 1, 8]), Err(ParseError::Truncated { found: 0, needed: 1 }));
    assert_eq!(parsed(&[1, 1, 8, 10]), Err(ParseError::Truncated { found: 1, needed: 9 }));
}

#[test]
fn other_addresses_and_short_headers_are_refused() {
    let mut packet = emitted(&Segment::default());
    assert_eq!(Segment::parse(&packet, A, A), Err(ParseError::Checksum));
    assert_eq!(Segment::parse(&packet[..19], A, B), Err(ParseError::Truncated { found: 19, needed: 20 }));
    packet[12] = 0x40;
    let error = ParseError::Field { name: "data offset", found: 4, allowed: "5 to 15" };
    assert_eq!(Segment::parse(&packet, A, B), Err(error));
}

proptest! {
    #[test]
    fn a_quote_is_the_start_of_the_segment(segment in segment()) {
        let quoted = segment.quoted(A, B);
        prop_assert_eq!(&quoted.transport[..], &emitted(&segment)[..20]);
        let (source, destination) = (segment.source, segment.destination);
        let lost = LostSegment { source, destination, segment: SegmentId::Tcp(segment.seq.0) };
        prop_assert_eq!(quoted.lost_segment(), lost);
    }

    #[test]
    fn parse_undoes_emit(segment in segment()) {
        let packet = emitted(&segment);
        prop_assert_eq!(packet.len(), segment.header_len() + segment.payload.len());
        prop_assert_eq!(Segment::parse(&packet, A, B), Ok(segment));
    }

    #[test]
    fn parse_never_panics(bytes in any::<Vec<u8>>(), segment in segment(), damage in damage()) {
        let _ = Segment::parse(&bytes, A, B);
        let mut packet = emitted(&segment);
        damage.apply(&mut packet);
        let _ = Segment::parse(&packet, A, B);
        set_checksum(&mut packet, 16, |packet| checksum(packet, A, B));
        let _ = Segment::parse(&packet, A, B);
    }
}
