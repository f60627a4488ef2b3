use multihop_core::Duration;
use multihop_wire::tpa::{self, Ack, BlockSeq, Body, Options};
use zeroize::Zeroizing;

use super::super::initiating::MAX_COOKIES;
use super::super::message::{self, Pattern};
use super::super::noise::Proof;
use super::super::reset::ResetKey;
use super::super::traffic::Rotation;
use super::*;
use crate::config::{PeerKeys, Peers};
use crate::keys::{Identity, PublicKey, Token};
use crate::protection::outcome::Freshness;
use crate::reason::Reason;
use crate::transport::{TransportName, Transports};

const PORTS: (u16, u16) = (1, 2);
const NEWEST: Option<Freshness> = Some(Freshness::Newest);

fn credentials(proof: Proof, peers: Peers) -> Arc<Credentials> {
    Arc::new(Credentials {
        transports: Transports::default(),
        resets: Some(ResetKey::new(&proof, 2)),
        proof,
        peers,
        rotation: Rotation { datagrams: 8, ..Rotation::DEFAULT },
    })
}

fn token() -> Arc<Credentials> {
    credentials(Proof::of_token(&Token::from_bytes([1; 15])), Peers::Any)
}

fn keys(n: u8, peers: Peers) -> Arc<Credentials> {
    credentials(Proof::Keys(Identity::from_secret([n; 32]), None), peers)
}

fn key(n: u8) -> PublicKey {
    Identity::from_secret([n; 32]).public()
}

fn entropy(seed: u8) -> Entropy {
    Box::new(move |bytes| bytes.fill(seed))
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn tpa_syn() -> tpa::Segment {
    tpa::Segment { source: 1, destination: 2, body: Body::Syn(Options::default()), ..tpa::Segment::default() }
}

fn tpa_ack() -> tpa::Segment {
    let ack = Some(Ack { block: BlockSeq(9), ..Ack::default() });
    tpa::Segment { source: 1, destination: 2, ack, ..tpa::Segment::default() }
}

fn syn() -> Segment {
    Segment::Tpa(tpa_syn())
}

fn syn_ack() -> Segment {
    Segment::Tpa(tpa::Segment { ack: Some(Ack::default()), ..tpa_syn() })
}

fn ack() -> Segment {
    Segment::Tpa(tpa_ack())
}

fn data(text: &[u8]) -> Segment {
    let body = Body::Data { position: 0, last: false, payload: text.to_vec().into() };
    Segment::Tpa(tpa::Segment { body, ..tpa_ack() })
}

impl Session {
    /// All datagrams in which `segment` is sent.
    fn transmit(&mut self, now: Instant, segment: &Segment) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        self.send(now, segment, Path::Current, &mut out);
        let first = Some(out).filter(|out| !out.is_empty());
        first.into_iter().chain(self.pending.drain(..).map(|pending| pending.bytes)).collect()
    }

    fn deliver(&mut self, now: Instant, datagram: &[u8]) -> Unprotected {
        let message = SecureDatagram::parse(datagram).expect("a message");
        self.receive(now, message, true, PORTS, &mut entropy(1))
    }

    /// Takes the offer of new keys that is due.
    fn offer(&mut self, now: Instant, seed: u8) -> Option<Vec<u8>> {
        self.refresh(now, &mut entropy(seed));
        self.pop_pending().map(|pending| pending.bytes)
    }

    fn respond_to(credentials: &Arc<Credentials>, hello: &[u8]) -> Result<(Self, Segment), Rejection> {
        let Some(SecureDatagram::Hello { sender, cookie, noise, .. }) = SecureDatagram::parse(hello) else {
            panic!("not a hello")
        };
        let from = SocketAddr::from(([10, 0, 0, 1], PORTS.0));
        let hello = Hello { from, sender, cookie, noise, datagram: hello };
        Self::respond(credentials, 0x2222, &Zeroizing::new([2; 32]), hello, PORTS.1)
    }
}

/// An initiator that has sent no hello yet.
fn fresh(credentials: &Arc<Credentials>) -> Session {
    let listener = credentials.listener_key("10.0.0.1:7000");
    Session::initiate(credentials, TransportName::TPA, listener, 0x1111, Zeroizing::new([1; 32]))
}

