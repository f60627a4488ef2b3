use multihop_wire::tpa::{Ack, BlockSeq, Options};
use zeroize::Zeroizing;

use super::super::message::Pattern;
use super::*;
use crate::keys::{Identity, KnownPeers, Token};

const PORTS: (u16, u16) = (1, 2);
const NEWEST: Option<Freshness> = Some(Freshness::Newest);

fn terms(proof: Proof, peers: Peers) -> Arc<Terms> {
    Arc::new(Terms { proof, peers, rotation: Rotation { datagrams: 8, ..Rotation::DEFAULT } })
}

fn token() -> Arc<Terms> {
    terms(Proof::of_token(&Token::from_bytes([1; 15])), Peers::Any)
}

fn keys(n: u8, peers: Peers) -> Arc<Terms> {
    terms(Proof::Keys(Identity::from_secret([n; 32])), peers)
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

impl Seal {
    /// All datagrams that carry `segment`.
    fn say(&mut self, now: Instant, segment: &Segment) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        self.seal(now, segment, &mut out);
        let first = Some(out).filter(|out| !out.is_empty());
        first.into_iter().chain(self.pending.drain(..)).collect()
    }

    fn hear(&mut self, now: Instant, datagram: &[u8]) -> Opened {
        let message = Message::parse(datagram).expect("a message");
        self.open(now, message, peer(), true, PORTS)
    }

    fn answer_to(terms: &Arc<Terms>, hello: &[u8]) -> Option<(Self, Segment)> {
        let Some(Message::Hello { sender, noise, .. }) = Message::parse(hello) else { return None };
        Self::answer(terms, 0x2222, Zeroizing::new([2; 32]), (sender, noise, hello.len()), PORTS)
    }
}

/// A caller that has its cookie.
fn caller(terms: &Arc<Terms>) -> Seal {
    let mut caller = Seal::call(terms, 0x1111, &Zeroizing::new([1; 32]));
    let asks = caller.say(at_ms(0), &syn()).remove(0);
    assert_eq!((asks.len(), &asks[8..]), (message::MIN_HELLO, &[0; message::MIN_HELLO - 8][..]));
    assert_eq!(caller.hear(at_ms(0), &cookie(7)), Opened::Again);
    caller
}

fn cookie(n: u8) -> Vec<u8> {
    let mut reply = Vec::new();
    Message::CookieReply { receiver: 0x1111, cookie: [n; 16] }.emit(&mut reply);
    reply
}

/// Both ends after the listener's answer has left.
fn answered(one: &Arc<Terms>, two: &Arc<Terms>) -> (Seal, Seal, Vec<u8>) {
    let mut caller = caller(one);
    let hello = caller.say(at_ms(0), &syn()).remove(0);
    let (mut listener, first) = Seal::answer_to(two, &hello).unwrap();
    assert_eq!(first, syn());
    let answer = listener.say(at_ms(0), &syn_ack()).remove(0);
    assert!(answer.len() <= hello.len(), "{} bytes for {}", answer.len(), hello.len());
    (caller, listener, answer)
}

/// Both ends of a connection that stands.
fn open(one: &Arc<Terms>, two: &Arc<Terms>) -> (Seal, Seal) {
    let (mut caller, mut listener, answer) = answered(one, two);
    assert_eq!(caller.hear(at_ms(0), &answer), Opened::Segment(syn_ack(), None));
    let confirm = caller.say(at_ms(0), &ack());
    assert_eq!(confirm.len(), 1);
    let is_sealed = matches!(one.proof, Proof::Token(_)).then_some(Freshness::Newest);
    assert_eq!(listener.hear(at_ms(0), &confirm[0]), Opened::Segment(ack(), is_sealed));
    (caller, listener)
}

fn both() -> [(Arc<Terms>, Arc<Terms>); 2] {
    [(token(), token()), (keys(1, Peers::Any), keys(2, Peers::Any))]
}

#[test]
fn segments_go_both_ways_once_the_handshake_is_over() {
    for (one, two) in both() {
        let (mut caller, mut listener) = open(&one, &two);
        for n in 0..40_u8 {
            let there = caller.say(at_ms(1), &data(&[n]));
            assert_eq!(listener.hear(at_ms(1), &there[0]), Opened::Segment(data(&[n]), NEWEST));
            assert_eq!(listener.hear(at_ms(1), &there[0]), Opened::Seen, "replayed");
            let back = listener.say(at_ms(1), &ack());
            assert_eq!(caller.hear(at_ms(1), &back[0]), Opened::Segment(ack(), NEWEST));
        }
    }
}

#[test]
fn each_end_learns_the_others_key() {
    let (caller, listener) = open(&keys(1, Peers::Any), &keys(2, Peers::Any));
    assert_eq!((caller.peer_key(), listener.peer_key()), (Some(key(2)), Some(key(1))));
}

