//! The plain protocol, and the cookies in its SYNs.

use alloc::vec::Vec;

use multihop_transport::connection::Segment;

use super::cookie::Cookie;
use super::opening::{self, Refusal};
use super::outcome::Unprotected;
use crate::segment::{Format, Kind, answered, emit, kind, number};
use crate::transport::{TransportName, Transports};
use crate::version::EARLIER;

/// The state of a plain connection.
#[derive(Debug, Default)]
pub(crate) struct PlainSession {
    ours: Transports,
    /// The transport in this end's SYN, or in its answer to the peer's SYN.
    chosen: TransportName,
    /// Number of this end's SYN; `None` once it is answered.
    syn: Option<u32>,
    /// Number of SYNs sent.
    syns: u8,
    /// Cookie of the listener; zeros request a cookie.
    cookie: Cookie,
    /// Number of cookies taken from the listener.
    cookies: u8,
    /// A datagram that must be sent before anything else.
    pending: Option<Vec<u8>>,
    /// Buffer for the data of the next segment, to save an allocation.
    memory: Option<Vec<u8>>,
}

impl PlainSession {
    /// State of a new connection with the chosen transport, for an end that supports the transports `ours`.
    pub(super) fn new(ours: Transports, chosen: TransportName) -> Self {
        Self { ours, chosen, ..Self::default() }
    }

    /// Accepts a buffer for the data of the next received segment.
    pub(super) fn reuse(&mut self, memory: Vec<u8>) {
        self.memory = Some(memory);
    }

    /// The transport in this end's SYN, or in its answer to the peer's SYN.
    pub(super) fn transport(&self) -> TransportName {
        self.chosen
    }

    /// Removes and returns a datagram that must be sent before any segment.
    pub(super) fn pop_pending(&mut self) -> Option<Vec<u8>> {
        self.pending.take()
    }

    /// Takes over the proof of this end's address from an earlier session with the same listener.
    pub(super) fn take_cookie(&mut self, earlier: &Self) {
        self.cookie = earlier.cookie;
    }

    /// Appends the datagram of `segment`.
    pub(super) fn emit(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        match kind(segment) {
            Kind::Syn => {
                self.syn = number(segment);
                self.syns = self.syns.saturating_add(1);
                if self.syns > 1 && self.cookies == 0 {
                    self.pending = Some(opening::version_probe());
                }
                opening::emit(segment, &self.ours.names(), Some(self.cookie), out);
            }
            Kind::SynAck => opening::emit(segment, &[self.chosen], None, out),
            Kind::Reset | Kind::Other => emit(segment, out),
        }
    }

    /// Parses a datagram between these ports.
    pub(super) fn parse(&mut self, bytes: &[u8], ports: (u16, u16)) -> Unprotected {
        let format = self.ours.format_of(self.chosen);
        if let Some(number) = self.syn {
            if let Some(refusal) = opening::refusal_in(format, number, bytes) {
                return Unprotected::Refused(refusal);
            }
            // A listener of version 2 answers the probe.
            if self.cookies == 0 && self.syns > 1 && opening::answers_version_probe(bytes, ports) {
                return Unprotected::Refused(Refusal::Version(EARLIER));
            }
        }
        let Some(segment) = self.read(format, bytes, ports) else { return Unprotected::Ignored };
        let answers = self.syn.is_some() && answered(&segment) == self.syn;
        match kind(&segment) {
            Kind::SynAck if answers => {
                if let Some(cookie) = opening::cookie(&segment, bytes) {
                    return self.on_cookie(cookie);
                }
                self.syn = None;
                let name = opening::choose(self.ours, &segment).unwrap_or(TransportName::UNKNOWN);
                Unprotected::Answer(segment, name)
            }
            // A listener of this version states why it refuses a SYN. The previous version does so only after
            // it has sent a cookie.
            Kind::Reset if answers && self.cookies > 0 => Unprotected::Refused(Refusal::Version(EARLIER)),
            _ => Unprotected::Segment(segment, None),
        }
    }

    /// Parses a segment of this connection, or the SYN of a connection that may replace it.
    fn read(&mut self, format: Format, bytes: &[u8], ports: (u16, u16)) -> Option<Segment> {
        let format = Format::of_syn(bytes, self.ours.format).unwrap_or(format);
        format.parse(bytes, ports, &mut self.memory)
    }

