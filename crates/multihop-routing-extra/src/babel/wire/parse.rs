//! Parser of a packet's body: TLVs, and the state that they share.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_wire::ParseError;
use multihop_wire::reader::Reader;

use super::prefix::{IPV4, IPV6, LINK_LOCAL, LINK_PREFIX, WILDCARD, address, prefix};
use super::{
    ACK, ACK_REQUEST, Centis, Channels, DIVERSITY, Echo, FIRST_MANDATORY, HELLO, Hello, IHU, INFINITY, Ihu,
    NEXT_HOP, Offer, PAD_1, PREFIX_FLAG, Prefix, ROUTE_REQUEST, ROUTER_FLAG, ROUTER_ID, RouterId,
    SEQNO_REQUEST, Seqno, SeqnoRequest, State, TIMESTAMP, Tlv, UNICAST, UPDATE, Update,
};

/// The known TLVs of a body. A TLV that is shorter than its fields is skipped; one that exceeds the body is
/// an error.
pub(super) fn body(bytes: &[u8]) -> Result<Vec<Tlv>, ParseError> {
    let mut r = Reader::new(bytes);
    let mut parser = Parser::default();
    let mut tlvs = Vec::new();
    while !r.is_empty() {
        let kind = r.u8()?;
        if kind == PAD_1 {
            continue;
        }
        let len = r.u8()?;
        let value = Reader::new(r.take(len.into())?);
        tlvs.extend(parser.tlv(kind, value).ok().flatten());
    }
    Ok(tlvs)
}

#[derive(Default)]
struct Parser {
    state: State,
    /// The latest addresses with flag P, for IPv4 and IPv6.
    prefixes: [Option<[u8; 16]>; 2],
}

impl Parser {
    /// Parses a TLV; `None` if it only changes the state, or must be ignored.
    fn tlv(&mut self, kind: u8, mut r: Reader<'_>) -> Result<Option<Tlv>, ParseError> {
        let tlv = match kind {
            ACK_REQUEST => {
                r.u16()?;
                Some(Tlv::AckRequest { opaque: r.u16()?, interval: Centis(r.u16()?) })
            }
            ACK => Some(Tlv::Ack { opaque: r.u16()? }),
            HELLO => return hello(r),
            IHU => return ihu(r),
            ROUTER_ID => {
                r.u16()?;
                let id = RouterId(r.array()?);
                if sub_tlvs(r)?.is_some() {
                    self.state.router_id = Some(id);
                }
                return Ok(None);
            }
            NEXT_HOP => {
                let encoding = r.u8()?;
                r.u8()?;
                if let Some(address) = address(&mut r, encoding)?
                    && sub_tlvs(r)?.is_some()
                {
                    self.state.next_hops[usize::from(address.is_ipv6())] = Some(address);
                }
                return Ok(None);
            }
            UPDATE => return self.update(r),
            ROUTE_REQUEST => {
                let (encoding, len) = (r.u8()?, r.u8()?);
                match encoding {
                    WILDCARD => Some(Tlv::RouteRequest(None)),
                    _ => prefix(&mut r, encoding, len)?.map(|prefix| Tlv::RouteRequest(Some(prefix))),
                }
            }
            SEQNO_REQUEST => seqno_request(&mut r)?,
            _ => return Ok(None),
        };
        let Some(tlv) = tlv else { return Ok(None) };
        Ok(sub_tlvs(r)?.map(|_| tlv))
    }

    /// Parses an Update TLV (RFC 8966, section 4.6.9); `None` for one that must be ignored.
    fn update(&mut self, mut r: Reader<'_>) -> Result<Option<Tlv>, ParseError> {
        let [encoding, flags, len, omitted] = r.array()?;
        let (interval, seqno, metric) = (Centis(r.u16()?), Seqno(r.u16()?), r.u16()?);
        if encoding == WILDCARD {
            let retracts = sub_tlvs(r)?.is_some() && metric == INFINITY;
            return Ok(retracts.then_some(Tlv::RetractAll));
        }
        let Some(address) = self.address(&mut r, encoding, len, omitted)? else { return Ok(None) };
        let Some(SubTlvs { channels, .. }) = sub_tlvs(r)? else { return Ok(None) };
        self.note_flags(flags, encoding, &address);
        let [a, b, c, d, ..] = address;
        let address: IpAddr =
            if encoding == IPV4 { Ipv4Addr::new(a, b, c, d).into() } else { Ipv6Addr::from(address).into() };
        let Some(prefix) = Prefix::new(address, len) else { return Ok(None) };
        let offer = match self.state.router_id {
            _ if metric == INFINITY => None,
            Some(router_id) => Some(Offer { router_id, metric }),
            None => return Ok(None),
        };
        let next_hop = self.state.next_hops[usize::from(prefix.is_ipv6())];
        Ok(Some(Tlv::Update(Update { prefix, next_hop, interval, seqno, offer, channels })))
    }

