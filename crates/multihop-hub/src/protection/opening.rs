//! Additions of the hub to the segments that open a connection: a cookie, the names of transports, and the reason for
//! which a listener refuses a SYN.
//!
//! SYNs of `mesh` and of user-defined transports have options for cookie and names. A SYN of TPA has a cookie
//! as an option that the hub removes, and no names.

use alloc::string::String;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use multihop_transport::connection::Segment;
use multihop_transport::tpa::reset_for;
use multihop_wire::control::{Cause, Control, Names, Options, Reset, Syn};
use multihop_wire::tpa::{self, Ack, Body, Framing};

use super::cookie::Cookie;
use crate::segment::{self, Format, control_of};
use crate::transport::{TransportName, Transports};
use crate::version::{EARLIER, VERSION};

/// Cause for which a listener refuses a SYN, as the caller interprets it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// The listener has this version of the protocol; 0 if it does not state its version.
    Version(u8),
    /// The listener has only these transports.
    Transports(Vec<TransportName>),
    /// The listener accepts only encrypted connections.
    NotPlain,
    /// The listener states a cause that this version does not distinguish.
    Other,
}

/// Appends a segment. A SYN includes the names of the caller's transports and, in the plain protocol, a
/// cookie.
pub(super) fn emit(segment: &Segment, names: &[TransportName], cookie: Option<Cookie>, out: &mut Vec<u8>) {
    match control_of(segment) {
        Some(Control::Syn(syn)) => {
            let transports = names_of(names);
            let options = Options { transports, cookie, ..syn.options.clone() };
            Control::Syn(Syn { options, ..syn.clone() }).emit(out);
        }
        _ => {
            segment::emit(segment, out);
            if let Some(cookie) = cookie {
                put_cookie(&cookie, out);
            }
        }
    }
}

/// The names of transports in a SYN or in the answer to one.
pub(super) fn transports(segment: &Segment) -> Vec<TransportName> {
    match control_of(segment) {
        Some(Control::Syn(syn)) => {
            syn.options.transports.iter().filter_map(|name| TransportName::parse(name.as_bytes())).collect()
        }
        _ => vec![TransportName::TPA],
    }
}

/// Chooses a transport of this end that the SYN names; `None` if this end supports none of them.
pub(super) fn choose(ours: Transports, syn: &Segment) -> Option<TransportName> {
    let has_tpa_format = control_of(syn).is_none();
    let offered = transports(syn).into_iter();
    offered.filter(|name| (*name == TransportName::TPA) == has_tpa_format).find(|name| ours.has(*name))
}

/// Protocol version in a SYN.
pub(super) fn version(syn: &Segment) -> Option<u8> {
    match (syn, control_of(syn)) {
        (Segment::Tpa(tpa::Segment { body: Body::Syn(options), .. }), _) => Some(options.version),
        (_, Some(Control::Syn(syn))) => Some(syn.options.version),
        _ => None,
    }
}

/// The cookie in the bytes of a SYN or of the answer to one.
pub(super) fn cookie(segment: &Segment, bytes: &[u8]) -> Option<Cookie> {
    match control_of(segment) {
        Some(Control::Syn(syn)) => syn.options.cookie,
        _ => find(COOKIE, bytes)?.try_into().ok(),
    }
}

/// Answer to a SYN that contains only a cookie.
pub(super) fn cookie_reply(syn: &Segment, cookie: Cookie) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(MAX_COOKIE_REPLY);
    match (syn, control_of(syn)) {
        (Segment::Tpa(syn), _) => {
            let ack = Ack { block: syn.block, tx_seq: syn.tx_seq, ..Ack::default() };
            let bare = tpa::Segment { ack: Some(ack), ..tpa::Segment::default() };
            bare.emit_in_udp(&mut out);
            out[FLAGS] |= SYN;
            put_cookie(&cookie, &mut out);
        }
        (_, Some(Control::Syn(syn))) => {
            let options = Options { cookie: Some(cookie), ..Options::default() };
            let answer = Syn { attempt: syn.attempt, answers: Some(syn.number), options, ..Syn::default() };
            Control::Syn(answer).emit(&mut out);
        }
        _ => return None,
    }
    Some(out)
}