    /// Includes the cookie in SYNs from now on. After [`MAX_COOKIES`] different cookies further ones are
    /// ignored, so that a listener cannot cause endless SYNs.
    fn on_cookie(&mut self, cookie: Cookie) -> Unprotected {
        if self.cookies >= MAX_COOKIES || cookie == self.cookie {
            return Unprotected::Ignored;
        }
        self.cookies += 1;
        self.cookie = cookie;
        Unprotected::NewCookie
    }
}

/// Largest number of cookies that an initiator accepts; a slow initiator may need a second one.
const MAX_COOKIES: u8 = 3;

#[cfg(test)]
mod tests {
    use multihop_core::Instant;
    use multihop_wire::control::{Cause, Control, Options, Syn};
    use multihop_wire::tpa::{self, BlockSeq, Body};

    use super::*;
    use crate::datagram::{Entropy, IncomingDatagram};
    use crate::protection::acceptor::Acceptor;
    use crate::protection::acceptor::plain::PlainAcceptor;
    use crate::protection::outcome::FirstContact;
    use crate::version::VERSION;

    const PORTS: (u16, u16) = (1000, 80);

    /// First segments of a TPA connection and of a connection with another transport.
    fn syns() -> [(Transports, Segment); 2] {
        let tpa = tpa::Segment {
            block: BlockSeq(7),
            body: Body::Syn(tpa::Options::default()),
            source: 1000,
            destination: 80,
            ..tpa::Segment::default()
        };
        let options = Options { version: VERSION, ..Options::default() };
        let control = Control::Syn(Syn { number: 7, options, ..Syn::default() });
        [(Transports::default(), Segment::Tpa(tpa)), (mesh(false), Format::Mesh.control(control).unwrap())]
    }

    fn mesh(or_tpa: bool) -> Transports {
        Transports { preferred: TransportName::new("mesh/3").unwrap(), format: Format::Mesh, or_tpa }
    }

    fn session(ours: Transports) -> PlainSession {
        PlainSession { ours, chosen: ours.preferred, ..PlainSession::default() }
    }

    fn emitted(initiator: &mut PlainSession, syn: &Segment) -> Vec<u8> {
        let mut out = Vec::new();
        initiator.emit(syn, &mut out);
        out
    }

    fn first_contact(acceptor: &PlainAcceptor, seconds: u64, bytes: &[u8]) -> FirstContact {
        let now = Instant::ZERO + multihop_core::Duration::from_secs(seconds);
        let datagram =
            IncomingDatagram { from: "10.0.0.1:1000".parse().unwrap(), local: None, ttl: None, bytes };
        acceptor.first_contact(now, &datagram, PORTS, true)
    }

    fn accept(ours: Transports, bytes: &[u8]) -> Result<TransportName, Option<Vec<u8>>> {
        let datagram =
            IncomingDatagram { from: "10.0.0.1:1000".parse().unwrap(), local: None, ttl: None, bytes };
        let acceptor = PlainAcceptor::new(ours, [1; 32]);
        let accepted =
            acceptor.accept(Instant::ZERO, &datagram, PORTS, &mut (Box::new(|_: &mut [u8]| ()) as Entropy));
        accepted.map(|(protection, _)| protection.transport())
    }

    #[test]
    fn a_new_peer_gets_a_cookie_and_connects_with_it() {
        for (ours, syn) in syns() {
            let (acceptor, mut initiator) = (PlainAcceptor::new(ours, [1; 32]), session(ours));
            let first = emitted(&mut initiator, &syn);
            let FirstContact::Reply(answer) = first_contact(&acceptor, 0, &first) else {
                panic!("no cookie yet")
            };
            assert!(answer.len() <= first.len(), "{} bytes for {}", answer.len(), first.len());
            assert!(matches!(initiator.parse(&answer, (80, 1000)), Unprotected::NewCookie));
            let second = emitted(&mut initiator, &syn);
            assert_eq!(second.len(), first.len());
            assert!(matches!(first_contact(&acceptor, 0, &second), FirstContact::AddressProved));
            assert!(
                matches!(first_contact(&acceptor, 120, &second), FirstContact::Reply(_)),
                "the cookie has expired"
            );
        }
    }

    #[test]
    fn a_syn_shorter_than_the_answer_gets_none() {
        let acceptor = PlainAcceptor::new(Transports::default(), [1; 32]);
        let whole = emitted(&mut session(Transports::default()), &syns()[0].1);
        // One-byte padding options follow the version.
        let padded = |len: usize| [&whole[..12 + 3], &vec![0; len - 12 - 3]].concat();
        assert!(matches!(first_contact(&acceptor, 0, &padded(29)), FirstContact::Ignore));
        let FirstContact::Reply(answer) = first_contact(&acceptor, 0, &padded(30)) else {
            panic!("long enough")
        };
        assert_eq!(answer.len(), 30);
    }

