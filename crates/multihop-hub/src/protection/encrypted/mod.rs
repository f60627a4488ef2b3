//! The encrypted protocol: after the first datagrams of the handshake all data is encrypted and
//! authenticated.
//!
//! # Bytes
//!
//! ```text
//! caller                                listener
//!    hello, cookie 0   ------------------>
//!          <------------------   cookie            nothing is remembered
//!    hello, cookie (SYN)   -------------->         the caller's proof is verified; then:
//!          <------------------   answer (SYN ACK)  half open
//!    data (ACK)   ----------------------->         established
//! ```
//!
//! | mode | Noise (revision 34) |
//! |---|---|
//! | token | `Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s` |
//! | keys | `Noise_IK_25519_ChaChaPoly_BLAKE2s` |
//! | keys and a shared key of 32 bytes | `Noise_IKpsk0_25519_ChaChaPoly_BLAKE2s` |
//!
//! The prologue is `multihop sealed 3` (17), the caller's index, and the cookie of this hello. A Noise
//! payload is the sender's *token* (`docs/wire.md#restarts`) for its index (16) and a plain segment: SYN, SYN
//! ACK, or RST of a listener without the transport.
//!
//! | | rule |
//! |---|---|
//! | hello | Options of type 0 pad the SYN. A caller without the listener's key sends zeros in place of the Noise message. A caller with the key may send its Noise message in the first hello, with a cookie of zeros. For each pair of cookie and listener's key, a caller uses one ephemeral key and one payload, so that repeated hellos are equal |
//! | seal | with keys, the last 16 bytes of a hello: BLAKE2s keyed with the listener's public key, personal `mhseal 2`, over the datagram so far. A listener does no Diffie-Hellman for a hello without a valid seal |
//! | cookie | the only answer to a hello without a valid cookie, of any content, with the validity of *TPA's cookies* (`docs/wire.md#a-connection`) |
//! | listener's key | A caller that lacks the key takes it from the cookie for its next hello. A caller that expects another key uses the expected one, and reports the difference if no answer arrives before its next SYN. A hello with a valid cookie and without a valid seal gets the cookie again. A caller accepts 8 pairs of cookie and key |
//! | answer | contains the SYN ACK or RST of a new endpoint. With keys only an authorised caller gets it. An answer is never longer than the hello. Repeated answers are equal. The first data that decrypts confirms the handshake |
//! | refusal | After a refusal the caller still accepts an answer or another cookie until its next SYN, and then gives up. A refusal of a hello of an earlier version has 8 bytes |
//! | probe | a hello of variant 11 with a cookie of zeros, `version 3` (9) in place of the Noise message, and zeros. A cookie of variant 0, or a refusal of 8 bytes, is an answer of version 2 |
//! | silent listener | sends no refusals. It answers a hello without a valid cookie only if the Noise message proves an accepted caller, or under load if the seal is valid, and then with a cookie of 24 bytes |
//! | source | Cookie, answer and refusal must come from the address and port to which the caller sent its hello; segments may come from any address |
//!
//! Reasons of refusals: 1 token required, 2 keys required, 3 wrong token, 4 plain only, 5 key not authorised,
//! 6 version, 7 shared key required, 8 no shared key at the listener, 9 another shared key.

pub(crate) mod credentials;
mod established;
mod indices;
mod initiating;
pub(crate) mod message;
pub(super) mod noise;
mod rekey;
pub(super) mod reset;
pub(super) mod seal;
pub(crate) mod session;
pub(super) mod traffic;
mod window;

pub(crate) use established::Pending;
pub(crate) use message::{ResetToken, SecureDatagram};
pub(crate) use noise::Proof;
pub(crate) use reset::ResetKey;
pub(crate) use traffic::OVERHEAD;
#[cfg(fuzzing)]
pub(crate) use traffic::Rotation;
