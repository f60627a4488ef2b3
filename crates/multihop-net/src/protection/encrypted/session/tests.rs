use multihop_core::Duration;
use multihop_wire::tpa::{Ack, BlockSeq, Options};
use zeroize::Zeroizing;

use super::super::message::Pattern;
use super::super::traffic::{Freshness, Rotation};
use super::*;
use crate::config::Peers;
use crate::keys::{AuthorizedKeys, Identity, KnownPeers, Token};
use crate::transport::TransportName;

const PORTS: (u16, u16) = (1, 2);
const NEWEST: Option<Freshness> = Some(Freshness::Newest);

fn credentials(proof: Proof, peers: Peers) -> Arc<Credentials> {
    Arc::new(Credentials {
        transport: TransportName::TPA,
        proof,
        peers,
        rotation: Rotation { datagrams: 8, ..Rotation::DEFAULT },
    })
}

fn token() -> Arc<Credentials> {
    credentials(Proof::of_token(&Token::from_bytes([1; 15])), Peers::Any)
}

fn keys(n: u8, peers: Peers) -> Arc<Credentials> {
    credentials(Proof::Keys(Identity::from_secret([n; 32])), peers)
}

fn key(n: u8) -> PublicKey {
    Identity::from_secret([n; 32]).public()
}

fn peer() -> SocketAddr {
    "10.0.0.1:7000".parse().unwrap()
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn syn() -> Segment {
    Segment { source: 1, destination: 2, body: Body::Syn(Options::default()), ..Segment::default() }
}

fn syn_ack() -> Segment {
    Segment { ack: Some(Ack::default()), ..syn() }
}

fn ack() -> Segment {
    let ack = Some(Ack { block: BlockSeq(9), ..Ack::default() });
    Segment { source: 1, destination: 2, ack, ..Segment::default() }
}

fn data(text: &[u8]) -> Segment {
    let body = Body::Data { position: 0, last: false, payload: text.to_vec().into() };
    Segment { body, ..ack() }
}

impl Session {
    /// All datagrams that carry `segment`.
    fn transmit(&mut self, now: Instant, segment: &Segment) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        self.send(now, segment, &mut out);
        let first = Some(out).filter(|out| !out.is_empty());
        first.into_iter().chain(self.pending.drain(..)).collect()
    }

    fn deliver(&mut self, now: Instant, datagram: &[u8]) -> Unprotected {
        let message = SecureDatagram::parse(datagram).expect("a message");
        self.receive(now, message, peer(), true, PORTS)
    }

    fn respond_to(credentials: &Arc<Credentials>, hello: &[u8]) -> Option<(Self, Segment)> {
        let Some(SecureDatagram::Hello { sender, noise, .. }) = SecureDatagram::parse(hello) else {
            return None;
        };
        let from = SocketAddr::from(([10, 0, 0, 1], PORTS.0));
        let hello = Hello { from, sender, noise, len: hello.len() };
        Self::respond(credentials, 0x2222, Zeroizing::new([2; 32]), hello, PORTS.1)
    }
}

/// An initiator that has its cookie.
fn initiator(credentials: &Arc<Credentials>) -> Session {
    let mut initiator = Session::initiate(credentials, 0x1111, &Zeroizing::new([1; 32]));
    let asks = initiator.transmit(at_ms(0), &syn()).remove(0);
    assert_eq!((asks.len(), &asks[8..]), (message::MIN_HELLO, &[0; message::MIN_HELLO - 8][..]));
    assert_eq!(initiator.deliver(at_ms(0), &cookie(7)), Unprotected::NewCookie);
    initiator
}

fn cookie(n: u8) -> Vec<u8> {
    let mut reply = Vec::new();
    SecureDatagram::CookieReply { receiver: 0x1111, cookie: [n; 16] }.emit(&mut reply);
    reply
}