#[test]
fn a_hello_sent_again_is_the_same_but_for_the_cookie() {
    let mut caller = caller(&keys(1, Peers::Any));
    let first = caller.say(at_ms(0), &syn()).remove(0);
    assert_eq!(first.len(), message::MIN_HELLO);
    assert_eq!(caller.say(at_ms(1000), &Segment { tx_seq: 1, ..syn() }), std::slice::from_ref(&first));
    assert_eq!(caller.hear(at_ms(1), &cookie(7)), Opened::Nothing, "the same cookie again");
    assert_eq!(caller.hear(at_ms(1), &cookie(8)), Opened::Again);
    let mut second = first;
    second[8..24].fill(8);
    assert_eq!(caller.say(at_ms(1), &syn()), [second]);
}

#[test]
fn forged_cookies_do_not_keep_a_caller_busy() {
    let mut caller = Seal::call(&token(), 0x1111, &Zeroizing::new([1; 32]));
    caller.say(at_ms(0), &syn());
    let taken = (1..100).filter(|&n| caller.hear(at_ms(1), &cookie(n)) == Opened::Again);
    assert_eq!(taken.count(), usize::from(COOKIES));
}

#[test]
fn a_lost_answer_is_said_again_when_the_hello_comes_again() {
    for (one, two) in both() {
        let (mut caller, mut listener, answer) = answered(&one, &two);
        let hello = caller.say(at_ms(1000), &syn()).remove(0);
        assert_eq!(listener.hear(at_ms(1000), &hello), Opened::Nothing);
        assert_eq!(listener.pop_pending(), Some(answer.clone()));
        assert_eq!(listener.say(at_ms(1001), &syn_ack()), [answer], "its own timer does the same");
    }
}