/// An initiator that has its cookie, and with keys the key of the listener.
fn initiator(credentials: &Arc<Credentials>) -> Session {
    let mut initiator = fresh(credentials);
    let asks = initiator.transmit(at_ms(0), &syn()).remove(0);
    assert!(asks.len() >= message::MIN_HELLO && asks[8..24] == [0; 16]);
    let key = matches!(credentials.proof, Proof::Keys(..)).then(|| key(2));
    assert_eq!(initiator.deliver(at_ms(0), &cookie(7, key)), Unprotected::NewCookie);
    initiator
}

fn cookie(n: u8, key: Option<PublicKey>) -> Vec<u8> {
    let mut reply = Vec::new();
    SecureDatagram::CookieReply { receiver: 0x1111, cookie: [n; 16], key }.emit(&mut reply);
    reply
}

/// Creates both ends at the point after the responder's answer.
fn answered(one: &Arc<Credentials>, two: &Arc<Credentials>) -> (Session, Session, Vec<u8>) {
    let mut initiator = initiator(one);
    let hello = initiator.transmit(at_ms(0), &syn()).remove(0);
    let (mut responder, first) = Session::respond_to(two, &hello).ok().unwrap();
    assert_eq!(first, syn());
    let answer = responder.transmit(at_ms(0), &syn_ack()).remove(0);
    assert!(answer.len() <= hello.len(), "{} bytes for {}", answer.len(), hello.len());
    (initiator, responder, answer)
}

/// Creates both ends of an established connection.
fn open(one: &Arc<Credentials>, two: &Arc<Credentials>) -> (Session, Session) {
    let (mut initiator, mut responder, answer) = answered(one, two);
    assert_eq!(initiator.deliver(at_ms(0), &answer), Unprotected::Answer(syn_ack(), TransportName::TPA));
    let confirms = initiator.transmit(at_ms(0), &ack());
    assert_eq!(confirms.len(), 1);
    assert_eq!(responder.deliver(at_ms(0), &confirms[0]), Unprotected::Segment(ack(), NEWEST));
    (initiator, responder)
}

fn both() -> [(Arc<Credentials>, Arc<Credentials>); 2] {
    [(token(), token()), (keys(1, Peers::Any), keys(2, Peers::Any))]
}

/// List of accepted keys: keys of the listener at 10.0.0.1:7000, and keys of callers.
#[derive(Debug)]
struct Listed {
    listeners: Vec<PublicKey>,
    callers: Vec<PublicKey>,
}

impl PeerKeys for Listed {
    fn accept_caller(&self, key: PublicKey) -> bool {
        self.callers.contains(&key)
    }

    fn of_listener(&self, name: &str) -> Option<Vec<PublicKey>> {
        Some(self.listeners.clone()).filter(|keys| name == "10.0.0.1:7000" && !keys.is_empty())
    }
}

fn listeners<const N: usize>(keys: [PublicKey; N]) -> Peers {
    Peers::Listed(Arc::new(Listed { listeners: keys.to_vec(), callers: Vec::new() }))
}

