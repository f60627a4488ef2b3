//! CPace (draft-irtf-cfrg-cpace), suite CPACE-RISTR255-SHA512, initiator-responder setting. Each end derives
//! a key from its secret; the keys are equal only if the secrets are. An attacker without the secret can test
//! one guess per run, and none afterwards.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha512};
use zeroize::{Zeroize, Zeroizing};

/// Inputs of CPace on which both ends must agree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common<'a> {
    /// Secret that both ends share (PRS).
    pub(super) secret: &'a [u8],
    /// Identifier of the channel (CI).
    pub(super) channel: &'a [u8],
    /// Identifier of the session (sid), different for each run.
    pub(super) session: &'a [u8],
}

/// End of a run: the caller or the listener.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    Caller,
    Listener,
}

/// Message of one end to the other: an encoded group element.
pub(super) type Share = [u8; 32];
/// Proof that an end has the key.
pub(super) type Tag = [u8; 64];

/// One end of a run of CPace.
pub(super) struct Run<'a> {
    common: Common<'a>,
    role: Role,
    scalar: Scalar,
    share: Share,
}

/// Proofs by which each end shows the other that it has the key.
pub(super) struct Tags {
    ours: Tag,
    theirs: Hmac<Sha512>,
}

impl<'a> Run<'a> {
    /// Starts a run with these random bytes.
    pub(super) fn new(common: Common<'a>, role: Role, random: &[u8; 64]) -> Self {
        Self::with_scalar(common, role, Scalar::from_bytes_mod_order_wide(random))
    }

    fn with_scalar(common: Common<'a>, role: Role, scalar: Scalar) -> Self {
        let share = (scalar * generator(&common)).compress().to_bytes();
        Self { common, role, scalar, share }
    }

    pub(super) fn share(&self) -> &Share {
        &self.share
    }

    /// Completes the run with the other end's share; `None` if the share is invalid.
    pub(super) fn finish(self, theirs: &Share) -> Option<Tags> {
        let point = multiply(&self.scalar, theirs)?;
        let ours = lv_cat(&[&self.share, self.role.data()]);
        let other = lv_cat(&[theirs, self.role.other().data()]);
        let transcript = match self.role {
            Role::Caller => [&ours[..], &other].concat(),
            Role::Listener => [&other[..], &ours].concat(),
        };
        let key = session_key(self.common.session, &point, &transcript);
        let hash = Sha512::new().chain_update(b"CPaceMac").chain_update(self.common.session);
        let mut mac_key = hash.chain_update(&key[..]).finalize();
        let mac = Hmac::<Sha512>::new_from_slice(&mac_key).expect("keys of HMAC have any length");
        mac_key.zeroize();
        let ours = mac.clone().chain_update(ours).finalize().into_bytes().into();
        Some(Tags { ours, theirs: mac.chain_update(other) })
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.scalar.zeroize();
    }
}

impl Tags {
    /// Proof of this end for the other end.
    pub(super) fn ours(&self) -> &Tag {
        &self.ours
    }

    /// Checks the other end's proof, in constant time.
    pub(super) fn verify(self, theirs: &Tag) -> bool {
        self.theirs.verify_slice(theirs).is_ok()
    }
}

impl Role {
    /// The associated data (ADa, ADb), which makes the proofs of the two ends differ.
    fn data(self) -> &'static [u8] {
        match self {
            Self::Caller => b"ADa",
            Self::Listener => b"ADb",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Caller => Self::Listener,
            Self::Listener => Self::Caller,
        }
    }
}

fn generator(common: &Common<'_>) -> RistrettoPoint {
    let mut hash = Sha512::digest(Zeroizing::new(generator_string(common)));
    let point = RistrettoPoint::from_uniform_bytes(hash.as_ref());
    hash.zeroize();
    point
}

/// Bytes that CPace hashes to a generator. The secret fills the first block of the hash together with zeros, so that
/// the time of hashing reveals nothing.
fn generator_string(common: &Common<'_>) -> Vec<u8> {
    let Common { secret, channel, session } = common;
    let used = lv_cat(&[secret, NAME]).len() + 1;
    let zeros = vec![0; BLOCK.saturating_sub(used)];
    lv_cat(&[NAME, secret, &zeros, channel, session])
}

/// Product of a scalar and an encoded group element; `None` if the element is invalid or the product is
/// neutral.
fn multiply(scalar: &Scalar, share: &Share) -> Option<Zeroizing<[u8; 32]>> {
    let product = scalar * CompressedRistretto(*share).decompress()?;
    (!product.is_identity()).then(|| Zeroizing::new(product.compress().to_bytes()))
}

/// Derives the intermediate session key (ISK).
fn session_key(session: &[u8], point: &[u8; 32], transcript: &[u8]) -> Zeroizing<[u8; 64]> {
    let input = Zeroizing::new(lv_cat(&[KEY_NAME, session, point]));
    Zeroizing::new(Sha512::new().chain_update(input).chain_update(transcript).finalize().into())
}

/// Concatenates strings, each after its length in LEB128.
fn lv_cat(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        let mut length = part.len();
        while length >= 0x80 {
            out.push(0x80 | (length & 0x7f).to_le_bytes()[0]);
            length >>= 7;
        }
        out.push(length.to_le_bytes()[0]);
        out.extend_from_slice(part);
    }
    out
}

