//! Encodes messages of OLSRv2 as messages of RFC 5444.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::{
    AGREED, Attached, COMPLETE, CONT_SEQ_NUM, FLOODING, GATEWAY, HEARD, HELLO, Hello, INCOMING_LINK,
    INCOMING_NEIGHBOUR, INCOMPLETE, INTERVAL_TIME, LINK_METRIC, LINK_STATUS, LOCAL_IF, LOST, LinkStatus,
    MAX_ADDRESSES, MPR, MPR_WILLING, Message, Metric, NBR_ADDR_TYPE, Names, Neighbour, OTHER_IF,
    OTHER_NEIGHB, OUTGOING_LINK, OUTGOING_NEIGHBOUR, ROUTABLE_ORIGINATOR, ROUTING, SYMMETRIC, TC, THIS_IF,
    Tc, TimeCode, VALIDITY_TIME,
};
use crate::rfc5444::{self, Address, AddressBlock, Tlv};

/// Encodes a message; `None` if the name of its originator is unknown. Other unknown names are left out.
pub(in super::super) fn message(message: &Message, names: &mut impl Names) -> Option<rfc5444::Message> {
    match message {
        Message::Hello(message) => hello(message, names),
        Message::Tc(message) => tc(message, names),
    }
}

/// Address with its attributes: the interface of the sender if the address is the sender's own, and the attributes of a
/// neighbour.
type Entry = (IpAddr, Option<u8>, Neighbour);

fn hello(hello: &Hello, names: &mut impl Names) -> Option<rfc5444::Message> {
    let own = hello.addresses.iter().map(|&address| (Some(THIS_IF), Neighbour::new(address)));
    let further = hello.further.iter().map(|&address| (Some(OTHER_IF), Neighbour::new(address)));
    let others = hello.neighbours.iter().map(|&neighbour| (None, neighbour));
    let all = own.chain(further).chain(others);
    let all: Vec<Entry> = all
        .filter_map(|(place, neighbour)| Some((names.address(neighbour.address)?, place, neighbour)))
        .collect();
    assert!(all.len() <= MAX_ADDRESSES, "a message of 64 KiB");
    let mut tlvs = times(hello.validity, hello.interval);
    tlvs.push(Tlv::byte(MPR_WILLING, hello.willingness.flooding << 4 | hello.willingness.routing & 0x0f));
    Some(rfc5444::Message {
        kind: HELLO,
        is_ipv6: names.is_ipv6(),
        originator: Some(names.address(hello.originator)?),
        tlvs,
        blocks: all.chunks(MAX_IN_BLOCK).map(neighbours).collect(),
        ..rfc5444::Message::default()
    })
}

fn neighbours(part: &[Entry]) -> AddressBlock {
    let mut block = block(part.iter().map(|(address, ..)| *address));
    let tag = |block: &mut AddressBlock, kind, value: fn(&Neighbour) -> Option<u8>| {
        let values: Vec<_> =
            part.iter().map(|(_, _, neighbour)| value(neighbour).map(|value| [value])).collect();
        block.tag(kind, 0, &values);
    };
    let own: Vec<_> = part.iter().map(|&(_, own, _)| own.map(|place| [place])).collect();
    block.tag(LOCAL_IF, 0, &own);
    tag(&mut block, LINK_STATUS, |neighbour| {
        neighbour.link.map(|status| match status {
            LinkStatus::Lost => LOST,
            LinkStatus::Symmetric => SYMMETRIC,
            LinkStatus::Heard => HEARD,
        })
    });
    tag(&mut block, OTHER_NEIGHB, |neighbour| neighbour.symmetric.map(u8::from));
    let metrics: Vec<_> = part.iter().map(|(_, _, neighbour)| metrics(neighbour)).collect();
    for nth in 0..4 {
        let values: Vec<_> = metrics.iter().map(|values| values.get(nth).copied()).collect();
        block.tag(LINK_METRIC, AGREED, &values);
    }
    tag(&mut block, MPR, |neighbour| {
        let bits = if neighbour.floods { FLOODING } else { 0 } | if neighbour.routes { ROUTING } else { 0 };
        (bits != 0).then_some(bits)
    });
    block
}

