//! The Noise handshake by the crate `snow`: `NNpsk0` with a token, `IK` with keys. In both patterns the first
//! message proves the identity of its sender.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use super::message::Pattern;
use super::traffic::TrafficKey;
use crate::keys::{Identity, PublicKey, SharedKey, Token};
use crate::primitives;
use crate::protection::cookie::Cookie;

/// Method by which this end proves its identity.
#[derive(Clone)]
pub(crate) enum Proof {
    /// Proof by a secret that both ends have.
    Token(Zeroizing<[u8; 32]>),
    /// Proof by the key pair of this end, and optionally by a secret that both ends have.
    Keys(Identity, Option<SharedKey>),
}

/// One end of a handshake in progress.
pub(crate) struct NoiseHandshake(HandshakeState);

/// Data on which both ends of a handshake must agree, so that a first message is useless elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ticket {
    /// New connection: the index that the initiator chose, and the cookie that the listener made for the
    /// initiator's address.
    Hello { initiator: u32, cookie: Cookie },
    /// New keys of an open connection: their number, and the hash of the first handshake.
    Rekey { number: u64, binding: HandshakeHash },
}

/// Keys for both directions of a connection.
pub(crate) struct TrafficKeys {
    pub(crate) outgoing: TrafficKey,
    pub(crate) incoming: TrafficKey,
}

/// Hash of all messages of a handshake.
pub(crate) type HandshakeHash = [u8; 32];

/// Random ephemeral secret of a handshake, 32 bytes.
pub(crate) type Ephemeral = Zeroizing<[u8; 32]>;

impl Proof {
    pub(crate) fn of_token(token: &Token) -> Self {
        Self::Token(token.psk())
    }

    fn psk(&self) -> Option<Zeroizing<[u8; 32]>> {
        match self {
            Self::Token(psk) => Some(psk.clone()),
            Self::Keys(_, shared) => shared.as_ref().map(SharedKey::psk),
        }
    }

    pub(crate) fn pattern(&self) -> Pattern {
        match self {
            Self::Token(_) => Pattern::Token,
            Self::Keys(_, None) => Pattern::Keys,
            Self::Keys(_, Some(_)) => Pattern::KeysShared,
        }
    }
}

impl Ticket {
    fn prologue(&self) -> Vec<u8> {
        match self {
            Self::Hello { initiator, cookie } => [PROLOGUE, &initiator.to_be_bytes(), cookie].concat(),
            Self::Rekey { number, binding } => [PROLOGUE_REKEY, &number.to_be_bytes(), binding].concat(),
        }
    }
}

impl NoiseHandshake {
    /// Creates the initiator's end. With keys, `listener` is the key of the other end.
    pub(crate) fn initiate(
        proof: &Proof,
        ticket: Ticket,
        listener: Option<&PublicKey>,
        ephemeral: &Ephemeral,
    ) -> Self {
        Self(build(proof, ticket, listener, ephemeral, true))
    }

    /// Creates the responder's end of a handshake.
    pub(crate) fn respond(proof: &Proof, ticket: Ticket, ephemeral: &Ephemeral) -> Self {
        Self(build(proof, ticket, None, ephemeral, false))
    }

    /// Makes the next message of the handshake, which contains `payload`.
    pub(crate) fn write(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut message = vec![0; payload.len() + MAX_ADDED];
        let len = self.0.write_message(payload, &mut message).expect("our turn, and room");
        message.truncate(len);
        message
    }

    /// Reads the peer's next message and returns its payload; `None` if it is not authentic.
    pub(crate) fn read(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let mut payload = vec![0; message.len()];
        let len = self.0.read_message(message, &mut payload).ok()?;
        payload.truncate(len);
        Some(payload)
    }

    /// The peer's key, once it has proved one.
    pub(crate) fn peer_key(&self) -> Option<PublicKey> {
        self.0.get_remote_static().and_then(|key| key.try_into().ok()).map(PublicKey::from_bytes)
    }

    /// Hash of all messages, different for every handshake (Noise, section 11.2).
    pub(crate) fn hash(&self) -> HandshakeHash {
        self.0.get_handshake_hash().try_into().expect("BLAKE2s has 32 bytes")
    }

