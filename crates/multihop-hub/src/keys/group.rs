//! Key of a group, by which its members encrypt datagrams for each other.

use alloc::vec::Vec;

use blake2::{Blake2s256, Digest};

use super::SharedKey;
use crate::primitives::Aead;

/// Cipher of a group: ChaCha20-Poly1305 under a key that is derived from the members' shared key.
pub struct GroupKey(Aead);

impl GroupKey {
    /// Derives the key of a group.
    pub fn new(shared: &SharedKey) -> Self {
        let key = Blake2s256::new().chain_update(GROUP).chain_update(*shared.psk()).finalize();
        Self(Aead::new(&key.into()))
    }

    /// Encrypts a text and appends its tag. Every text needs a different nonce.
    pub fn seal(&self, nonce: [u8; 12], known: &[u8], text: &mut Vec<u8>) {
        let tag = self.0.encrypt(nonce, known, text).expect("a text of a datagram's length");
        text.extend(tag);
    }

    /// Decrypts a text with its tag; `None` if no member has encrypted it.
    pub fn open(&self, nonce: [u8; 12], known: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (text, tag) = sealed.split_last_chunk()?;
        let mut text = text.to_vec();
        self.0.decrypt(nonce, known, &mut text, tag).map(|()| text)
    }
}

/// Prefix that separates the key of a group from other uses of a shared key.
const GROUP: &str = "multihop group 1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_open_what_a_member_has_sealed() {
        let [one, other] = [1, 2].map(|n| GroupKey::new(&SharedKey::from_bytes([n; 32])));
        let mut sealed = b"text".to_vec();
        one.seal([3; 12], b"known", &mut sealed);
        assert_eq!(one.open([3; 12], b"known", &sealed).as_deref(), Some(&b"text"[..]));
        assert_eq!(other.open([3; 12], b"known", &sealed), None);
        assert_eq!(one.open([4; 12], b"known", &sealed), None);
        assert_eq!(one.open([3; 12], b"other", &sealed), None);
        assert_eq!(one.open([3; 12], b"known", &sealed[..15]), None);
        sealed[0] ^= 1;
        assert_eq!(one.open([3; 12], b"known", &sealed), None);
    }
}