/// The datagram that refuses a SYN of this version.
pub(super) fn refusal(syn: &Segment, cause: Cause, ours: Transports) -> Option<Vec<u8>> {
    let text = match cause {
        Cause::VERSION => VERSION.to_string(),
        Cause::TRANSPORT => ours.names().iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    let mut out = Vec::new();
    match (syn, control_of(syn)) {
        (Segment::Tpa(syn), _) => {
            reset_for(syn).emit_in_udp(&mut out);
            // Earlier versions drop a reset that contains data.
            if let Body::Syn(options) = syn.body
                && options.version >= VERSION
            {
                out.push(cause.0);
                out.extend_from_slice(text.as_bytes());
            }
        }
        (_, Some(Control::Syn(syn))) => {
            Control::Reset(Reset { cause, number: syn.number, text, ..Reset::default() }).emit(&mut out);
        }
        _ => return None,
    }
    Some(out)
}

/// Reason for which a datagram in this format refuses this end's SYN with this number; `None` if it does not.
pub(super) fn refusal_in(format: Format, number: u32, bytes: &[u8]) -> Option<Refusal> {
    if format == Format::Tpa {
        let (header, rest) = bytes.split_at_checked(HEADER)?;
        let is_reset = header[FLAGS] & 0xf == RST | ACK && header[4..6] == number.to_be_bytes()[2..];
        let (&cause, text) = rest.split_first().filter(|_| is_reset)?;
        return Some(Refusal::new(Cause(cause), core::str::from_utf8(text).ok()?));
    }
    match Control::parse(bytes) {
        Ok(Control::Reset(reset)) if reset.number == number && !reset.is_expected => {
            Some(Refusal::new(reset.cause, &reset.text))
        }
        _ => None,
    }
}

impl Refusal {
    fn new(cause: Cause, text: &str) -> Self {
        match cause {
            Cause::VERSION => {
                Self::Version(text.rsplit(' ').next().and_then(|last| last.parse().ok()).unwrap_or(0))
            }
            Cause::TRANSPORT => Self::Transports(
                text.split(' ')
                    .filter_map(|name| TransportName::parse(name.as_bytes()))
                    .take(MAX_NAMES)
                    .collect(),
            ),
            Cause::NOT_PLAIN => Self::NotPlain,
            _ => Self::Other,
        }
    }
}

fn names_of(names: &[TransportName]) -> Names {
    let texts: Vec<String> = names.iter().map(ToString::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Names::new(&texts).expect("a name of a transport is short and visible")
}

fn put_cookie(cookie: &Cookie, out: &mut Vec<u8>) {
    out.extend_from_slice(&[COOKIE, COOKIE_LEN]);
    out.extend_from_slice(cookie);
}

/// Value of an option in a SYN of TPA.
fn find(wanted: u8, syn: &[u8]) -> Option<&[u8]> {
    let mut options = syn.get(HEADER..)?;
    loop {
        let (&kind, after) = options.split_first()?;
        if kind == PAD {
            options = after;
            continue;
        }
        let (&len, after) = after.split_first()?;
        let (value, rest) = after.split_at_checked(usize::from(len))?;
        if kind == wanted {
            return Some(value);
        }
        options = rest;
    }
}

/// SYN of version 2, by which a caller without an answer detects a listener of that version.
pub(super) fn version_probe() -> Vec<u8> {
    let mut probe = vec![0; HEADER];
    probe[FLAGS] = SYN;
    probe.extend_from_slice(&[TPA_VERSION, 1, EARLIER, PROBE, 1, VERSION]);
    put_cookie(&Cookie::default(), &mut probe);
    probe
}

/// Whether these bytes answer the [probe](version_probe): a SYN ACK with a cookie.
pub(super) fn answers_version_probe(bytes: &[u8], ports: (u16, u16)) -> bool {
    let Some(Segment::Tpa(answer)) = Format::Tpa.parse(bytes, ports, &mut None) else { return false };
    let is_answer = answer.ack.is_some_and(|ack| ack.block.0 == 0) && matches!(answer.body, Body::Syn(_));
    is_answer && find(COOKIE, bytes).is_some()
}

/// Whether these bytes are a probe from a caller of this version.
pub(super) fn is_version_probe(syn: &[u8]) -> bool {
    find(PROBE, syn).is_some()
}

/// Length of a TPA header, bytes.
const HEADER: usize = Framing::Udp.header_len();
const FLAGS: usize = 3;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 8;

/// Type of the TPA option that fills one byte; it has no length field.
const PAD: u8 = 0;
const TPA_VERSION: u8 = 1;
const COOKIE: u8 = 10;
const PROBE: u8 = 14;
const COOKIE_LEN: u8 = 16;
/// Bytes of an answer with a cookie: two headers, type, length and cookie.
pub(super) const MAX_COOKIE_REPLY: usize = 14 + 2 + 2 + size_of::<Cookie>();
/// Largest number of a listener's names that a caller reads.
const MAX_NAMES: usize = Names::MAX_NAMES;
