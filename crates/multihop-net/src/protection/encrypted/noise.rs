//! The Noise handshake, by the crate `snow`: `NNpsk0` with a token, `XX` with keys.

use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use super::message::Pattern;
use super::traffic::TrafficKey;
use crate::keys::{Identity, PublicKey, Token};

/// How this end proves its identity.
#[derive(Clone)]
pub(crate) enum Proof {
    /// By a secret that both ends have.
    Token(Zeroizing<[u8; 32]>),
    /// By our key pair.
    Keys(Identity),
}

/// One end of a handshake that is in progress.
pub(crate) struct NoiseHandshake(HandshakeState);

/// The first keys of an established connection.
pub(crate) struct TrafficKeys {
    pub(crate) outgoing: TrafficKey,
    pub(crate) incoming: TrafficKey,
}

/// The secret that a handshake begins with: 32 random bytes.
pub(crate) type Ephemeral = Zeroizing<[u8; 32]>;

impl Proof {
    pub(crate) fn of_token(token: &Token) -> Self {
        Self::Token(token.psk())
    }

    pub(crate) fn pattern(&self) -> Pattern {
        match self {
            Self::Token(_) => Pattern::Token,
            Self::Keys(_) => Pattern::Keys,
        }
    }
}

impl NoiseHandshake {
    /// The initiator's end. Both ends must agree on the initiator's index.
    pub(crate) fn initiate(proof: &Proof, initiator: u32, ephemeral: &Ephemeral) -> Self {
        Self(build(proof, initiator, ephemeral, true))
    }

    /// The responder's end.
    pub(crate) fn respond(proof: &Proof, initiator: u32, ephemeral: &Ephemeral) -> Self {
        Self(build(proof, initiator, ephemeral, false))
    }

    /// The next message, around `payload`.
    pub(crate) fn write(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut message = vec![0; payload.len() + MOST_ADDED];
        let len = self.0.write_message(payload, &mut message).expect("our turn, and room");
        message.truncate(len);
        message
    }

    /// The payload of the peer's next message; `None` if it is not authentic.
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

    /// The keys; `None` if messages of the handshake are missing.
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

fn build(proof: &Proof, initiator: u32, ephemeral: &Ephemeral, is_initiator: bool) -> HandshakeState {
    let name = match proof {
        Proof::Token(_) => "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s",
        Proof::Keys(_) => "Noise_XX_25519_ChaChaPoly_BLAKE2s",
    };
    let prologue = [PROLOGUE, &initiator.to_be_bytes()].concat();
    let resolver = Box::new(Resolver(ephemeral.clone()));
    let builder = Builder::with_resolver(name.parse().expect("snow knows it"), resolver).prologue(&prologue);
    let builder = builder.and_then(|builder| match proof {
        Proof::Token(psk) => builder.psk(0, psk),
        Proof::Keys(identity) => builder.local_private_key(identity.secret()),
    });
    let state = builder.and_then(|b| if is_initiator { b.build_initiator() } else { b.build_responder() });
    state.expect("everything that the pattern needs is there")
}

/// The primitives of `snow`, with randomness from the caller.
struct Resolver(Ephemeral);

/// Random bytes for one ephemeral key.
struct FixedRandom(Option<Ephemeral>);

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(FixedRandom(Some(self.0.clone()))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

impl Random for FixedRandom {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        let bytes = self.0.take().filter(|bytes| bytes.len() == dest.len()).ok_or(snow::Error::Rng)?;
        dest.copy_from_slice(&bytes[..]);
        Ok(())
    }
}

/// Protocol and version: both ends must agree on them.
const PROLOGUE: &[u8] = b"multihop TPA sealed 1";
/// An ephemeral key, a static one with its tag, and a tag.
const MOST_ADDED: usize = 32 + 48 + 16;

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
        Proof::Keys(Identity::from_secret([n; 32]))
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

    #[test]
    fn a_token_takes_two_messages() {
        let mut initiator = NoiseHandshake::initiate(&token(1), 7, &ephemeral(1));
        let mut responder = NoiseHandshake::respond(&token(1), 7, &ephemeral(2));
        let hello = initiator.write(b"SYN");
        assert_eq!(hello.len(), 32 + 3 + 16);
        assert_eq!(responder.read(&hello).as_deref(), Some(&b"SYN"[..]));
        assert_eq!(initiator.read(&responder.write(b"SYN ACK")).as_deref(), Some(&b"SYN ACK"[..]));
        assert!(agree(initiator, responder));
    }

    #[test]
    fn keys_take_three_messages_and_each_end_learns_the_others_key() {
        let mut initiator = NoiseHandshake::initiate(&keys(1), 7, &ephemeral(1));
        let mut responder = NoiseHandshake::respond(&keys(2), 7, &ephemeral(2));
        assert_eq!(responder.read(&initiator.write(b"SYN")).as_deref(), Some(&b"SYN"[..]));
        let answer = responder.write(b"SYN ACK");
        assert_eq!(answer.len(), 32 + 48 + 7 + 16);
        assert_eq!(initiator.read(&answer).as_deref(), Some(&b"SYN ACK"[..]));
        assert_eq!(responder.read(&initiator.write(b"ACK")).as_deref(), Some(&b"ACK"[..]));
        assert_eq!(initiator.peer_key(), Some(Identity::from_secret([2; 32]).public()));
        assert_eq!(responder.peer_key(), Some(Identity::from_secret([1; 32]).public()));
        assert!(agree(initiator, responder));
    }

    #[test]
    fn another_token_another_index_or_another_pattern_is_refused() {
        let hello = NoiseHandshake::initiate(&token(1), 7, &ephemeral(1)).write(b"SYN");
        for mut other in [
            NoiseHandshake::respond(&token(2), 7, &ephemeral(2)),
            NoiseHandshake::respond(&token(1), 8, &ephemeral(2)),
        ] {
            assert_eq!(other.read(&hello), None);
        }
        let mut initiator = NoiseHandshake::initiate(&keys(1), 7, &ephemeral(1));
        let mut responder = NoiseHandshake::respond(&keys(2), 8, &ephemeral(2));
        responder.read(&initiator.write(b"SYN")).unwrap();
        assert_eq!(initiator.read(&responder.write(b"SYN ACK")), None);
    }

    #[test]
    fn a_forged_answer_does_not_prevent_the_genuine_one() {
        for (one, two) in [(token(1), token(1)), (keys(1), keys(2))] {
            let mut initiator = NoiseHandshake::initiate(&one, 7, &ephemeral(1));
            let mut responder = NoiseHandshake::respond(&two, 7, &ephemeral(2));
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
    fn the_same_randomness_makes_the_same_bytes() {
        let hello = |n| NoiseHandshake::initiate(&keys(1), 7, &ephemeral(n)).write(b"SYN");
        assert_eq!(hello(1), hello(1));
        assert_ne!(hello(1), hello(2));
    }
}
