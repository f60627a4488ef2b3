//! The handshake, by `snow`: `NNpsk0` with a token, `XX` with keys.

use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use super::message::Pattern;
use super::traffic::Key;
use crate::keys::{Identity, PublicKey, Token};

/// What we prove who we are with.
#[derive(Clone)]
pub(crate) enum Proof {
    /// A secret that both ends were told.
    Token(Zeroizing<[u8; 32]>),
    /// Our key pair.
    Keys(Identity),
}

/// One end of a handshake under way.
pub(crate) struct Handshake(HandshakeState);

/// The keys of a connection that stands.
pub(crate) struct Keys {
    pub(crate) outgoing: Key,
    pub(crate) incoming: Key,
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

impl Handshake {
    /// The end of the caller, whose index both ends must agree on.
    pub(crate) fn call(proof: &Proof, caller: u32, ephemeral: &Ephemeral) -> Self {
        Self(build(proof, caller, ephemeral, true))
    }

    /// The end of the listener.
    pub(crate) fn answer(proof: &Proof, caller: u32, ephemeral: &Ephemeral) -> Self {
        Self(build(proof, caller, ephemeral, false))
    }

    /// The next message, around `payload`.
    pub(crate) fn write(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut message = vec![0; payload.len() + MOST_ADDED];
        let len = self.0.write_message(payload, &mut message).expect("our turn, and room");
        message.truncate(len);
        message
    }

    /// The payload of the peer's next message; `None` if it is not one.
    pub(crate) fn read(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let mut payload = vec![0; message.len()];
        let len = self.0.read_message(message, &mut payload).ok()?;
        payload.truncate(len);
        Some(payload)
    }

    /// The peer's key, once it has shown one.
    pub(crate) fn peer(&self) -> Option<PublicKey> {
        self.0.get_remote_static().and_then(|key| key.try_into().ok()).map(PublicKey::from_bytes)
    }

    /// The keys that a handshake without further messages has made.
    pub(crate) fn keys(mut self) -> Option<Keys> {
        if !self.0.is_handshake_finished() {
            return None;
        }
        let (caller, listener) = self.0.dangerously_get_raw_split();
        let (caller, listener) = (Key::new(caller), Key::new(listener));
        Some(match self.0.is_initiator() {
            true => Keys { outgoing: caller, incoming: listener },
            false => Keys { outgoing: listener, incoming: caller },
        })
    }
}

fn build(proof: &Proof, caller: u32, ephemeral: &Ephemeral, is_caller: bool) -> HandshakeState {
    let name = match proof {
        Proof::Token(_) => "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s",
        Proof::Keys(_) => "Noise_XX_25519_ChaChaPoly_BLAKE2s",
    };
    let prologue = [PROLOGUE, &caller.to_be_bytes()].concat();
    let resolver = Box::new(Resolver(ephemeral.clone()));
    let builder = Builder::with_resolver(name.parse().expect("snow knows it"), resolver).prologue(&prologue);
    let builder = builder.and_then(|builder| match proof {
        Proof::Token(psk) => builder.psk(0, psk),
        Proof::Keys(identity) => builder.local_private_key(identity.secret()),
    });
    let state = builder.and_then(|b| if is_caller { b.build_initiator() } else { b.build_responder() });
    state.expect("everything that the pattern needs is there")
}

/// Snow's own primitives, but for randomness, which is handed in.
struct Resolver(Ephemeral);

/// Random bytes for one ephemeral key.
struct Given(Option<Ephemeral>);

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Given(Some(self.0.clone()))))
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

impl Random for Given {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        let bytes = self.0.take().filter(|bytes| bytes.len() == dest.len()).ok_or(snow::Error::Rng)?;
        dest.copy_from_slice(&bytes[..]);
        Ok(())
    }
}

/// The protocol and its version: the two ends must agree on both.
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

    fn bytes(key: &Key) -> [u8; 32] {
        key.reveal()
    }

    /// Whether both ends have the same keys, crosswise.
    fn agree(one: Handshake, other: Handshake) -> bool {
        let (one, other) = (one.keys().unwrap(), other.keys().unwrap());
        assert_ne!(bytes(&one.outgoing), bytes(&one.incoming));
        bytes(&one.outgoing) == bytes(&other.incoming) && bytes(&one.incoming) == bytes(&other.outgoing)
    }

    #[test]
    fn two_messages_with_a_token() {
        let mut caller = Handshake::call(&token(1), 7, &ephemeral(1));
        let mut listener = Handshake::answer(&token(1), 7, &ephemeral(2));
        let hello = caller.write(b"SYN");
        assert_eq!(hello.len(), 32 + 3 + 16);
        assert_eq!(listener.read(&hello).as_deref(), Some(&b"SYN"[..]));
        assert_eq!(caller.read(&listener.write(b"SYN ACK")).as_deref(), Some(&b"SYN ACK"[..]));
        assert!(agree(caller, listener));
    }

    #[test]
    fn three_messages_with_keys_and_each_learns_the_others() {
        let mut caller = Handshake::call(&keys(1), 7, &ephemeral(1));
        let mut listener = Handshake::answer(&keys(2), 7, &ephemeral(2));
        assert_eq!(listener.read(&caller.write(b"SYN")).as_deref(), Some(&b"SYN"[..]));
        let answer = listener.write(b"SYN ACK");
        assert_eq!(answer.len(), 32 + 48 + 7 + 16);
        assert_eq!(caller.read(&answer).as_deref(), Some(&b"SYN ACK"[..]));
        assert_eq!(listener.read(&caller.write(b"ACK")).as_deref(), Some(&b"ACK"[..]));
        assert_eq!(caller.peer(), Some(Identity::from_secret([2; 32]).public()));
        assert_eq!(listener.peer(), Some(Identity::from_secret([1; 32]).public()));
        assert!(agree(caller, listener));
    }

    #[test]
    fn another_token_another_index_or_another_pattern_is_refused() {
        let hello = Handshake::call(&token(1), 7, &ephemeral(1)).write(b"SYN");
        for mut other in
            [Handshake::answer(&token(2), 7, &ephemeral(2)), Handshake::answer(&token(1), 8, &ephemeral(2))]
        {
            assert_eq!(other.read(&hello), None);
        }
        let mut caller = Handshake::call(&keys(1), 7, &ephemeral(1));
        let mut listener = Handshake::answer(&keys(2), 8, &ephemeral(2));
        listener.read(&caller.write(b"SYN")).unwrap();
        assert_eq!(caller.read(&listener.write(b"SYN ACK")), None);
    }

    #[test]
    fn a_forged_answer_does_not_spoil_the_genuine_one() {
        for (one, two) in [(token(1), token(1)), (keys(1), keys(2))] {
            let mut caller = Handshake::call(&one, 7, &ephemeral(1));
            let mut listener = Handshake::answer(&two, 7, &ephemeral(2));
            listener.read(&caller.write(b"SYN")).unwrap();
            let answer = listener.write(b"SYN ACK");
            for at in 0..answer.len() {
                let mut forged = answer.clone();
                forged[at] ^= 1;
                assert_eq!(caller.read(&forged), None, "byte {at}");
            }
            assert_eq!(caller.read(&answer).as_deref(), Some(&b"SYN ACK"[..]));
        }
    }

    #[test]
    fn the_same_randomness_makes_the_same_bytes() {
        let hello = |n| Handshake::call(&keys(1), 7, &ephemeral(n)).write(b"SYN");
        assert_eq!(hello(1), hello(1));
        assert_ne!(hello(1), hello(2));
    }
}