/// Both ends after the responder has sent its answer.
fn answered(one: &Arc<Credentials>, two: &Arc<Credentials>) -> (Session, Session, Vec<u8>) {
    let mut initiator = initiator(one);
    let hello = initiator.transmit(at_ms(0), &syn()).remove(0);
    let (mut responder, first) = Session::respond_to(two, &hello).unwrap();
    assert_eq!(first, syn());
    let answer = responder.transmit(at_ms(0), &syn_ack()).remove(0);
    assert!(answer.len() <= hello.len(), "{} bytes for {}", answer.len(), hello.len());
    (initiator, responder, answer)
}

/// Both ends of an established connection.
fn open(one: &Arc<Credentials>, two: &Arc<Credentials>) -> (Session, Session) {
    let (mut initiator, mut responder, answer) = answered(one, two);
    assert_eq!(initiator.deliver(at_ms(0), &answer), Unprotected::Segment(syn_ack(), None));
    let confirm = initiator.transmit(at_ms(0), &ack());
    assert_eq!(confirm.len(), 1);
    let freshness = matches!(one.proof, Proof::Token(_)).then_some(Freshness::Newest);
    assert_eq!(responder.deliver(at_ms(0), &confirm[0]), Unprotected::Segment(ack(), freshness));
    (initiator, responder)
}

fn both() -> [(Arc<Credentials>, Arc<Credentials>); 2] {
    [(token(), token()), (keys(1, Peers::Any), keys(2, Peers::Any))]
}

#[test]
fn segments_travel_both_ways_after_the_handshake() {
    for (one, two) in both() {
        let (mut initiator, mut responder) = open(&one, &two);
        for n in 0..40_u8 {
            let there = initiator.transmit(at_ms(1), &data(&[n]));
            assert_eq!(responder.deliver(at_ms(1), &there[0]), Unprotected::Segment(data(&[n]), NEWEST));
            assert_eq!(responder.deliver(at_ms(1), &there[0]), Unprotected::Duplicate, "replayed");
            let back = responder.transmit(at_ms(1), &ack());
            assert_eq!(initiator.deliver(at_ms(1), &back[0]), Unprotected::Segment(ack(), NEWEST));
        }
    }
}

#[test]
fn each_end_learns_the_others_key() {
    let (initiator, responder) = open(&keys(1, Peers::Any), &keys(2, Peers::Any));
    assert_eq!((initiator.peer_key(), responder.peer_key()), (Some(key(2)), Some(key(1))));
}

#[test]
fn a_retransmitted_hello_differs_only_in_the_cookie() {
    let mut initiator = initiator(&keys(1, Peers::Any));
    let first = initiator.transmit(at_ms(0), &syn()).remove(0);
    assert_eq!(first.len(), message::MIN_HELLO);
    assert_eq!(
        initiator.transmit(at_ms(1000), &Segment { tx_seq: 1, ..syn() }),
        std::slice::from_ref(&first)
    );
    assert_eq!(initiator.deliver(at_ms(1), &cookie(7)), Unprotected::Ignored, "the same cookie again");
    assert_eq!(initiator.deliver(at_ms(1), &cookie(8)), Unprotected::NewCookie);
    let mut second = first;
    second[8..24].fill(8);
    assert_eq!(initiator.transmit(at_ms(1), &syn()), [second]);
}

#[test]
fn an_initiator_takes_a_limited_number_of_cookies() {
    let mut initiator = Session::initiate(&token(), 0x1111, &Zeroizing::new([1; 32]));
    initiator.transmit(at_ms(0), &syn());
    let taken = (1..100).filter(|&n| initiator.deliver(at_ms(1), &cookie(n)) == Unprotected::NewCookie);
    assert_eq!(taken.count(), usize::from(MAX_COOKIES));
}

#[test]
fn a_lost_answer_is_retransmitted_when_the_hello_is() {
    for (one, two) in both() {
        let (mut initiator, mut responder, answer) = answered(&one, &two);
        let hello = initiator.transmit(at_ms(1000), &syn()).remove(0);
        assert_eq!(responder.deliver(at_ms(1000), &hello), Unprotected::Ignored);
        assert_eq!(responder.pop_pending(), Some(answer.clone()));
        assert_eq!(responder.transmit(at_ms(1001), &syn_ack()), [answer], "its own timer does the same");
    }
}