/// Name of the group in CPace, which separates its hashes from other uses (DSI).
const NAME: &[u8] = b"CPaceRistretto255";
const KEY_NAME: &[u8] = b"CPaceRistretto255_ISK";
/// Bytes of an input block of SHA-512.
const BLOCK: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        assert_eq!(digits.len(), 2 * N);
        std::array::from_fn(|n| {
            let pair = std::str::from_utf8(&digits[2 * n..2 * n + 2]).unwrap();
            u8::from_str_radix(pair, 16).unwrap()
        })
    }

    /// The inputs of the draft's appendix B.3, test vectors for ristretto255 and SHA-512.
    fn draft<T>(test: impl FnOnce(Common<'_>) -> T) -> T {
        let session: [u8; 16] = hex("7e4b4791d6a8ef019b936c79fb7f2c57");
        let channel = b"\x0bA_initiator\x0bB_responder";
        test(Common { secret: b"Password", channel, session: &session })
    }

    fn scalar(text: &str) -> Scalar {
        Scalar::from_bytes_mod_order(hex(text))
    }

    const YA: &str = "da3d23700a9e5699258aef94dc060dfda5ebb61f02a5ea77fad53f4ff0976d08";
    const YB: &str = "d2316b454718c35362d83d69df6320f38578ed5984651435e2949762d900b80d";
    const SHARE_A: &str = "d6bac480f2c386c394efc7c47adb9925dcd2630b64f240c50f8d0eec482b9157";
    const SHARE_B: &str = "3ea7e0b19560d7c0b0f5734f63b955286dfa8232b5ebe63324e2d9e7433f7258";

    #[test]
    fn the_generator_is_that_of_the_draft() {
        draft(|common| {
            let text = generator_string(&common);
            assert_eq!(text.len(), 170);
            assert_eq!(text[..27], *b"\x11CPaceRistretto255\x08Password");
            assert_eq!(text[27], 100, "zeros");
            let encoded = generator(&common).compress().to_bytes();
            assert_eq!(encoded, hex("222b6b195fe84b1652badb6f6a3ae3d24341e7306967f0b8115b40d5698c7e56"));
        });
    }

    #[test]
    fn shares_point_and_key_are_those_of_the_draft() {
        draft(|common| {
            let a = Run::with_scalar(common, Role::Caller, scalar(YA));
            let b = Run::with_scalar(common, Role::Listener, scalar(YB));
            assert_eq!((*a.share(), *b.share()), (hex(SHARE_A), hex(SHARE_B)));
            let point = multiply(&a.scalar, b.share()).unwrap();
            assert_eq!(*point, *multiply(&b.scalar, a.share()).unwrap());
            assert_eq!(*point, hex("80b69a8a76457ab6a4d7f887a4bf6b55a2f80ac19c333f917a05fc9887c8b40f"));
            let transcript = lv_cat(&[a.share(), b"ADa", b.share(), b"ADb"]);
            let expected = "b69effbf61b51d56401c0f65601abe428de8206feaaf0e32198896dcae7b35cd
                            2b38950a39dfd5d4a79164614c2984f7daa460b588c1e80c3fa2068af7900447";
            assert_eq!(*session_key(common.session, &point, &transcript), hex::<64>(expected));
        });
    }

    #[test]
    fn invalid_and_neutral_shares_are_refused() {
        draft(|common| {
            // The first share is no encoding of an element (the first 32 bytes of the field's modulus), the
            // second one is the neutral element.
            let beyond = hex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
            for share in [beyond, [0; 32]] {
                let run = Run::with_scalar(common, Role::Caller, scalar(YA));
                assert!(run.finish(&share).is_none());
            }
        });
    }

    /// Whether each end accepts the other's proof.
    fn agree(one: Common<'_>, other: Common<'_>) -> [bool; 2] {
        let caller = Run::new(one, Role::Caller, &[1; 64]);
        let listener = Run::new(other, Role::Listener, &[2; 64]);
        let (a, b) = (*caller.share(), *listener.share());
        let (caller, listener) = (caller.finish(&b).unwrap(), listener.finish(&a).unwrap());
        let (a, b) = (*caller.ours(), *listener.ours());
        assert_ne!(a, b, "a proof sent back would be accepted");
        [listener.verify(&a), caller.verify(&b)]
    }

    #[test]
    fn both_ends_agree_only_with_the_same_secret_channel_and_session() {
        let same = Common { secret: b"a", channel: b"b", session: b"c" };
        assert_eq!(agree(same, same), [true; 2]);
        for other in [
            Common { secret: b"x", ..same },
            Common { channel: b"x", ..same },
            Common { session: b"x", ..same },
            // The bytes `ab` are divided differently between secret and channel.
            Common { secret: b"ab", channel: b"", ..same },
        ] {
            assert_eq!(agree(same, other), [false; 2]);
        }
    }

    #[test]
    fn lengths_are_leb128() {
        assert_eq!(lv_cat(&[b"1234", b""]), b"\x041234\0");
        let long = lv_cat(&[&[7; 300]]);
        assert_eq!(long[..3], [0xac, 0x02, 7]);
    }
}