fn callers<const N: usize>(keys: [PublicKey; N]) -> Peers {
    Peers::Listed(Arc::new(Listed { listeners: Vec::new(), callers: keys.to_vec() }))
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
fn a_retransmitted_hello_has_the_same_bytes_also_after_forged_cookies() {
    for credentials in [token(), keys(1, Peers::Any)] {
        let mut initiator = initiator(&credentials);
        let first = initiator.transmit(at_ms(0), &syn()).remove(0);
        let again = Segment::Tpa(tpa::Segment { tx_seq: 1, ..tpa_syn() });
        assert_eq!(initiator.transmit(at_ms(1000), &again), std::slice::from_ref(&first));
        let genuine = cookie(7, initiator_key(&credentials));
        assert_eq!(initiator.deliver(at_ms(1), &genuine), Unprotected::Ignored, "the same cookie again");
        for forged in [cookie(8, initiator_key(&credentials)), cookie(7, Some(key(66)))] {
            if forged == genuine || (initiator_key(&credentials).is_none() && forged.len() > 24) {
                continue;
            }
            assert_eq!(initiator.deliver(at_ms(1), &forged), Unprotected::NewCookie);
            let other = initiator.transmit(at_ms(1), &again).remove(0);
            assert_ne!(other[24..56], first[24..56], "another ephemeral key");
            assert_eq!(initiator.deliver(at_ms(1), &genuine), Unprotected::NewCookie);
            assert_eq!(initiator.transmit(at_ms(1), &again), std::slice::from_ref(&first));
        }
    }
}

#[test]
fn an_answer_to_the_hello_with_the_cookie_before_counts() {
    for (one, two) in both() {
        let (mut initiator, _, answer) = answered(&one, &two);
        assert_eq!(initiator.deliver(at_ms(1), &cookie(8, initiator_key(&one))), Unprotected::NewCookie);
        initiator.transmit(at_ms(1), &syn());
        assert_eq!(initiator.deliver(at_ms(2), &answer), Unprotected::Answer(syn_ack(), TransportName::TPA));
    }
}

/// The listener's public key, as contained in its cookie datagrams.
fn initiator_key(credentials: &Credentials) -> Option<PublicKey> {
    matches!(credentials.proof, Proof::Keys(..)).then(|| key(2))
}

#[test]
fn an_initiator_takes_a_limited_number_of_cookies() {
    let mut initiator = fresh(&token());
    initiator.transmit(at_ms(0), &syn());
    let taken = (1..100).filter(|&n| initiator.deliver(at_ms(1), &cookie(n, None)) == Unprotected::NewCookie);
    assert_eq!(taken.count(), usize::from(MAX_COOKIES));
}

#[test]
fn a_hello_proves_its_sender_as_soon_as_the_listener_is_known() {
    for (one, two) in [
        (token(), token()),
        (keys(1, Peers::Exactly(key(2))), keys(2, Peers::Exactly(key(1)))),
        (keys(1, listeners([key(2)])), keys(2, Peers::Any)),
    ] {
        let hello = fresh(&one).transmit(at_ms(0), &syn()).remove(0);
        assert!(Session::respond_to(&two, &hello).is_ok());
    }
    // At first contact the initiator cannot prove its identity, because it has no key of the listener.
    let hello = fresh(&keys(1, Peers::Any)).transmit(at_ms(0), &syn()).remove(0);
    assert_eq!(hello[8..], [0; message::MIN_HELLO - 8]);
}

#[test]
fn a_hello_with_another_cookie_is_rejected() {
    for (one, two) in both() {
        let mut hello = initiator(&one).transmit(at_ms(0), &syn()).remove(0);
        hello[8] ^= 1;
        let expected =
            if matches!(two.proof, Proof::Token(_)) { Rejection::Unreadable } else { Rejection::Unsealed };
        assert_eq!(Session::respond_to(&two, &hello).err(), Some(expected));
    }
}

#[test]
fn a_lost_answer_is_retransmitted_when_the_hello_is() {
    for (one, two) in both() {
        let (mut initiator, mut responder, answer) = answered(&one, &two);
        let hello = initiator.transmit(at_ms(1000), &syn()).remove(0);
        assert_eq!(responder.deliver(at_ms(1000), &hello), Unprotected::Ignored);
        assert_eq!(responder.pop_pending().map(|pending| pending.bytes), Some(answer.clone()));
        assert_eq!(responder.transmit(at_ms(1001), &syn_ack()), [answer], "its own timer does the same");
    }
}

#[test]
fn a_retransmitted_answer_delivers_the_syn_ack_once_more() {
    for (one, two) in both() {
        let (mut initiator, mut responder, answer) = answered(&one, &two);
        initiator.deliver(at_ms(0), &answer);
        initiator.transmit(at_ms(0), &ack());
        assert_eq!(initiator.deliver(at_ms(1000), &answer), Unprotected::Segment(syn_ack(), None));
        let again = initiator.transmit(at_ms(1000), &ack()).remove(0);
        assert_eq!(responder.deliver(at_ms(1000), &again), Unprotected::Segment(ack(), NEWEST));
        let mut forged = answer;
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(initiator.deliver(at_ms(1001), &forged), Unprotected::Ignored);
    }
}

#[test]
fn the_first_segment_confirms_also_if_it_has_data() {
    for (one, two) in both() {
        let (mut initiator, mut responder, answer) = answered(&one, &two);
        initiator.deliver(at_ms(0), &answer);
        let datagram = initiator.transmit(at_ms(0), &data(&[1; 1000])).remove(0);
        assert_eq!(responder.deliver(at_ms(0), &datagram), Unprotected::Segment(data(&[1; 1000]), NEWEST));
    }
}

#[test]
fn a_forged_segment_does_not_confirm() {
    for (one, two) in both() {
        let (mut initiator, mut responder, answer) = answered(&one, &two);
        initiator.deliver(at_ms(0), &answer);
        let confirm = initiator.transmit(at_ms(0), &ack()).remove(0);
        for at in 8..confirm.len() {
            let mut forged = confirm.clone();
            forged[at] ^= 1;
            assert_eq!(responder.deliver(at_ms(0), &forged), Unprotected::Ignored, "byte {at}");
        }
        assert_eq!(responder.deliver(at_ms(0), &confirm), Unprotected::Segment(ack(), NEWEST));
        assert_eq!(responder.deliver(at_ms(0), &confirm), Unprotected::Duplicate, "replayed");
    }
}

#[test]
fn an_initiator_refuses_a_key_other_than_the_known_one() {
    for peers in [listeners([key(3)]), Peers::Exactly(key(3))] {
        // The listener, or an attacker, claims key 2.
        let mut initiator = initiator(&keys(1, peers));
        assert_eq!(initiator.refusal(), None, "the genuine listener may still answer");
        let hello = initiator.transmit(at_ms(0), &syn()).remove(0);
        let rejection = Session::respond_to(&keys(2, Peers::Any), &hello).err();
        assert_eq!(rejection, Some(Rejection::Unsealed), "our key is not revealed to it");
        assert_eq!(initiator.refusal(), Some(Error::WrongKey(key(2))));
        let (mut genuine, _) = Session::respond_to(&keys(3, Peers::Any), &hello).ok().unwrap();
        let answer = genuine.transmit(at_ms(0), &syn_ack()).remove(0);
        assert_eq!(initiator.deliver(at_ms(0), &answer), Unprotected::Answer(syn_ack(), TransportName::TPA));
        assert_eq!((initiator.peer_key(), initiator.refusal()), (Some(key(3)), None));
    }
    open(&keys(1, Peers::Exactly(key(2))), &keys(2, Peers::Any));
    open(&keys(1, listeners([])), &keys(2, Peers::Any));
}

#[test]
fn a_listener_with_several_known_keys_may_have_any_of_them() {
    let (initiator, _) = open(&keys(1, listeners([key(3), key(2)])), &keys(2, Peers::Any));
    assert_eq!(initiator.peer_key(), Some(key(2)));
}

#[test]
fn a_responder_rejects_an_unknown_key_without_a_session() {
    for peers in [callers([key(3)]), Peers::Exactly(key(3))] {
        let hello = initiator(&keys(1, Peers::Any)).transmit(at_ms(0), &syn()).remove(0);
        let rejection = Session::respond_to(&keys(2, peers), &hello).err();
        assert_eq!(rejection, Some(Rejection::UnknownKey(key(1))));
    }
}

#[test]
fn a_wrong_token_makes_no_session() {
    let mut initiator = initiator(&token());
    let hello = initiator.transmit(at_ms(0), &syn()).remove(0);
    let other = credentials(Proof::of_token(&Token::from_bytes([2; 15])), Peers::Any);
    assert_eq!(Session::respond_to(&other, &hello).err(), Some(Rejection::Unreadable));
}

#[test]
fn only_segments_may_come_from_another_address() {
    for (one, two) in both() {
        let (mut initiator, mut responder, answer) = answered(&one, &two);
        let message = SecureDatagram::parse(&answer).unwrap();
        assert_eq!(initiator.receive(at_ms(0), message, false, PORTS, &mut entropy(1)), Unprotected::Ignored);
        initiator.deliver(at_ms(0), &answer);
        let confirm = initiator.transmit(at_ms(0), &ack()).remove(0);
        responder.deliver(at_ms(0), &confirm);
        let moved = initiator.transmit(at_ms(0), &data(b"x")).remove(0);
        let received = responder.receive(
            at_ms(0),
            SecureDatagram::parse(&moved).unwrap(),
            false,
            PORTS,
            &mut entropy(1),
        );
        assert_eq!(received, Unprotected::Segment(data(b"x"), NEWEST));
    }
}

#[test]
fn no_datagram_during_a_handshake_panics() {
    let (mut initiator, mut responder, answer) = answered(&keys(1, Peers::Any), &keys(2, Peers::Any));
    let empty: [SecureDatagram<'_>; 7] = [
        SecureDatagram::VersionProbe { sender: 0x1111 },
        SecureDatagram::EarlierAnswer { receiver: 0x1111 },
        SecureDatagram::Hello { pattern: Pattern::Keys, sender: 0x1111, cookie: [0; 16], noise: &[] },
        SecureDatagram::OtherHello { sender: 0x1111, version: Some(2) },
        SecureDatagram::CookieReply { receiver: 0x1111, cookie: [7; 16], key: None },
        SecureDatagram::Answer { receiver: 0x1111, sender: 1, noise: &[] },
        SecureDatagram::Refusal { receiver: 0x1111, reason: Reason::WantsPlain, version: 3 },
    ];
    for message in empty {
        for end in [&mut initiator, &mut responder] {
            assert_eq!(end.receive(at_ms(0), message, true, PORTS, &mut entropy(1)), Unprotected::Ignored);
        }
    }
    assert_eq!(initiator.refusal(), Some(Error::Declined(Reason::WantsPlain)));
    assert_eq!(initiator.deliver(at_ms(0), &answer), Unprotected::Answer(syn_ack(), TransportName::TPA));
}

/// Sends data in both directions and checks its arrival; returns the numbers of the keys used.
fn exchange(initiator: &mut Session, responder: &mut Session) -> (u64, u64) {
    let there = initiator.transmit(at_ms(0), &data(b"there")).remove(0);
    assert_eq!(responder.deliver(at_ms(0), &there), Unprotected::Segment(data(b"there"), NEWEST));
    let back = responder.transmit(at_ms(0), &ack()).remove(0);
    assert_eq!(initiator.deliver(at_ms(0), &back), Unprotected::Segment(ack(), NEWEST));
    (initiator.key_changes(), responder.key_changes())
}

const REKEY: Unprotected = Unprotected::Processed(Freshness::Newest);

/// Both ends of a connection that have exchanged enough datagrams for new keys to be due.
fn worn(one: &Arc<Credentials>, two: &Arc<Credentials>) -> (Session, Session) {
    let (mut initiator, mut responder) = open(one, two);
    assert_eq!(exchange(&mut initiator, &mut responder), (0, 0));
    assert_eq!(initiator.offer(at_ms(0), 5), None, "too early");
    for _ in 0..4 {
        exchange(&mut initiator, &mut responder);
    }
    (initiator, responder)
}

#[test]
fn an_offer_and_its_answer_replace_the_keys_of_both_directions() {
    for (one, two) in both() {
        let (mut initiator, mut responder) = worn(&one, &two);
        for number in 0..3 {
            let offer = initiator.offer(at_ms(0), 5).unwrap();
            assert_eq!(responder.deliver(at_ms(0), &offer), REKEY);
            let answer = responder.pop_pending().map(|pending| pending.bytes).unwrap();
            assert_eq!(exchange(&mut initiator, &mut responder), (number, number), "data does not wait");
            assert_eq!(initiator.deliver(at_ms(0), &answer), Unprotected::Processed(Freshness::Late));
            assert_eq!(exchange(&mut initiator, &mut responder), (number + 1, number + 1));
            assert_eq!(initiator.offer(at_ms(0), 5), None);
            for _ in 0..4 {
                exchange(&mut initiator, &mut responder);
            }
        }
    }
}

#[test]
fn only_the_initiator_offers_and_only_the_responder_accepts() {
    for (one, two) in both() {
        let (mut initiator, mut responder) = worn(&one, &two);
        assert_eq!(responder.offer(at_ms(0), 5), None);
        let (mut other, mut third) = worn(&one, &two);
        let offer = initiator.offer(at_ms(0), 5).unwrap();
        third.deliver(at_ms(0), &other.offer(at_ms(0), 6).unwrap());
        // Offers and accepts come from peers in the wrong role.
        let (Stage::Established(bad), Stage::Established(worse)) = (&mut responder.stage, &mut other.stage)
        else {
            panic!("not established")
        };
        let wrong = bad.encrypt_message(at_ms(0), Content::Offer, Path::Current, &[0; 104]).unwrap();
        let useless = worse.encrypt_message(at_ms(0), Content::Accept, Path::Current, &[0; 56]).unwrap();
        assert_eq!(initiator.deliver(at_ms(0), &wrong), REKEY);
        assert_eq!(initiator.pop_pending().map(|pending| pending.bytes), None);
        assert_eq!(third.deliver(at_ms(0), &useless), REKEY);
        responder.deliver(at_ms(0), &offer);
        initiator.deliver(at_ms(0), &responder.pop_pending().map(|pending| pending.bytes).unwrap());
        assert_eq!(exchange(&mut initiator, &mut responder), (1, 1));
    }
}

#[test]
fn lost_late_and_repeated_messages_about_keys_do_no_harm() {
    for (one, two) in both() {
        let (mut initiator, mut responder) = worn(&one, &two);
        let lost = initiator.offer(at_ms(0), 5).unwrap();
        assert_eq!(initiator.offer(at_ms(999), 6), None);
        let offer = initiator.offer(at_ms(1000), 6).unwrap();
        assert_eq!(responder.deliver(at_ms(1000), &offer), REKEY);
        responder.pop_pending().map(|pending| pending.bytes).expect("this answer is lost");
        exchange(&mut initiator, &mut responder);
        let again = initiator.offer(at_ms(2000), 7).unwrap();
        assert_eq!(responder.deliver(at_ms(2000), &again), REKEY);
        let answer = responder.pop_pending().map(|pending| pending.bytes).unwrap();
        // The first offer arrives late.
        assert_eq!(responder.deliver(at_ms(2000), &lost), Unprotected::Processed(Freshness::Late));
        let other = responder.pop_pending().map(|pending| pending.bytes).unwrap();
        assert_eq!(initiator.deliver(at_ms(2000), &answer), REKEY);
        assert_eq!(initiator.deliver(at_ms(2000), &other), REKEY, "of no use any more");
        for replayed in [&offer, &again, &lost] {
            assert_eq!(responder.deliver(at_ms(2001), replayed), Unprotected::Duplicate);
        }
        assert_eq!(exchange(&mut initiator, &mut responder), (1, 1));
        for replayed in [&offer, &again, &lost, &answer] {
            for end in [&mut initiator, &mut responder] {
                let outcome = end.deliver(at_ms(2002), replayed);
                assert!(matches!(outcome, Unprotected::Duplicate | Unprotected::Ignored), "{outcome:?}");
                assert_eq!(end.pop_pending().map(|pending| pending.bytes), None);
            }
        }
        assert_eq!(exchange(&mut initiator, &mut responder), (1, 1));
    }
}

/// The key with which a session encrypts.
fn outgoing_key(session: &Session) -> [u8; 32] {
    let Stage::Established(established) = &session.stage else { panic!("not established") };
    established.outgoing_key()
}

#[test]
fn new_keys_are_no_function_of_the_old_ones() {
    for (one, two) in both() {
        // Both connections have the same first keys, and different random numbers for the new ones.
        let keys = [5, 6].map(|seed| {
            let (mut initiator, mut responder) = worn(&one, &two);
            let before = outgoing_key(&initiator);
            let offer = initiator.offer(at_ms(0), seed).unwrap();
            responder.deliver(at_ms(0), &offer);
            initiator.deliver(at_ms(0), &responder.pop_pending().map(|pending| pending.bytes).unwrap());
            exchange(&mut initiator, &mut responder);
            (before, outgoing_key(&initiator))
        });
        assert_eq!(keys[0].0, keys[1].0);
        assert_ne!(keys[0].1, keys[1].1);
        assert_ne!(keys[0].0, keys[0].1);
    }
}

#[test]
fn another_identity_cannot_take_over_a_connection_by_new_keys() {
    let (mut initiator, mut responder) = worn(&keys(1, Peers::Any), &keys(2, Peers::Any));
    // The attacker has stolen the traffic keys and has a different key pair.
    let (Stage::Established(ours), stolen) = (&mut initiator.stage, keys(3, Peers::Any)) else {
        panic!("not established")
    };
    ours.become_another(&stolen);
    responder.deliver(at_ms(0), &initiator.offer(at_ms(0), 5).unwrap());
    assert_eq!(responder.pop_pending().map(|pending| pending.bytes), None);
    assert_eq!(exchange(&mut initiator, &mut responder), (0, 0));
}