/// The values of a neighbour's metrics; equal metrics share a value.
fn metrics(neighbour: &Neighbour) -> Vec<[u8; 2]> {
    let all = [
        (INCOMING_LINK, neighbour.link_metrics.incoming),
        (INCOMING_NEIGHBOUR, neighbour.metrics.incoming),
        (OUTGOING_LINK, neighbour.link_metrics.outgoing),
        (OUTGOING_NEIGHBOUR, neighbour.metrics.outgoing),
    ];
    let mut values: Vec<(u8, Metric)> = Vec::new();
    for (kind, metric) in all {
        let Some(metric) = metric else { continue };
        match values.iter_mut().find(|(_, known)| *known == metric) {
            Some((kinds, _)) => *kinds |= kind,
            None => values.push((kind, metric)),
        }
    }
    values.into_iter().map(|(kinds, metric)| value(kinds, metric)).collect()
}

/// Encodes a metric: the directions to which it applies in the upper bits, and its 12 bits.
fn value(kinds: u8, metric: Metric) -> [u8; 2] {
    let [high, low] = metric.0.to_be_bytes();
    [kinds | high, low]
}

fn tc(tc: &Tc, names: &mut impl Names) -> Option<rfc5444::Message> {
    let advertised = &tc.advertised;
    assert!(advertised.links.len() + advertised.networks.len() <= MAX_ADDRESSES, "a message of 64 KiB");
    let mut tlvs = times(tc.validity, tc.interval);
    tlvs.push(Tlv {
        kind: CONT_SEQ_NUM,
        extension: if advertised.complete { COMPLETE } else { INCOMPLETE },
        value: Some(advertised.sequence.to_be_bytes().to_vec()),
    });
    let all: Vec<_> =
        advertised.links.iter().filter_map(|&(to, metric)| Some((names.address(to)?, metric))).collect();
    let networks = advertised.networks.chunks(MAX_IN_BLOCK).map(networks);
    Some(rfc5444::Message {
        kind: TC,
        is_ipv6: names.is_ipv6(),
        originator: Some(names.address(tc.originator)?),
        hop_limit: Some(tc.hop_limit),
        hop_count: Some(tc.hop_count),
        sequence: Some(tc.sequence),
        tlvs,
        blocks: all.chunks(MAX_IN_BLOCK).map(links).chain(networks).collect(),
    })
}

fn links(part: &[(IpAddr, Option<Metric>)]) -> AddressBlock {
    let mut block = block(part.iter().map(|&(address, _)| address));
    block.tag(NBR_ADDR_TYPE, 0, &alloc::vec![Some([ROUTABLE_ORIGINATOR]); part.len()]);
    let metrics: Vec<_> =
        part.iter().map(|&(_, metric)| metric.map(|metric| value(OUTGOING_NEIGHBOUR, metric))).collect();
    block.tag(LINK_METRIC, AGREED, &metrics);
    block
}

fn networks(part: &[Attached]) -> AddressBlock {
    let address = |one: &Attached| Address { address: one.network, prefix: one.prefix };
    let mut block = AddressBlock { addresses: part.iter().map(address).collect(), tlvs: Vec::new() };
    block.tag(GATEWAY, 0, &part.iter().map(|one| Some([one.distance])).collect::<Vec<_>>());
    let metrics: Vec<_> = part.iter().map(|one| Some(value(OUTGOING_NEIGHBOUR, one.metric))).collect();
    block.tag(LINK_METRIC, AGREED, &metrics);
    block
}

fn block(addresses: impl Iterator<Item = IpAddr>) -> AddressBlock {
    AddressBlock { addresses: addresses.map(Address::host).collect(), tlvs: Vec::new() }
}

fn times(validity: TimeCode, interval: Option<TimeCode>) -> Vec<Tlv> {
    let interval = interval.map(|interval| Tlv::byte(INTERVAL_TIME, interval.0));
    [Some(Tlv::byte(VALIDITY_TIME, validity.0)), interval].into_iter().flatten().collect()
}

const MAX_IN_BLOCK: usize = 255;
