//! SYNs, with the options that this driver adds to them and that endpoints do not see: a cookie, and the names
//! of other transports than TPA.

use multihop_transport::connection::Segment;
use multihop_wire::tpa::{self, Body, Framing, Options};

use crate::segment;
use crate::transport::{TransportName, Transports};

/// Appends the datagram of `segment`. A SYN of a user-defined transport names it.
pub(super) fn emit(segment: &Segment, transport: TransportName, out: &mut Vec<u8>) {
    match segment {
        Segment::Tpa(tpa @ tpa::Segment { body: Body::Syn(options), .. })
            if transport != TransportName::TPA =>
        {
            emit_header(tpa, out);
            emit_options(options, out);
            put(TRANSPORT, transport.as_bytes(), out);
        }
        _ => segment::emit(segment, out),
    }
}

/// Appends the SYN with which this end opens a connection.
pub(super) fn emit_first(segment: &Segment, ours: Transports, out: &mut Vec<u8>) {
    emit(segment, ours.named(), out);
    if let Some(name) = ours.offered() {
        put(OFFER, name.as_bytes(), out);
    }
}

/// The answer of a listener with these transports to a SYN.
pub(super) fn choose(ours: Transports, syn: &[u8]) -> TransportName {
    ours.choose(transport(syn), find(OFFER, syn).and_then(TransportName::parse))
}

/// Appends the header of a SYN.
pub(super) fn emit_header(segment: &tpa::Segment, out: &mut Vec<u8>) {
    let start = out.len();
    tpa::Segment { body: Body::Empty, ..segment.clone() }.emit_in_udp(out);
    out[start + FLAGS] |= SYN;
}

/// The transport that a SYN, or an answer to one, names.
pub(super) fn transport(syn: &[u8]) -> TransportName {
    match find(TRANSPORT, syn) {
        Some(name) => TransportName::parse(name).unwrap_or(TransportName::UNREADABLE),
        None => TransportName::TPA,
    }
}

/// The value of an option of a SYN.
pub(super) fn find(wanted: u8, syn: &[u8]) -> Option<&[u8]> {
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

/// Appends an option to a SYN.
pub(super) fn put(kind: u8, value: &[u8], out: &mut Vec<u8>) {
    let len = u8::try_from(value.len()).expect("options are short");
    out.extend_from_slice(&[kind, len]);
    out.extend_from_slice(value);
}

/// Only the options that concern every transport, because the answer to a hello must not be longer than it.
fn emit_options(options: &Options, out: &mut Vec<u8>) {
    put(VERSION, &[options.version], out);
    put(MSS, &options.mss.to_be_bytes(), out);
    put(INITIAL_TTL, &[options.initial_ttl], out);
}

/// Bytes of a header, and where its flags are.
pub(super) const HEADER: usize = Framing::Udp.header_len();
const FLAGS: usize = 3;
const SYN: u8 = 2;

/// Types of options. The one-byte option has no length.
const PAD: u8 = 0;
const VERSION: u8 = 1;
const MSS: u8 = 2;
const INITIAL_TTL: u8 = 7;
pub(super) const COOKIE: u8 = 10;
const TRANSPORT: u8 = 11;
const OFFER: u8 = 12;

#[cfg(test)]
mod tests {
    use multihop_wire::tpa::BlockSeq;

    use super::*;

    fn syn(options: Options) -> Segment {
        Segment::Tpa(tpa::Segment { block: BlockSeq(7), body: Body::Syn(options), ..tpa::Segment::default() })
    }

    #[test]
    fn a_syn_of_tpa_has_no_name() {
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        emit(&syn(Options::default()), TransportName::TPA, &mut ours);
        segment::emit(&syn(Options::default()), &mut plain);
        assert_eq!(ours, plain);
        assert_eq!(transport(&ours), TransportName::TPA);
    }

    #[test]
    fn a_syn_of_another_transport_has_its_name_and_what_concerns_every_transport() {
        let name = TransportName::new("mine/2").unwrap();
        let options = Options { version: 1, mss: 1400, initial_ttl: 7, ..Options::default() };
        let mut bytes = Vec::new();
        emit(&syn(Options { cwnd_max: 9, ..options }), name, &mut bytes);
        assert_eq!(transport(&bytes), name);
        assert_eq!(segment::parse(&bytes, (0, 0), &mut None), Some(syn(options)));
    }

    #[test]
    fn an_offer_leaves_the_rest_of_a_syn_as_it_is() {
        let name = TransportName::new("mine/2").unwrap();
        let (mut plain, mut offering) = (Vec::new(), Vec::new());
        emit(&syn(Options::default()), TransportName::TPA, &mut plain);
        let ours = Transports { preferred: name, or_tpa: true };
        emit_first(&syn(Options::default()), ours, &mut offering);
        let (before, offer) = offering.split_at(plain.len());
        assert_eq!((before, offer), (&plain[..], &b"\x0c\x06mine/2"[..]));
        let read = |bytes| segment::parse(bytes, (0, 0), &mut None);
        assert_eq!(read(&offering), read(&plain));
        assert_eq!([&plain, &offering].map(|syn| choose(ours, syn)), [TransportName::TPA, name]);
        let mut unreadable = plain.clone();
        put(OFFER, b"\x1b[2J", &mut unreadable);
        assert_eq!(choose(ours, &unreadable), TransportName::TPA);
    }

    #[test]
    fn an_unreadable_name_is_no_name_of_ours() {
        let mut bytes = Vec::new();
        emit(&syn(Options::default()), TransportName::TPA, &mut bytes);
        put(TRANSPORT, b"\x1b[2J", &mut bytes);
        assert_eq!(transport(&bytes), TransportName::UNREADABLE);
    }

    #[test]
    fn truncated_options_are_not_found() {
        let mut whole = Vec::new();
        emit(&syn(Options::default()), TransportName::new("mine").unwrap(), &mut whole);
        for len in 0..whole.len() {
            assert_eq!(find(TRANSPORT, &whole[..len]), None, "{len} bytes");
        }
        assert_eq!(find(TRANSPORT, &whole), Some(&b"mine"[..]));
    }
}
