//! Parsing and emitting of the options.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use super::{Ack, Addresses, Fault, Header, RouteError, RouteReply, RouteRequest, SourceRoute};
use crate::reader::Reader;
use crate::{ParseError, Quoted};

impl Header {
    pub(super) fn parse_options(&mut self, bytes: &[u8]) -> Result<(), ParseError> {
        let mut r = Reader::new(bytes);
        while !r.is_empty() {
            let kind = r.u8()?;
            if kind == PAD_1 {
                continue;
            }
            let len = r.u8()?;
            let option = Reader::new(r.take(usize::from(len))?);
            self.parse_option(kind, option)?;
        }
        Ok(())
    }

    fn parse_option(&mut self, kind: u8, mut r: Reader<'_>) -> Result<(), ParseError> {
        match kind {
            PAD_N => {}
            ROUTE_REQUEST => {
                let (id, target) = (r.u16()?, r.address()?);
                let request = RouteRequest { id, target, route: addresses(r)? };
                only("route request", self.request.replace(request).is_none())?;
            }
            ROUTE_REPLY => {
                let last_hop_external = r.u8()? & EXTERNAL_REPLY != 0;
                self.replies.push(RouteReply { last_hop_external, route: addresses(r)? });
            }
            ROUTE_ERROR => self.errors.extend(route_error(r)?),
            ACK_REQUEST => {
                let id = r.u16()?;
                only("acknowledgement request", self.ack_request.replace(id).is_none())?;
            }
            ACK => self.acks.push(Ack { id: r.u16()?, source: r.address()?, destination: r.address()? }),
            SOURCE_ROUTE => {
                let route = source_route(r)?;
                only("source route", self.source_route.replace(route).is_none())?;
            }
            // DEVIATION dsr-2: An unknown option is removed, or its packet is dropped; no error is sent. RFC 4728
            // (6.1) has four treatments. Foreign options are not forwarded.
            other if other & HANDLING == HANDLING_DROP => {
                let allowed = "0 to 3, 32, 96, 160, 224 or one that may be removed";
                return Err(ParseError::Field { name: "option type", found: u32::from(other), allowed });
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn emit_options(&self, out: &mut Vec<u8>) {
        if let Some(request) = &self.request {
            start(ROUTE_REQUEST, 6 + 4 * request.route.len(), out);
            out.extend_from_slice(&request.id.to_be_bytes());
            out.extend_from_slice(&request.target.octets());
            emit_addresses(&request.route, out);
        }
        for reply in &self.replies {
            start(ROUTE_REPLY, 1 + 4 * reply.route.len(), out);
            out.push(if reply.last_hop_external { EXTERNAL_REPLY } else { 0 });
            emit_addresses(&reply.route, out);
        }
        for error in &self.errors {
            error.emit(out);
        }
        if let Some(id) = self.ack_request {
            start(ACK_REQUEST, 2, out);
            out.extend_from_slice(&id.to_be_bytes());
        }
        for ack in &self.acks {
            start(ACK, 10, out);
            out.extend_from_slice(&ack.id.to_be_bytes());
            emit_addresses(&[ack.source, ack.destination], out);
        }
        if let Some(route) = &self.source_route {
            route.emit(out);
        }
    }
}

impl Fault {
    const fn code(self) -> u8 {
        match self {
            Self::NodeUnreachable(_) => NODE_UNREACHABLE,
            Self::FlowStateNotSupported => FLOW_STATE_NOT_SUPPORTED,
            Self::OptionNotSupported(_) => OPTION_NOT_SUPPORTED,
        }
    }
}

impl RouteError {
    pub(super) fn option_len(&self) -> usize {
        let info = match self.fault {
            Fault::NodeUnreachable(_) => 4,
            Fault::FlowStateNotSupported => 0,
            Fault::OptionNotSupported(_) => 1,
        };
        12 + info + self.quoted.map_or(0, |_| QUOTED_LEN)
    }

    fn emit(&self, out: &mut Vec<u8>) {
        assert!(self.salvage <= SALVAGE_MAX, "a salvage count has 4 bits");
        start(ROUTE_ERROR, self.option_len() - 2, out);
        out.extend_from_slice(&[self.fault.code(), self.salvage]);
        emit_addresses(&[self.source, self.destination], out);
        match self.fault {
            Fault::NodeUnreachable(node) => out.extend_from_slice(&node.octets()),
            Fault::FlowStateNotSupported => {}
            Fault::OptionNotSupported(kind) => out.push(kind),
        }
        if let Some(quoted) = &self.quoted {
            out.extend_from_slice(&[quoted.protocol, 0]);
            emit_addresses(&[quoted.source, quoted.destination], out);
            out.extend_from_slice(&quoted.transport);
        }
    }
}

impl SourceRoute {
    fn emit(&self, out: &mut Vec<u8>) {
        assert!(self.salvage <= SALVAGE_MAX, "a salvage count has 4 bits");
        assert!(usize::from(self.segments_left) <= self.route.len(), "segments left are of the route");
        start(SOURCE_ROUTE, 2 + 4 * self.route.len(), out);
        // F, L, 4 bits reserved, 4 bits of salvage, 6 bits of segments left (§6.7).
        let bits = u16::from(self.first_hop_external) << 15
            | u16::from(self.last_hop_external) << 14
            | u16::from(self.salvage) << 6
            | u16::from(self.segments_left);
        out.extend_from_slice(&bits.to_be_bytes());
        emit_addresses(&self.route, out);
    }
}

/// Parses a Route Error option; `None` for flow-state errors and undefined types.
fn route_error(mut r: Reader<'_>) -> Result<Option<RouteError>, ParseError> {
    let (code, salvage) = (r.u8()?, r.u8()? & SALVAGE_MAX);
    let (source, destination) = (r.address()?, r.address()?);
    let fault = match code {
        NODE_UNREACHABLE => Fault::NodeUnreachable(r.address()?),
        FLOW_STATE_NOT_SUPPORTED => Fault::FlowStateNotSupported,
        OPTION_NOT_SUPPORTED => Fault::OptionNotSupported(r.u8()?),
        _ => return Ok(None),
    };
    // §6.4: remaining bytes are an extension. Unknown extensions are ignored.
    let extension = r.rest();
    let quoted = if extension.len() == QUOTED_LEN { Some(quoted(Reader::new(extension))?) } else { None };
    Ok(Some(RouteError { salvage, source, destination, fault, quoted }))
}

#[expect(clippy::cast_possible_truncation, reason = "masked to 4 and 6 bits")]
fn source_route(mut r: Reader<'_>) -> Result<SourceRoute, ParseError> {
    let bits = r.u16()?;
    let route = addresses(r)?;
    let segments_left = (bits & 0x3f) as u8;
    if usize::from(segments_left) > route.len() {
        let found = u32::from(segments_left);
        return Err(ParseError::Field {
            name: "segments left",
            found,
            allowed: "up to the number of addresses",
        });
    }
    Ok(SourceRoute {
        first_hop_external: bits & 0x8000 != 0,
        last_hop_external: bits & 0x4000 != 0,
        salvage: (bits >> 6) as u8 & SALVAGE_MAX,
        segments_left,
        route,
    })
}

fn quoted(mut r: Reader<'_>) -> Result<Quoted, ParseError> {
    let (protocol, _reserved) = (r.u8()?, r.u8()?);
    Ok(Quoted { protocol, source: r.address()?, destination: r.address()?, transport: r.array()? })
}

/// Parses the rest of an option as addresses.
fn addresses(mut r: Reader<'_>) -> Result<Addresses, ParseError> {
    let mut list = Addresses::EMPTY;
    while !r.is_empty() {
        if !list.push(r.address()?) {
            return Err(ParseError::Field { name: "number of addresses", found: 17, allowed: "up to 16" });
        }
    }
    Ok(list)
}

fn emit_addresses(addresses: &[Ipv4Addr], out: &mut Vec<u8>) {
    for address in addresses {
        out.extend_from_slice(&address.octets());
    }
}

fn start(kind: u8, len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&[kind, u8::try_from(len).expect("an option is at most 70 bytes long")]);
}

fn only(name: &'static str, first: bool) -> Result<(), ParseError> {
    if first { Ok(()) } else { Err(ParseError::Field { name, found: 2, allowed: "1" }) }
}

const PAD_N: u8 = 0;
const ROUTE_REQUEST: u8 = 1;
const ROUTE_REPLY: u8 = 2;
const ROUTE_ERROR: u8 = 3;
const ACK: u8 = 32;
const SOURCE_ROUTE: u8 = 96;
const ACK_REQUEST: u8 = 160;
const PAD_1: u8 = 224;

/// Mask of the two bits of an option's type that define how a node handles an unknown option (RFC 4728 §6.1).
const HANDLING: u8 = 0x60;
const HANDLING_DROP: u8 = 0x60;

const NODE_UNREACHABLE: u8 = 1;
const FLOW_STATE_NOT_SUPPORTED: u8 = 2;
const OPTION_NOT_SUPPORTED: u8 = 3;

/// Length of the quote in an option, bytes: protocol, a reserved byte, source, destination, and 20 bytes of the
/// packet's payload.
const QUOTED_LEN: usize = 30;

const EXTERNAL_REPLY: u8 = 0x80;
const SALVAGE_MAX: u8 = 15;
