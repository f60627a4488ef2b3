//! Decodes messages of RFC 5444 into messages of OLSRv2.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use super::{
    AGREED, Advertised, Attached, CONT_SEQ_NUM, FLOODING, GATEWAY, HEARD, HELLO, Hello, INCOMING_LINK,
    INCOMING_NEIGHBOUR, INCOMPLETE, INTERVAL_TIME, LINK_METRIC, LINK_STATUS, LOCAL_IF, LOST, LinkStatus,
    MAX_ADDRESSES, MPR, MPR_WILLING, Message, Metric, NBR_ADDR_TYPE, Names, Neighbour, ORIGINATOR, OTHER_IF,
    OTHER_NEIGHB, OUTGOING_LINK, OUTGOING_NEIGHBOUR, ROUTABLE_ORIGINATOR, ROUTING, SYMMETRIC, TC, THIS_IF,
    Tc, TimeCode, VALIDITY_TIME, Willingness,
};
use crate::rfc5444::{self, AddressBlock};

/// Message of OLSRv2; `None` if the type or the length of addresses is another, or a required part is missing.
pub(in super::super) fn message(message: &rfc5444::Message, names: &mut impl Names) -> Option<Message> {
    if message.is_ipv6 != names.is_ipv6() {
        return None;
    }
    let addresses: usize = message.blocks.iter().map(|block| block.addresses.len()).sum();
    if addresses > MAX_ADDRESSES {
        return None;
    }
    match message.kind {
        HELLO => hello(message, names).map(Message::Hello),
        TC => tc(message, names).map(Message::Tc),
        _ => None,
    }
}

fn hello(message: &rfc5444::Message, names: &mut impl Names) -> Option<Hello> {
    let willing =
        byte(message, MPR_WILLING).map(|both| Willingness { flooding: both >> 4, routing: both & 0x0f });
    let mut hello = Hello {
        originator: names.name(message.originator?)?,
        validity: TimeCode(byte(message, VALIDITY_TIME)?),
        interval: byte(message, INTERVAL_TIME).map(TimeCode),
        willingness: willing.unwrap_or_default(),
        addresses: Vec::new(),
        further: Vec::new(),
        neighbours: Vec::new(),
    };
    for block in &message.blocks {
        for (at, address) in block.addresses.iter().enumerate().filter(|(_, one)| one.is_host()) {
            let Some(name) = names.name(address.address) else { continue };
            match last(block, at, LOCAL_IF) {
                None => hello.neighbours.push(neighbour(block, at, name)),
                Some(THIS_IF) => hello.addresses.push(name),
                Some(OTHER_IF) => hello.further.push(name),
                Some(_) => {}
            }
        }
    }
    Some(hello)
}

fn neighbour(block: &AddressBlock, at: usize, name: Ipv4Addr) -> Neighbour {
    let mut neighbour = Neighbour::new(name);
    neighbour.link = last(block, at, LINK_STATUS).and_then(|status| match status {
        LOST => Some(LinkStatus::Lost),
        SYMMETRIC => Some(LinkStatus::Symmetric),
        HEARD => Some(LinkStatus::Heard),
        _ => None,
    });
    neighbour.symmetric = last(block, at, OTHER_NEIGHB).map(|status| status == SYMMETRIC);
    let relays = last(block, at, MPR).unwrap_or(0);
    (neighbour.floods, neighbour.routes) = (relays & FLOODING != 0, relays & ROUTING != 0);
    for (kinds, metric) in metrics(block, at) {
        let of = |kind, place: &mut Option<Metric>| {
            if kinds & kind != 0 {
                *place = Some(metric);
            }
        };
        of(INCOMING_LINK, &mut neighbour.link_metrics.incoming);
        of(OUTGOING_LINK, &mut neighbour.link_metrics.outgoing);
        of(INCOMING_NEIGHBOUR, &mut neighbour.metrics.incoming);
        of(OUTGOING_NEIGHBOUR, &mut neighbour.metrics.outgoing);
    }
    neighbour
}

fn tc(message: &rfc5444::Message, names: &mut impl Names) -> Option<Tc> {
    let numbered = message.tlvs.iter().find(|tlv| tlv.kind == CONT_SEQ_NUM && tlv.extension <= INCOMPLETE)?;
    let sequence = u16::from_be_bytes(numbered.value.as_deref()?.try_into().ok()?);
    let (mut links, mut networks) = (Vec::new(), Vec::new());
    for block in &message.blocks {
        for (at, address) in block.addresses.iter().enumerate() {
            let outgoing = metrics(block, at).filter(|(kinds, _)| kinds & OUTGOING_NEIGHBOUR != 0);
            let metric = outgoing.last().map(|(_, metric)| metric);
            if let (Some(distance), Some(metric)) = (last(block, at, GATEWAY), metric) {
                let (network, prefix) = (address.address, address.prefix);
                networks.push(Attached { network, prefix, distance, metric });
            } else if let Some(ORIGINATOR | ROUTABLE_ORIGINATOR) = last(block, at, NBR_ADDR_TYPE)
                && address.is_host()
                && let Some(name) = names.name(address.address)
            {
                links.push((name, metric));
            }
        }
    }
    Some(Tc {
        originator: names.name(message.originator?)?,
        hop_limit: message.hop_limit?,
        hop_count: message.hop_count?,
        sequence: message.sequence?,
        validity: TimeCode(byte(message, VALIDITY_TIME)?),
        interval: byte(message, INTERVAL_TIME).map(TimeCode),
        advertised: Arc::new(Advertised {
            sequence,
            complete: numbered.extension != INCOMPLETE,
            links,
            networks,
        }),
    })
}

/// Value of a message attribute with one byte. A time attribute may have several values for different
/// distances; the last one is the general value.
fn byte(message: &rfc5444::Message, kind: u8) -> Option<u8> {
    let tlv = message.tlvs.iter().find(|tlv| tlv.kind == kind && tlv.extension == 0)?;
    tlv.value.as_deref()?.last().copied()
}

/// Value of an address attribute with one byte.
fn last(block: &AddressBlock, at: usize, kind: u8) -> Option<u8> {
    block.values(at, kind, 0).filter_map(|value| value.first().copied()).last()
}

/// Metrics of an address, each with the direction to which it applies.
fn metrics(block: &AddressBlock, at: usize) -> impl Iterator<Item = (u8, Metric)> {
    block.values(at, LINK_METRIC, AGREED).filter_map(|value| {
        let bits = u16::from_be_bytes(value.try_into().ok()?);
        Some((value[0] & 0xf0, Metric(bits & 0x0fff)))
    })
}
