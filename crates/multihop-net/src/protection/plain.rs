//! The plain protocol, and the cookies in its SYNs.

use multihop_core::Instant;
use multihop_transport::connection::Segment;
use multihop_wire::tpa::{self, Ack};

use super::acceptor::Acceptor;
use super::connection::Protection;
use super::cookie::{Cookie, CookieKey};
use super::destination::Destination;
use super::encrypted::SecureDatagram;
use super::encrypted::acceptor::refusal;
use super::encrypted::message::Reason;
use super::outcome::{FirstContact, Unprotected};
use super::syn;
use crate::datagram::{Entropy, IncomingDatagram};
use crate::segment::{Kind, answered, kind, number, parse};
use crate::transport::{TransportName, Transports};

/// The state of a plain connection.
#[derive(Debug, Default)]
pub(crate) struct PlainSession {
    /// What our SYN says.
    ours: Transports,
    /// What our answer to a SYN says.
    chosen: TransportName,
    /// The number of our SYN, while it is not answered.
    syn: Option<u32>,
    /// The listener's cookie; zeros ask for one.
    cookie: Cookie,
    /// Cookies taken.
    cookies: u8,
    /// For the data of the next segment.
    memory: Option<Vec<u8>>,
}

/// Accepts every peer that receives datagrams sent to its address.
pub(crate) struct PlainAcceptor {
    transports: Transports,
    cookies: CookieKey,
}

impl PlainSession {
    /// Takes memory for the data of the next segment.
    pub(super) fn reuse(&mut self, memory: Vec<u8>) {
        self.memory = Some(memory);
    }

    /// The transport that this end named or chose.
    pub(super) fn transport(&self) -> TransportName {
        self.chosen
    }

    /// Appends the datagram of `segment`.
    pub(super) fn emit(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        if kind(segment) == Kind::Syn {
            self.syn = number(segment);
            syn::emit_first(segment, self.ours, out);
            syn::put(syn::COOKIE, &self.cookie, out);
        } else {
            syn::emit(segment, self.chosen, out);
        }
    }

    /// Reads a datagram between these ports.
    pub(super) fn parse(&mut self, bytes: &[u8], ports: (u16, u16)) -> Unprotected {
        let Some(segment) = parse(bytes, ports, &mut self.memory) else { return Unprotected::Ignored };
        let answers = self.syn.is_some() && answered(&segment) == self.syn;
        if answers && kind(&segment) == Kind::SynAck {
            if let Some(cookie) = find(bytes) {
                return self.on_cookie(cookie);
            }
            self.syn = None;
            return Unprotected::Answer(segment, syn::transport(bytes));
        }
        Unprotected::Segment(segment, None)
    }

    /// Puts the cookie into the SYN from now on. A listener that sends one new cookie after another gets no more answers.
    fn on_cookie(&mut self, cookie: Cookie) -> Unprotected {
        if self.cookies >= MAX_COOKIES || cookie == self.cookie {
            return Unprotected::Ignored;
        }
        self.cookies += 1;
        self.cookie = cookie;
        Unprotected::NewCookie
    }
}

impl PlainAcceptor {
    pub(super) fn new(transports: Transports, key: [u8; 32]) -> Self {
        Self { transports, cookies: CookieKey::new(key) }
    }

    /// The state of a new connection.
    fn session(&self, chosen: TransportName) -> Protection {
        Protection::Plain(PlainSession { ours: self.transports, chosen, ..PlainSession::default() })
    }
}

impl Acceptor for PlainAcceptor {
    fn overhead(&self) -> u16 {
        0
    }

    fn initiate(&self, _name: &str, _entropy: &mut Entropy) -> Protection {
        self.session(self.transports.named())
    }

    fn destination(&self, _now: Instant, datagram: &IncomingDatagram<'_>) -> Option<Destination> {
        Some(Destination::Peer(datagram.from))
    }

    fn first_contact(
        &self,
        now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        listening: bool,
    ) -> FirstContact {
        let Some(segment) = parse(datagram.bytes, ports, &mut None) else {
            return refuse_encrypted(datagram.bytes);
        };
        if kind(&segment) != Kind::Syn || !listening {
            return FirstContact::Reset(segment);
        }
        let proves =
            find(datagram.bytes).is_some_and(|shown| self.cookies.verify(now, datagram.from, &shown));
        if proves {
            return FirstContact::AddressProved;
        }
        // No amplification: the address may be spoofed, so an answer is never longer than the SYN.
        if datagram.bytes.len() < ANSWER_LEN {
            return FirstContact::Ignore;
        }
        let reply = cookie_reply(&segment, &self.cookies.make(now, datagram.from));
        reply.map_or(FirstContact::Ignore, FirstContact::Reply)
    }

    fn accept(
        &self,
        _now: Instant,
        datagram: &IncomingDatagram<'_>,
        ports: (u16, u16),
        _entropy: &mut Entropy,
    ) -> Result<(Protection, Segment), Option<Vec<u8>>> {
        let syn = parse(datagram.bytes, ports, &mut None).ok_or(None)?;
        Ok((self.session(syn::choose(self.transports, datagram.bytes)), syn))
    }
}

/// Tells an initiator of the encrypted protocol that only the plain one is accepted.
fn refuse_encrypted(bytes: &[u8]) -> FirstContact {
    match SecureDatagram::parse(bytes) {
        Some(SecureDatagram::Hello { sender, .. } | SecureDatagram::OtherHello { sender }) => {
            FirstContact::Reply(refusal(sender, Reason::WantsPlain))
        }
        _ => FirstContact::Ignore,
    }
}