#[test]
fn a_lost_confirmation_is_retransmitted_with_the_next_segment() {
    let (mut initiator, mut responder, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    initiator.deliver(at_ms(0), &answer);
    let lost = initiator.transmit(at_ms(0), &ack());
    let early = initiator.transmit(at_ms(10), &data(b"early"));
    assert_eq!(early.len(), 1);
    let Some(SecureDatagram::Data(_)) = SecureDatagram::parse(&early[0]) else { panic!("not encrypted") };
    let again = initiator.transmit(at_ms(60), &data(b"again"));
    assert_eq!((again.len(), &again[0]), (2, &lost[0]));
    assert_eq!(responder.deliver(at_ms(60), &early[0]), Unprotected::Ignored, "no keys yet");
    assert_eq!(responder.deliver(at_ms(60), &again[0]), Unprotected::Segment(ack(), None));
    assert_eq!(responder.deliver(at_ms(60), &again[1]), Unprotected::Segment(data(b"again"), NEWEST));
    // After a segment from the responder, the confirmation is not retransmitted.
    let sent = responder.transmit(at_ms(61), &ack());
    initiator.deliver(at_ms(61), &sent[0]);
    assert_eq!(initiator.transmit(at_ms(500), &ack()).len(), 1);
}

#[test]
fn a_retransmitted_answer_delivers_the_syn_ack_once_more() {
    for (one, two) in both() {
        let (mut initiator, mut responder, answer) = answered(&one, &two);
        initiator.deliver(at_ms(0), &answer);
        initiator.transmit(at_ms(0), &ack());
        assert_eq!(initiator.deliver(at_ms(1000), &answer), Unprotected::Segment(syn_ack(), None));
        let again = initiator.transmit(at_ms(1000), &ack());
        let taken: Vec<_> = again.iter().map(|datagram| responder.deliver(at_ms(1000), datagram)).collect();
        assert!(taken.iter().any(|received| matches!(received, Unprotected::Segment(..))), "{taken:?}");
        let mut forged = answer;
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(initiator.deliver(at_ms(1001), &forged), Unprotected::Ignored);
    }
}

#[test]
fn data_before_the_confirmation_is_sent_after_it() {
    let (mut initiator, mut responder, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    initiator.deliver(at_ms(0), &answer);
    let datagrams = initiator.transmit(at_ms(0), &data(&[1; 1000]));
    assert_eq!(datagrams.len(), 2);
    assert!(datagrams[0].len() < 100 && datagrams[1].len() < 1100);
    assert_eq!(responder.deliver(at_ms(0), &datagrams[0]), Unprotected::Ignored);
    assert_eq!(responder.deliver(at_ms(0), &datagrams[1]), Unprotected::Segment(data(&[1; 1000]), NEWEST));
}

#[test]
fn a_forged_confirmation_does_not_prevent_the_genuine_one() {
    let (mut initiator, mut responder, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    initiator.deliver(at_ms(0), &answer);
    let confirm = initiator.transmit(at_ms(0), &ack()).remove(0);
    for at in 8..confirm.len() {
        let mut forged = confirm.clone();
        forged[at] ^= 1;
        assert_eq!(responder.deliver(at_ms(0), &forged), Unprotected::Ignored, "byte {at}");
    }
    assert_eq!(responder.deliver(at_ms(0), &confirm), Unprotected::Segment(ack(), None));
    assert_eq!(responder.deliver(at_ms(0), &confirm), Unprotected::Ignored, "replayed");
}

#[test]
fn an_initiator_refuses_a_key_other_than_the_known_one() {
    let known = KnownPeers::in_memory();
    known.remember("10.0.0.1:7000", key(3)).unwrap();
    for peers in [Peers::Known(known), Peers::Exactly(key(3))] {
        let (mut initiator, _, answer) = answered(&keys(1, peers), &keys(2, Peers::Any));
        assert_eq!(initiator.deliver(at_ms(0), &answer), Unprotected::WrongKey(key(2)));
        assert_eq!(initiator.transmit(at_ms(0), &ack()), [[0; 0]; 0], "our own key is not revealed");
    }
    open(&keys(1, Peers::Exactly(key(2))), &keys(2, Peers::Any));
    open(&keys(1, Peers::Known(KnownPeers::in_memory())), &keys(2, Peers::Any));
}

#[test]
fn a_responder_refuses_an_unknown_key_and_can_send_a_reset() {
    for peers in [Peers::Authorized(AuthorizedKeys::in_memory([key(3)])), Peers::Exactly(key(3))] {
        let (mut initiator, mut responder, answer) = answered(&keys(1, Peers::Any), &keys(2, peers));
        initiator.deliver(at_ms(0), &answer);
        let confirm = initiator.transmit(at_ms(0), &ack());
        assert_eq!(responder.deliver(at_ms(0), &confirm[0]), Unprotected::WrongKey(key(1)));
        let reset = Segment { body: Body::Reset, ..ack() };
        let sent = responder.transmit(at_ms(0), &reset);
        assert_eq!(initiator.deliver(at_ms(0), &sent[0]), Unprotected::Segment(reset, NEWEST));
        assert!(initiator.is_key_rejected());
    }
}

#[test]
fn only_a_reset_as_the_first_segment_means_that_the_key_was_rejected() {
    let reset = Segment { body: Body::Reset, ..ack() };
    for (one, two) in both() {
        let (mut initiator, mut responder) = open(&one, &two);
        for segment in [ack(), reset.clone()] {
            let sent = responder.transmit(at_ms(0), &segment).remove(0);
            assert_eq!(initiator.deliver(at_ms(0), &sent), Unprotected::Segment(segment, NEWEST));
        }
        assert!(!initiator.is_key_rejected());
    }
    // With a token there is no key to reject.
    let (mut initiator, mut responder) = open(&token(), &token());
    let sent = responder.transmit(at_ms(0), &reset).remove(0);
    initiator.deliver(at_ms(0), &sent);
    assert!(!initiator.is_key_rejected());
}

#[test]
fn a_wrong_token_makes_no_session() {
    let mut initiator = initiator(&token());
    let hello = initiator.transmit(at_ms(0), &syn()).remove(0);
    let other = credentials(Proof::of_token(&Token::from_bytes([2; 15])), Peers::Any);
    assert!(Session::respond_to(&other, &hello).is_none());
}

#[test]
fn only_segments_may_come_from_another_address() {
    for (one, two) in both() {
        let (mut initiator, mut responder, answer) = answered(&one, &two);
        let message = SecureDatagram::parse(&answer).unwrap();
        assert_eq!(initiator.receive(at_ms(0), message, peer(), false, PORTS), Unprotected::Ignored);
        initiator.deliver(at_ms(0), &answer);
        let confirm = initiator.transmit(at_ms(0), &ack()).remove(0);
        responder.deliver(at_ms(0), &confirm);
        let moved = initiator.transmit(at_ms(0), &data(b"x")).remove(0);
        let received =
            responder.receive(at_ms(0), SecureDatagram::parse(&moved).unwrap(), peer(), false, PORTS);
        assert_eq!(received, Unprotected::Segment(data(b"x"), NEWEST));
    }
}

#[test]
fn no_datagram_during_a_handshake_panics() {
    let (mut initiator, mut responder, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    let empty: [SecureDatagram<'_>; 5] = [
        SecureDatagram::Hello { pattern: Pattern::Keys, sender: 0x1111, cookie: [0; 16], noise: &[] },
        SecureDatagram::CookieReply { receiver: 0x1111, cookie: [7; 16] },
        SecureDatagram::Answer { receiver: 0x1111, sender: 1, noise: &[] },
        SecureDatagram::Confirm { receiver: 0x2222, noise: &[] },
        SecureDatagram::Refusal { receiver: 0x1111, reason: Reason::WantsPlain },
    ];
    for message in empty {
        for end in [&mut initiator, &mut responder] {
            assert_eq!(end.receive(at_ms(0), message, peer(), true, PORTS), Unprotected::Ignored);
        }
    }
    assert_eq!(initiator.refusal(), Some(Reason::WantsPlain));
    assert_eq!(initiator.deliver(at_ms(0), &answer), Unprotected::Segment(syn_ack(), None));
}