    /// The resulting keys; `None` if the handshake is incomplete.
    pub(crate) fn into_keys(mut self) -> Option<TrafficKeys> {
        if !self.0.is_handshake_finished() {
            return None;
        }
        let (initiator, responder) = self.0.dangerously_get_raw_split();
        let (initiator, responder) = (TrafficKey::new(initiator), TrafficKey::new(responder));
        Some(match self.0.is_initiator() {
            true => TrafficKeys { outgoing: initiator, incoming: responder },
            false => TrafficKeys { outgoing: responder, incoming: initiator },
        })
    }
}

fn build(
    proof: &Proof,
    ticket: Ticket,
    listener: Option<&PublicKey>,
    ephemeral: &Ephemeral,
    is_initiator: bool,
) -> HandshakeState {
    let name = match proof {
        Proof::Token(_) => "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s",
        Proof::Keys(_, None) => "Noise_IK_25519_ChaChaPoly_BLAKE2s",
        Proof::Keys(_, Some(_)) => "Noise_IKpsk0_25519_ChaChaPoly_BLAKE2s",
    };
    let prologue = ticket.prologue();
    let resolver = Box::new(Resolver(ephemeral.clone()));
    let builder = Builder::with_resolver(name.parse().expect("snow knows it"), resolver).prologue(&prologue);
    let psk = proof.psk();
    let builder = builder.and_then(|builder| match &psk {
        Some(psk) => builder.psk(0, psk),
        None => Ok(builder),
    });
    let builder = builder.and_then(|builder| match proof {
        Proof::Token(_) => Ok(builder),
        Proof::Keys(identity, _) => builder.local_private_key(identity.secret()),
    });
    let builder = builder.and_then(|builder| match listener {
        Some(key) => builder.remote_public_key(key.as_bytes()),
        None => Ok(builder),
    });
    let state = builder.and_then(|b| if is_initiator { b.build_initiator() } else { b.build_responder() });
    state.expect("everything that the pattern needs is there")
}

/// Supplies `snow` with primitives, and with randomness from the caller.
struct Resolver(Ephemeral);

/// Source of random bytes that returns one ephemeral key.
struct FixedRandom(Option<Ephemeral>);

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(FixedRandom(Some(self.0.clone()))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        matches!(choice, DHChoice::Curve25519).then(primitives::curve25519)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        primitives::cipher(choice)
    }
}

impl Random for FixedRandom {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        let bytes = self.0.take().filter(|bytes| bytes.len() == dest.len()).ok_or(snow::Error::Rng)?;
        dest.copy_from_slice(&bytes[..]);
        Ok(())
    }
}