    /// The address of an update, whose omitted first bytes come from an earlier address.
    fn address(
        &self,
        r: &mut Reader<'_>,
        encoding: u8,
        len: u8,
        omitted: u8,
    ) -> Result<Option<[u8; 16]>, ParseError> {
        let (bits, known, implied): (u8, _, &[u8]) = match encoding {
            IPV4 => (32, self.prefixes[0], &[]),
            IPV6 => (128, self.prefixes[1], &[]),
            LINK_LOCAL => (128, None, &LINK_PREFIX),
            _ => return Ok(None),
        };
        let (omitted, bytes) = (usize::from(omitted), usize::from(len.div_ceil(8)));
        let mut address = [0; 16];
        match known {
            Some(known) if omitted <= bytes && len <= bits => {
                address[..omitted].copy_from_slice(&known[..omitted]);
            }
            None if omitted == 0 && len <= bits => {}
            _ => return Ok(None),
        }
        address[..implied.len()].copy_from_slice(implied);
        let from = omitted.max(implied.len()).min(bytes);
        address[from..bytes].copy_from_slice(r.take(bytes - from)?);
        Ok(Some(address))
    }

    fn note_flags(&mut self, flags: u8, encoding: u8, address: &[u8; 16]) {
        if flags & PREFIX_FLAG != 0 && encoding != LINK_LOCAL {
            self.prefixes[usize::from(encoding == IPV6)] = Some(*address);
        }
        if flags & ROUTER_FLAG != 0 {
            let mut id = [0; 8];
            match encoding {
                IPV4 => id[4..].copy_from_slice(&address[..4]),
                _ => id.copy_from_slice(&address[8..]),
            }
            self.state.router_id = Some(RouterId(id));
        }
    }
}

fn hello(mut r: Reader<'_>) -> Result<Option<Tlv>, ParseError> {
    let unicast = r.u16()? & UNICAST != 0;
    let (seqno, interval) = (Seqno(r.u16()?), Centis(r.u16()?));
    let Some(times) = sub_tlvs(r)? else { return Ok(None) };
    let timestamp = times.first;
    Ok(Some(Tlv::Hello(Hello { unicast, seqno, interval, timestamp })))
}

fn ihu(mut r: Reader<'_>) -> Result<Option<Tlv>, ParseError> {
    let encoding = r.u8()?;
    r.u8()?;
    let (rxcost, interval) = (r.u16()?, Centis(r.u16()?));
    let address = address(&mut r, encoding)?;
    if address.is_none() && encoding != WILDCARD {
        return Ok(None);
    }
    let Some(times) = sub_tlvs(r)? else { return Ok(None) };
    let echo = times.first.zip(times.second).map(|(origin, receive)| Echo { origin, receive });
    Ok(Some(Tlv::Ihu(Ihu { address, rxcost, interval, echo })))
}

fn seqno_request(r: &mut Reader<'_>) -> Result<Option<Tlv>, ParseError> {
    let (encoding, len, seqno, hop_count) = (r.u8()?, r.u8()?, Seqno(r.u16()?), r.u8()?);
    r.u8()?;
    let router_id = RouterId(r.array()?);
    if hop_count == 0 {
        return Ok(None);
    }
    let request = prefix(r, encoding, len)?
        .map(|prefix| Tlv::SeqnoRequest(SeqnoRequest { prefix, seqno, hop_count, router_id }));
    Ok(request)
}

/// Values of the sub-TLVs of a TLV.
#[derive(Default)]
struct SubTlvs {
    /// The times in the timestamp sub-TLV: one in a Hello, two in an IHU.
    first: Option<u32>,
    second: Option<u32>,
    /// Channels of the diversity sub-TLV.
    channels: Option<Channels>,
}

/// Reads the sub-TLVs at the end of a TLV; `None` if an unknown mandatory sub-TLV requires that the TLV is ignored.
fn sub_tlvs(mut r: Reader<'_>) -> Result<Option<SubTlvs>, ParseError> {
    let mut found = SubTlvs::default();
    while !r.is_empty() {
        let kind = r.u8()?;
        if kind == PAD_1 {
            continue;
        }
        let len = r.u8()?;
        let mut value = Reader::new(r.take(len.into())?);
        match kind {
            TIMESTAMP => (found.first, found.second) = (value.u32().ok(), value.u32().ok()),
            DIVERSITY => found.channels = Some(Channels::new(value.take(len.into())?.iter().copied())),
            FIRST_MANDATORY.. => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(found))
}
