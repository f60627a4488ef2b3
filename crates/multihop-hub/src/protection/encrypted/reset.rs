//! Resets for connections whose state a host has lost, for example by a restart (as in RFC 9000, section
//! 10.3). Each end gives the other one a token with each index. A host that receives a datagram for an
//! unknown index answers with the token of that index, which it derives again. Only the host that gave the
//! token can send it.
//!
//! # Bytes
//!
//! Each end gives a **token** (16; zeros for none) with each index: in the handshake and with spare indices.
//! The token is BLAKE2s with 16 bytes of output, keyed with the private key or the psk of the secret token,
//! personal `mhreset3`, over the host's UDP port (2) and the index (4).
//!
//! A host answers a datagram of types 5 or 7 to 12 for an unknown index with a **reset**, at most 1000 per
//! second; a silent listener sends none. An end closes its connection if the reset comes from the peer's
//! address and has the token that the peer gave with the index. Ends ignore all other resets, and answer
//! none. Plain connections use RST.

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{FixedOutput, Update};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::message::ResetToken;
use super::noise::Proof;

/// Derives the tokens of one socket from the secret on disk.
pub(crate) struct ResetKey {
    secret: Zeroizing<[u8; 32]>,
    /// Port of the socket. The same secret gives other tokens at another port.
    port: u16,
}

impl ResetKey {
    pub(crate) fn new(proof: &Proof, port: u16) -> Self {
        let secret = match proof {
            Proof::Token(psk) => psk.clone(),
            Proof::Keys(identity, _) => Zeroizing::new(*identity.secret()),
        };
        Self { secret, port }
    }

    /// Token by which this end proves that it gave an index.
    pub(crate) fn token(&self, index: u32) -> ResetToken {
        let mut mac = Blake2sMac::<U16>::new_with_salt_and_personal(&self.secret[..], &[], b"mhreset3")
            .expect("32 and 8 bytes, as BLAKE2s allows");
        mac.update(&self.port.to_be_bytes());
        mac.update(&index.to_be_bytes());
        mac.finalize_fixed().into()
    }
}

/// Whether a reset contains the token of the index; zeros mean no token.
pub(super) fn is_valid(given: &ResetToken, found: &ResetToken) -> bool {
    let is_equal: bool = given.ct_eq(found).into();
    is_equal && *given != NO_TOKEN
}

/// Token of an end that sends no resets.
pub(super) const NO_TOKEN: ResetToken = [0; size_of::<ResetToken>()];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Identity, Token};

    #[test]
    fn a_token_depends_on_secret_port_and_index() {
        let proofs = [
            Proof::of_token(&Token::from_bytes([1; 15])),
            Proof::of_token(&Token::from_bytes([2; 15])),
            Proof::Keys(Identity::from_secret([1; 32]), None),
        ];
        let mut all: Vec<_> = proofs
            .iter()
            .flat_map(|proof| {
                [(7, 1), (7, 2), (8, 1)].map(|(port, index)| ResetKey::new(proof, port).token(index))
            })
            .collect();
        assert_eq!(all[0], ResetKey::new(&proofs[0], 7).token(1));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 9);
    }

    #[test]
    fn only_the_given_token_is_valid_and_zeros_are_none() {
        let token = ResetKey::new(&Proof::of_token(&Token::from_bytes([1; 15])), 7).token(1);
        assert!(is_valid(&token, &token));
        for bit in 0..8 * token.len() {
            let mut other = token;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_valid(&token, &other), "bit {bit}");
        }
        assert!(!is_valid(&NO_TOKEN, &NO_TOKEN));
    }
}