/// A SYN ACK with nothing but a cookie.
fn cookie_reply(syn: &Segment, cookie: &Cookie) -> Option<Vec<u8>> {
    let Segment::Tpa(syn) = syn else { return None };
    let ack = Ack { block: syn.block, tx_seq: syn.tx_seq, ..Ack::default() };
    let mut out = Vec::with_capacity(ANSWER_LEN);
    let bare = tpa::Segment {
        source: syn.destination,
        destination: syn.source,
        ack: Some(ack),
        ..tpa::Segment::default()
    };
    syn::emit_header(&bare, &mut out);
    syn::put(syn::COOKIE, cookie, &mut out);
    Some(out)
}

/// The cookie among the options of a SYN.
fn find(syn: &[u8]) -> Option<Cookie> {
    syn::find(syn::COOKIE, syn)?.try_into().ok()
}

/// A header, and a cookie with type and length.
const ANSWER_LEN: usize = syn::HEADER + 2 + size_of::<Cookie>();
/// A slow initiator may need a second one.
const MAX_COOKIES: u8 = 3;

#[cfg(test)]
mod tests {
    use multihop_wire::tpa::{BlockSeq, Body, Options};

    use super::*;

    fn syn(initiator: &mut PlainSession) -> Vec<u8> {
        let segment = tpa::Segment {
            block: BlockSeq(7),
            body: Body::Syn(Options::default()),
            source: 1000,
            destination: 80,
            ..tpa::Segment::default()
        };
        let mut out = Vec::new();
        initiator.emit(&Segment::Tpa(segment), &mut out);
        out
    }

    fn first_contact(acceptor: &PlainAcceptor, seconds: u64, bytes: &[u8]) -> FirstContact {
        let now = Instant::ZERO + multihop_core::Duration::from_secs(seconds);
        let datagram =
            IncomingDatagram { from: "10.0.0.1:1000".parse().unwrap(), local: None, ttl: None, bytes };
        acceptor.first_contact(now, &datagram, (1000, 80), true)
    }

    #[test]
    fn a_new_peer_gets_a_cookie_and_connects_with_it() {
        let (acceptor, mut initiator) =
            (PlainAcceptor::new(Transports::default(), [1; 32]), PlainSession::default());
        let first = syn(&mut initiator);
        let FirstContact::Reply(answer) = first_contact(&acceptor, 0, &first) else {
            panic!("no cookie yet")
        };
        assert!(answer.len() <= first.len(), "{} bytes for {}", answer.len(), first.len());
        assert!(matches!(initiator.parse(&answer, (80, 1000)), Unprotected::NewCookie));
        let second = syn(&mut initiator);
        assert_eq!(second.len(), first.len());
        assert!(matches!(first_contact(&acceptor, 0, &second), FirstContact::AddressProved));
        assert!(
            matches!(first_contact(&acceptor, 120, &second), FirstContact::Reply(_)),
            "the cookie has expired"
        );
    }

    #[test]
    fn a_syn_shorter_than_the_answer_gets_none() {
        let acceptor = PlainAcceptor::new(Transports::default(), [1; 32]);
        let whole = syn(&mut PlainSession::default());
        // One-byte padding options after the version.
        let padded = |len: usize| [&whole[..syn::HEADER + 3], &vec![0; len - syn::HEADER - 3]].concat();
        assert!(matches!(first_contact(&acceptor, 0, &padded(ANSWER_LEN - 1)), FirstContact::Ignore));
        let FirstContact::Reply(answer) = first_contact(&acceptor, 0, &padded(ANSWER_LEN)) else {
            panic!("long enough")
        };
        assert_eq!(answer.len(), ANSWER_LEN);
    }

    #[test]
    fn a_cookie_for_another_syn_and_a_fourth_cookie_are_ignored() {
        let mut initiator = PlainSession::default();
        let first = syn(&mut initiator);
        let asked = tpa::Segment::parse_in_udp(&first, 1000, 80).unwrap();
        let other = Segment::Tpa(tpa::Segment { block: BlockSeq(8), ..asked.clone() });
        let asked = Segment::Tpa(asked);
        let cookie_reply = |syn: &Segment, cookie: &Cookie| cookie_reply(syn, cookie).unwrap();
        assert!(matches!(
            initiator.parse(&cookie_reply(&other, &[9; 16]), (80, 1000)),
            Unprotected::Segment(..)
        ));
        for n in 1..=MAX_COOKIES {
            assert!(matches!(
                initiator.parse(&cookie_reply(&asked, &[n; 16]), (80, 1000)),
                Unprotected::NewCookie
            ));
            assert!(matches!(
                initiator.parse(&cookie_reply(&asked, &[n; 16]), (80, 1000)),
                Unprotected::Ignored
            ));
        }
        assert!(matches!(
            initiator.parse(&cookie_reply(&asked, &[99; 16]), (80, 1000)),
            Unprotected::Ignored
        ));
    }

    #[test]
    fn truncated_options_have_no_cookie() {
        let whole = syn(&mut PlainSession::default());
        for len in 0..whole.len() {
            assert_eq!(find(&whole[..len]), None, "{len} bytes");
        }
        assert_eq!(find(&whole), Some([0; 16]));
    }
}
