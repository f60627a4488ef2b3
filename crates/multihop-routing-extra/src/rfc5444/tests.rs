use alloc::vec;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;
use multihop_testkit::damage::damage;

fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    option::of(prop_oneof![4 => vec(any::<u8>(), 0..5), 1 => vec(any::<u8>(), 250..300)])
}

fn tlv() -> impl Strategy<Value = Tlv> {
    (any::<u8>(), 0..3_u8, bytes()).prop_map(|(kind, extension, value)| Tlv { kind, extension, value })
}

/// An attribute that covers some of `addresses` addresses.
fn address_tlv(addresses: u8) -> impl Strategy<Value = AddressTlv> {
    let values = (0..3, vec(any::<u8>(), 1..4), any::<u8>());
    (any::<u8>(), 0..3_u8, 0..addresses, 0..addresses, values).prop_map(
        |(kind, extension, a, b, (form, value, seed))| {
            let (first, last) = (a.min(b), a.max(b));
            let values = match form {
                0 => Values::None,
                1 if first < last => {
                    let count = usize::from(last - first) + 1;
                    let bytes = (0..=u8::MAX).map(|n| seed.wrapping_mul(n)).cycle();
                    let bytes = bytes.take(count * value.len()).collect();
                    Values::Each { len: value.len(), bytes }
                }
                _ => Values::Same(value),
            };
            AddressTlv { kind, extension, first, last, values }
        },
    )
}

/// An address of IPv4, or one of IPv6 that contains it twice.
fn address_of(octets: [u8; 4], is_ipv6: bool) -> IpAddr {
    let mut all = [0; 16];
    all[1..5].copy_from_slice(&octets);
    all[12..].copy_from_slice(&octets);
    if is_ipv6 { Ipv6Addr::from(all).into() } else { octets.into() }
}

fn block(is_ipv6: bool) -> impl Strategy<Value = AddressBlock> {
    let longest = if is_ipv6 { 128_u8 } else { 32 };
    let prefix = prop_oneof![Just(longest), 0..=longest];
    let address = prop_oneof![
        any::<[u8; 4]>(),
        any::<u8>().prop_map(|last| [10, 0, 0, last]),
        any::<[u8; 2]>().prop_map(|[b, c]| [10, b, c, 0]),
        any::<u8>().prop_map(|b| [10, b, 1, 7]),
    ];
    let addresses = btree_set((address, prefix), 1..9);
    addresses.prop_flat_map(move |addresses| {
        let addresses: Vec<_> = addresses
            .into_iter()
            .map(|(octets, prefix)| Address { address: address_of(octets, is_ipv6), prefix })
            .collect();
        // The same address twice, with different prefixes, would be all head.
        let mut addresses = addresses;
        addresses.dedup_by_key(|each| each.address);
        let tlvs = vec(address_tlv(u8::try_from(addresses.len()).unwrap()), 0..4);
        tlvs.prop_map(move |tlvs| AddressBlock { addresses: addresses.clone(), tlvs })
    })
}

fn packet() -> impl Strategy<Value = Packet> {
    let header = (
        any::<u8>(),
        any::<Option<[u8; 4]>>(),
        any::<Option<u8>>(),
        any::<Option<u8>>(),
        any::<Option<u16>>(),
    );
    let of_family = |is_ipv6| (Just(is_ipv6), vec(block(is_ipv6), 0..3));
    let message = (header, vec(tlv(), 0..3), any::<bool>().prop_flat_map(of_family)).prop_map(
        |((kind, originator, hop_limit, hop_count, sequence), tlvs, (is_ipv6, blocks))| Message {
            kind,
            is_ipv6,
            originator: originator.map(|octets| address_of(octets, is_ipv6)),
            hop_limit,
            hop_count,
            sequence,
            tlvs,
            blocks,
        },
    );
    (any::<Option<u16>>(), vec(tlv(), 0..2), vec(message, 0..3))
        .prop_map(|(sequence, tlvs, messages)| Packet { sequence, tlvs, messages })
}

fn emitted(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    packet.emit(&mut out);
    out
}

fn host(n: u8) -> Address {
    Address::host([10, 0, 0, n])
}

