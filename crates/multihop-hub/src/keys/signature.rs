//! Signatures with the keys of identities, which are points on Curve25519.
//!
//! The construction is that of XEdDSA (Perrin, 2016): the key pair is converted to Ed25519, so that the
//! verifier needs only the public key. The nonce is derived from the private key and the message, as in RFC
//! 8032.

use blake2::{Blake2s256, Digest};
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::montgomery::MontgomeryPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::Sha512;

use super::{Identity, PublicKey};

/// Length of a signature, bytes.
pub const SIGNATURE: usize = 64;

impl Identity {
    /// Signs a message. Each use of signatures needs a distinct label at the beginning of its messages.
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE] {
        let scalar = Scalar::from_bytes_mod_order(clamp_integer(*self.secret()));
        let is_negative = EdwardsPoint::mul_base(&scalar).compress().as_bytes()[31] & 0x80 != 0;
        let scalar = if is_negative { -scalar } else { scalar };
        let hash_prefix =
            Blake2s256::new().chain_update(NONCES).chain_update(self.secret()).finalize().into();
        let secret = ExpandedSecretKey { scalar, hash_prefix };
        let public = VerifyingKey::from(&secret);
        raw_sign::<Sha512>(&secret, message, &public).to_bytes()
    }
}

impl PublicKey {
    /// Whether the owner of this key has signed the message.
    pub fn has_signed(&self, message: &[u8], signature: &[u8; SIGNATURE]) -> bool {
        let point = MontgomeryPoint(*self.as_bytes()).to_edwards(0);
        let key = point.map(VerifyingKey::from);
        key.is_some_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
    }
}

/// Prefix that separates the nonces of signatures from other uses of a private key.
const NONCES: &str = "multihop signature nonce 1";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn only_the_signed_message_and_the_signing_key_verify(secret: [u8; 32], other: [u8; 32], message: Vec<u8>, at in 0_usize..64) {
            let identity = Identity::from_secret(secret);
            let signature = identity.sign(&message);
            prop_assert!(identity.public().has_signed(&message, &signature));
            let mut longer = message.clone();
            longer.push(0);
            prop_assert!(!identity.public().has_signed(&longer, &signature));
            let mut wrong = signature;
            wrong[at] ^= 1;
            prop_assert!(!identity.public().has_signed(&message, &wrong));
            let other = Identity::from_secret(other).public();
            prop_assert_eq!(other.has_signed(&message, &signature), other == identity.public());
        }
    }

    /// Verifies the signatures with the Ed25519 of ring, an independent implementation.
    #[cfg(feature = "std")]
    #[test]
    fn signatures_are_those_of_ed25519() {
        for n in 0..16 {
            let identity = Identity::from_secret([n; 32]);
            let point = MontgomeryPoint(*identity.public().as_bytes()).to_edwards(0).unwrap();
            let key = ring::signature::UnparsedPublicKey::new(
                &ring::signature::ED25519,
                point.compress().to_bytes(),
            );
            assert!(key.verify(b"message", &identity.sign(b"message")).is_ok());
        }
    }
}