    #[test]
    fn a_fourth_cookie_is_ignored() {
        for (ours, syn) in syns() {
            let mut initiator = session(ours);
            emitted(&mut initiator, &syn);
            let reply = |n| opening::cookie_reply(&syn, [n; 16]).unwrap();
            for n in 1..=MAX_COOKIES {
                assert!(matches!(initiator.parse(&reply(n), (80, 1000)), Unprotected::NewCookie));
                assert!(matches!(initiator.parse(&reply(n), (80, 1000)), Unprotected::Ignored));
            }
            assert!(matches!(initiator.parse(&reply(99), (80, 1000)), Unprotected::Ignored));
        }
    }

    #[test]
    fn a_listener_refuses_a_transport_that_it_does_not_have_and_names_its_own() {
        let [(tpa, tpa_syn), (mesh_only, mesh_syn)] = syns();
        let name = mesh_only.preferred;
        for (caller, syn, listener, expected) in [
            (tpa, &tpa_syn, tpa, Ok(TransportName::TPA)),
            (tpa, &tpa_syn, mesh(true), Ok(TransportName::TPA)),
            (mesh_only, &mesh_syn, mesh(true), Ok(name)),
            (mesh(true), &mesh_syn, mesh_only, Ok(name)),
            (mesh(true), &mesh_syn, tpa, Err(vec![TransportName::TPA])),
            (tpa, &tpa_syn, mesh_only, Err(vec![name])),
        ] {
            let mut initiator = session(caller);
            let bytes = emitted(&mut initiator, syn);
            match accept(listener, &bytes) {
                Ok(chosen) => assert_eq!(Ok(chosen), expected),
                Err(answer) => {
                    let answer = answer.expect("a refusal");
                    assert!(answer.len() <= bytes.len(), "{} bytes for {}", answer.len(), bytes.len());
                    let Unprotected::Refused(Refusal::Transports(theirs)) =
                        initiator.parse(&answer, (80, 1000))
                    else {
                        panic!("a refusal")
                    };
                    assert_eq!(Err(theirs), expected);
                }
            }
        }
    }

    #[test]
    fn a_syn_of_tpa_is_one_whatever_its_number_and_the_preferred_transport_of_the_listener() {
        let (caller, syn) = &syns()[0];
        let Segment::Tpa(syn) = syn else { panic!("a segment of TPA") };
        let custom = Transports { format: Format::Custom, ..mesh(true) };
        for listener in [*caller, mesh(true), custom, mesh(false)] {
            let acceptor = PlainAcceptor::new(listener, [1; 32]);
            for number in 0..=u16::MAX {
                let syn = Segment::Tpa(tpa::Segment { block: BlockSeq(number), ..syn.clone() });
                let mut initiator = session(*caller);
                let bytes = emitted(&mut initiator, &syn);
                let FirstContact::Reply(answer) = first_contact(&acceptor, 0, &bytes) else {
                    panic!("no cookie for {number}")
                };
                assert!(matches!(initiator.parse(&answer, (80, 1000)), Unprotected::NewCookie), "{number}");
            }
        }
    }

    #[test]
    fn a_refusal_counts_if_it_names_the_number_of_our_syn() {
        for (ours, syn) in syns() {
            for cause in [Cause::VERSION, Cause::TRANSPORT, Cause::NOT_PLAIN, Cause::BUSY] {
                let mut initiator = session(ours);
                let genuine = opening::refusal(&syn, cause, ours).unwrap();
                assert!(matches!(
                    initiator.parse(&genuine, (80, 1000)),
                    Unprotected::Segment(..) | Unprotected::Ignored
                ));
                emitted(&mut initiator, &syn);
                let mut forged = genuine.clone();
                // This is the low byte of the number, in the header of TPA and of control segments.
                forged[if ours.format == Format::Tpa { 5 } else { 7 }] ^= 1;
                assert!(!matches!(initiator.parse(&forged, (80, 1000)), Unprotected::Refused(_)));
                assert!(
                    matches!(initiator.parse(&genuine, (80, 1000)), Unprotected::Refused(_)),
                    "{cause:?}"
                );
            }
        }
    }
}