#[test]
fn known_bytes() {
    let mut block = AddressBlock { addresses: vec![host(2), host(3), host(4)], tlvs: Vec::new() };
    block.tag(3, 0, &[Some([1]), Some([1]), Some([1])]);
    block.tag(7, 1, &[Some([0xa1, 2]), Some([0xa1, 3]), None]);
    block.tag(8, 0, &[None, None, Some([3])]);
    let message = Message {
        kind: 1,
        is_ipv6: false,
        originator: Some([10, 0, 0, 1].into()),
        hop_limit: Some(255),
        hop_count: Some(0),
        sequence: Some(0x0102),
        tlvs: vec![Tlv::byte(1, 0x64), Tlv { kind: 8, extension: 0, value: None }],
        blocks: vec![block],
    };
    let packet = Packet { sequence: Some(7), tlvs: Vec::new(), messages: vec![message] };
    #[rustfmt::skip]
    let expected = [
        0x08, 0, 7,
        // Type, flags, size, originator, hop limit, hop count, sequence number.
        1, 0xf3, 0, 50, 10, 0, 0, 1, 255, 0, 1, 2,
        // The first attribute has a value, the second one has none.
        0, 6, 1, 0x10, 1, 0x64, 8, 0,
        // The block has three addresses with a common head of three bytes.
        3, 0x80, 3, 10, 0, 0, 2, 3, 4,
        0, 19,
        // Attributes: one value for all; one value for each of the first two, with a type extension; one
        // value for the last.
        3, 0x10, 1, 1,
        7, 0xb4, 1, 0, 1, 4, 0xa1, 2, 0xa1, 3,
        8, 0x50, 2, 1, 3,
    ];
    assert_eq!(emitted(&packet), expected);
    assert_eq!(Packet::parse(&expected), Ok(packet));
}

#[test]
fn what_other_senders_compress_is_read() {
    let block =
        |bytes: &[u8]| Packet::parse(bytes).map(|mut packet| packet.messages.remove(0).blocks.remove(0));
    // The addresses have a common head and tail around two bytes, and a prefix length each.
    let both = [0, 5, 3, 0, 20, 0, 0, 2, 0xc8, 1, 10, 1, 9, 5, 6, 1, 2, 24, 32, 0, 0];
    let found = block(&both);
    let address = |octets: [u8; 4], prefix| Address { address: octets.into(), prefix };
    assert_eq!(
        found.map(|block| block.addresses),
        Ok(vec![address([10, 5, 6, 9], 24), address([10, 1, 2, 9], 32)])
    );
    // The addresses have a tail of zeros and a common prefix length.
    let zeros = [0, 5, 3, 0, 16, 0, 0, 2, 0x30, 2, 10, 1, 10, 2, 16, 0, 0];
    let found = block(&zeros);
    assert_eq!(
        found.map(|block| block.addresses),
        Ok(vec![address([10, 1, 0, 0], 16), address([10, 2, 0, 0], 16)])
    );
}

#[test]
fn errors_name_what_was_found() {
    let field = |name, found, allowed| Err(ParseError::Field { name, found, allowed });
    assert_eq!(Packet::parse(&[0x10]), field("version", 1, "0"));
    assert_eq!(Packet::parse(&[0, 1, 3, 0, 3]), Err(ParseError::Truncated { found: 3, needed: 4 }));
    assert_eq!(Packet::parse(&[0, 1, 3, 0, 9, 0, 0, 0, 0, 0]), field("num-addr", 0, "1 or more"));
    // The attribute belongs to address 1, but the block has only one address.
    let bytes = [0, 1, 3, 0, 17, 0, 0, 1, 0, 10, 0, 0, 1, 0, 3, 3, 0x40, 1];
    assert_eq!(Packet::parse(&bytes), field("index-stop", 1, "from index-start to num-addr less one"));
    // A message with addresses of eight bytes is skipped, and the message after it is read.
    let skipped = [0, 1, 0x07, 0, 5, 9, 2, 3, 0, 6, 0, 0];
    let message = Message { kind: 2, ..Message::default() };
    assert_eq!(Packet::parse(&skipped).map(|packet| packet.messages), Ok(vec![message]));
}

proptest! {
    #[test]
    fn parse_undoes_emit(packet in packet()) {
        prop_assert_eq!(Packet::parse(&emitted(&packet)), Ok(packet));
    }

    #[test]
    fn no_input_panics_or_grows(packet in packet(), damage in damage()) {
        let mut bytes = emitted(&packet);
        damage.apply(&mut bytes);
        if let Ok(parsed) = Packet::parse(&bytes) {
            let again = emitted(&parsed);
            prop_assert!(again.len() <= bytes.len());
            prop_assert_eq!(Packet::parse(&again), Ok(parsed));
        }
    }
}