#[test]
fn a_lost_confirmation_is_said_again_with_what_follows() {
    let (mut caller, mut listener, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    caller.hear(at_ms(0), &answer);
    let lost = caller.say(at_ms(0), &ack());
    let early = caller.say(at_ms(10), &data(b"early"));
    assert_eq!(early.len(), 1);
    let Some(Message::Data(_)) = Message::parse(&early[0]) else { panic!("not sealed") };
    let again = caller.say(at_ms(60), &data(b"again"));
    assert_eq!((again.len(), &again[0]), (2, &lost[0]));
    assert_eq!(listener.hear(at_ms(60), &early[0]), Opened::Nothing, "no keys yet");
    assert_eq!(listener.hear(at_ms(60), &again[0]), Opened::Segment(ack(), None));
    assert_eq!(listener.hear(at_ms(60), &again[1]), Opened::Segment(data(b"again"), NEWEST));
    // Once the listener has been heard it is no longer said.
    let heard = listener.say(at_ms(61), &ack());
    caller.hear(at_ms(61), &heard[0]);
    assert_eq!(caller.say(at_ms(500), &ack()).len(), 1);
}

#[test]
fn an_answer_said_again_shows_the_endpoint_its_syn_ack_again() {
    for (one, two) in both() {
        let (mut caller, mut listener, answer) = answered(&one, &two);
        caller.hear(at_ms(0), &answer);
        caller.say(at_ms(0), &ack());
        assert_eq!(caller.hear(at_ms(1000), &answer), Opened::Segment(syn_ack(), None));
        let again = caller.say(at_ms(1000), &ack());
        let taken: Vec<_> = again.iter().map(|datagram| listener.hear(at_ms(1000), datagram)).collect();
        assert!(taken.iter().any(|opened| matches!(opened, Opened::Segment(..))), "{taken:?}");
        let mut forged = answer;
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(caller.hear(at_ms(1001), &forged), Opened::Nothing);
    }
}

#[test]
fn data_in_front_of_the_confirmation_travels_behind_it() {
    let (mut caller, mut listener, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    caller.hear(at_ms(0), &answer);
    let datagrams = caller.say(at_ms(0), &data(&[1; 1000]));
    assert_eq!(datagrams.len(), 2);
    assert!(datagrams[0].len() < 100 && datagrams[1].len() < 1100);
    assert_eq!(listener.hear(at_ms(0), &datagrams[0]), Opened::Nothing);
    assert_eq!(listener.hear(at_ms(0), &datagrams[1]), Opened::Segment(data(&[1; 1000]), NEWEST));
}

#[test]
fn a_mangled_confirmation_does_not_spoil_the_genuine_one() {
    let (mut caller, mut listener, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    caller.hear(at_ms(0), &answer);
    let confirm = caller.say(at_ms(0), &ack()).remove(0);
    for at in 8..confirm.len() {
        let mut forged = confirm.clone();
        forged[at] ^= 1;
        assert_eq!(listener.hear(at_ms(0), &forged), Opened::Nothing, "byte {at}");
    }
    assert_eq!(listener.hear(at_ms(0), &confirm), Opened::Segment(ack(), None));
    assert_eq!(listener.hear(at_ms(0), &confirm), Opened::Nothing, "replayed");
}

#[test]
fn a_caller_refuses_another_key_than_the_one_it_knows() {
    let known = KnownPeers::in_memory();
    known.remember("10.0.0.1:7000", key(3)).unwrap();
    for peers in [Peers::Known(known), Peers::Exactly(key(3))] {
        let (mut caller, _, answer) = answered(&keys(1, peers), &keys(2, Peers::Any));
        assert_eq!(caller.hear(at_ms(0), &answer), Opened::WrongKey(key(2)));
        assert_eq!(caller.say(at_ms(0), &ack()), [[0; 0]; 0], "our own key stays with us");
    }
    open(&keys(1, Peers::Exactly(key(2))), &keys(2, Peers::Any));
    open(&keys(1, Peers::Known(KnownPeers::in_memory())), &keys(2, Peers::Any));
}

#[test]
fn a_listener_refuses_a_key_that_it_does_not_know_and_can_say_so() {
    for peers in [Peers::Known(KnownPeers::in_memory()), Peers::Exactly(key(3))] {
        let (mut caller, mut listener, answer) = answered(&keys(1, Peers::Any), &keys(2, peers));
        caller.hear(at_ms(0), &answer);
        let confirm = caller.say(at_ms(0), &ack());
        assert_eq!(listener.hear(at_ms(0), &confirm[0]), Opened::WrongKey(key(1)));
        let reset = Segment { body: Body::Reset, ..ack() };
        let said = listener.say(at_ms(0), &reset);
        assert_eq!(caller.hear(at_ms(0), &said[0]), Opened::Segment(reset, NEWEST));
        assert!(caller.is_turned_away());
    }
}

#[test]
fn a_reset_behind_other_words_turns_nobody_away() {
    let reset = Segment { body: Body::Reset, ..ack() };
    for (one, two) in both() {
        let (mut caller, mut listener) = open(&one, &two);
        for segment in [ack(), reset.clone()] {
            let said = listener.say(at_ms(0), &segment).remove(0);
            assert_eq!(caller.hear(at_ms(0), &said), Opened::Segment(segment, NEWEST));
        }
        assert!(!caller.is_turned_away());
    }
    // With a token there is no key to look at.
    let (mut caller, mut listener) = open(&token(), &token());
    let said = listener.say(at_ms(0), &reset).remove(0);
    caller.hear(at_ms(0), &said);
    assert!(!caller.is_turned_away());
}

#[test]
fn a_wrong_token_opens_nothing() {
    let mut caller = caller(&token());
    let hello = caller.say(at_ms(0), &syn()).remove(0);
    let other = terms(Proof::of_token(&Token::from_bytes([2; 15])), Peers::Any);
    assert!(Seal::answer_to(&other, &hello).is_none());
}

#[test]
fn only_segments_may_come_from_another_address() {
    for (one, two) in both() {
        let (mut caller, mut listener, answer) = answered(&one, &two);
        let message = Message::parse(&answer).unwrap();
        assert_eq!(caller.open(at_ms(0), message, peer(), false, PORTS), Opened::Nothing);
        caller.hear(at_ms(0), &answer);
        let confirm = caller.say(at_ms(0), &ack()).remove(0);
        listener.hear(at_ms(0), &confirm);
        let moved = caller.say(at_ms(0), &data(b"x")).remove(0);
        let opened = listener.open(at_ms(0), Message::parse(&moved).unwrap(), peer(), false, PORTS);
        assert_eq!(opened, Opened::Segment(data(b"x"), NEWEST));
    }
}

#[test]
fn nothing_that_arrives_in_a_handshake_panics() {
    let (mut caller, mut listener, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    let empty: [Message<'_>; 5] = [
        Message::Hello { pattern: Pattern::Keys, sender: 0x1111, cookie: [0; 16], noise: &[] },
        Message::CookieReply { receiver: 0x1111, cookie: [7; 16] },
        Message::Answer { receiver: 0x1111, sender: 1, noise: &[] },
        Message::Confirm { receiver: 0x2222, noise: &[] },
        Message::Refusal { receiver: 0x1111, reason: Reason::WantsPlain },
    ];
    for message in empty {
        for end in [&mut caller, &mut listener] {
            assert_eq!(end.open(at_ms(0), message, peer(), true, PORTS), Opened::Nothing);
        }
    }
    assert_eq!(caller.refusal(), Some(Reason::WantsPlain));
    assert_eq!(caller.hear(at_ms(0), &answer), Opened::Segment(syn_ack(), None));
}