/// Name and version of the protocol, on which both ends must agree.
const PROLOGUE: &[u8] = b"multihop sealed 3";
const PROLOGUE_REKEY: &[u8] = b"multihop rekey 3";
/// Largest overhead of a handshake message, bytes: an ephemeral key, an encrypted static key with its tag,
/// and a tag.
const MAX_ADDED: usize = 32 + 48 + 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn ephemeral(n: u8) -> Ephemeral {
        Zeroizing::new([n; 32])
    }

    fn token(n: u8) -> Proof {
        Proof::of_token(&Token::from_bytes([n; 15]))
    }

    fn keys(n: u8) -> Proof {
        Proof::Keys(Identity::from_secret([n; 32]), None)
    }

    fn bytes(key: &TrafficKey) -> [u8; 32] {
        key.reveal()
    }

    /// Whether each end's outgoing key is the other's incoming key.
    fn agree(one: NoiseHandshake, other: NoiseHandshake) -> bool {
        let (one, other) = (one.into_keys().unwrap(), other.into_keys().unwrap());
        assert_ne!(bytes(&one.outgoing), bytes(&one.incoming));
        bytes(&one.outgoing) == bytes(&other.incoming) && bytes(&one.incoming) == bytes(&other.outgoing)
    }

    fn ticket(initiator: u32) -> Ticket {
        Ticket::Hello { initiator, cookie: [7; 16] }
    }

    /// Two ends of a handshake, in which the initiator has the listener's key.
    fn ends(one: &Proof, two: &Proof) -> (NoiseHandshake, NoiseHandshake) {
        let listener = match two {
            Proof::Keys(identity, _) => Some(identity.public()),
            Proof::Token(_) => None,
        };
        let initiator = NoiseHandshake::initiate(one, ticket(7), listener.as_ref(), &ephemeral(1));
        (initiator, NoiseHandshake::respond(two, ticket(7), &ephemeral(2)))
    }

    fn shared(n: u8, psk: u8) -> Proof {
        Proof::Keys(Identity::from_secret([n; 32]), Some(SharedKey::from_bytes([psk; 32])))
    }

    fn both() -> [(Proof, Proof); 3] {
        [(token(1), token(1)), (keys(1), keys(2)), (shared(1, 9), shared(2, 9))]
    }

    #[test]
    fn both_patterns_take_two_messages() {
        for ((one, two), (first, second)) in both().into_iter().zip([(32, 32), (80, 32), (80, 32)]) {
            let (mut initiator, mut responder) = ends(&one, &two);
            let hello = initiator.write(b"SYN");
            assert_eq!(hello.len(), first + 3 + 16);
            assert_eq!(responder.read(&hello).as_deref(), Some(&b"SYN"[..]));
            let answer = responder.write(b"SYN ACK");
            assert_eq!(answer.len(), second + 7 + 16);
            assert_eq!(initiator.read(&answer).as_deref(), Some(&b"SYN ACK"[..]));
            assert!(agree(initiator, responder));
        }
    }

    #[test]
    fn a_responder_knows_the_initiators_key_from_the_first_message() {
        let (mut initiator, mut responder) = ends(&keys(1), &keys(2));
        responder.read(&initiator.write(b"SYN")).unwrap();
        assert_eq!(responder.peer_key(), Some(Identity::from_secret([1; 32]).public()));
        assert_eq!(initiator.peer_key(), Some(Identity::from_secret([2; 32]).public()));
    }

    #[test]
    fn another_token_key_index_or_cookie_is_refused() {
        for (one, two) in both() {
            let (mut initiator, _) = ends(&one, &two);
            let hello = initiator.write(b"SYN");
            let other = match two {
                Proof::Token(_) => token(2),
                Proof::Keys(_, None) => keys(3),
                Proof::Keys(_, Some(_)) => shared(2, 8),
            };
            let another_cookie = Ticket::Hello { initiator: 7, cookie: [8; 16] };
            let rekey = Ticket::Rekey { number: 1, binding: [7; 32] };
            let wrong = [(&other, ticket(7)), (&two, ticket(8)), (&two, another_cookie), (&two, rekey)];
            for (proof, ticket) in wrong {
                assert_eq!(NoiseHandshake::respond(proof, ticket, &ephemeral(2)).read(&hello), None);
            }
        }
    }

    #[test]
    fn a_forged_answer_does_not_prevent_the_genuine_one() {
        for (one, two) in both() {
            let (mut initiator, mut responder) = ends(&one, &two);
            responder.read(&initiator.write(b"SYN")).unwrap();
            let answer = responder.write(b"SYN ACK");
            for at in 0..answer.len() {
                let mut forged = answer.clone();
                forged[at] ^= 1;
                assert_eq!(initiator.read(&forged), None, "byte {at}");
            }
            assert_eq!(initiator.read(&answer).as_deref(), Some(&b"SYN ACK"[..]));
        }
    }

    #[test]
    fn keys_alone_do_not_stand_for_keys_with_a_shared_key() {
        for (one, two) in [(keys(1), shared(2, 9)), (shared(1, 9), keys(2))] {
            let (mut initiator, mut responder) = ends(&one, &two);
            assert_eq!(responder.read(&initiator.write(b"SYN")), None);
        }
    }

    #[test]
    fn the_same_randomness_makes_the_same_bytes() {
        let listener = Identity::from_secret([2; 32]).public();
        let hello =
            |n| NoiseHandshake::initiate(&keys(1), ticket(7), Some(&listener), &ephemeral(n)).write(b"SYN");
        assert_eq!(hello(1), hello(1));
        assert_ne!(hello(1), hello(2));
    }
}
