//! Cryptographic primitives of the encrypted protocol. Fuzz targets use fast insecure stand-ins, because they
//! test the handling of messages.

#[cfg(not(fuzzing))]
pub(crate) use genuine::{Aead, chacha20, cipher, curve25519};
#[cfg(fuzzing)]
pub(crate) use stand_ins::{Aead, chacha20, cipher, curve25519};

#[cfg(not(fuzzing))]
mod genuine {
    use alloc::boxed::Box;

    use chacha20::ChaCha20;
    use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
    use snow::params::DHChoice;
    use snow::resolvers::{CryptoResolver, DefaultResolver};
    use snow::types::Dh;

    #[cfg(not(feature = "std"))]
    pub(crate) use super::portable::{Aead, cipher};
    #[cfg(feature = "std")]
    pub(crate) use super::with_ring::{Aead, cipher};

    /// Exclusive or of `bytes` and the beginning of a ChaCha20 block (RFC 8439, section 2.3).
    pub(crate) fn chacha20(key: &[u8; 32], block: u32, nonce: &[u8; 12], bytes: &mut [u8]) {
        let mut stream = ChaCha20::new(key.into(), nonce.into());
        stream.seek(u64::from(block) * 64);
        stream.apply_keystream(bytes);
    }

    /// Diffie-Hellman over X25519, in the form that `snow` expects.
    pub(crate) fn curve25519() -> Box<dyn Dh> {
        DefaultResolver.resolve_dh(&DHChoice::Curve25519).expect("snow has Curve25519")
    }
}

/// Ciphers of the crate `ring`, which are faster.
#[cfg(all(not(fuzzing), feature = "std"))]
mod with_ring {
    use alloc::boxed::Box;

    use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag, UnboundKey};
    use snow::params::CipherChoice;
    use snow::resolvers::{CryptoResolver, RingResolver};
    use snow::types::Cipher;

    /// Cipher ChaCha20-Poly1305 with one key.
    pub(crate) struct Aead(LessSafeKey);

    impl Aead {
        pub(crate) fn new(key: &[u8; 32]) -> Self {
            Self(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("the length of its keys")))
        }

        /// Encrypts `text`; returns its tag.
        pub(crate) fn encrypt(&self, nonce: [u8; 12], known: &[u8], text: &mut [u8]) -> Option<[u8; 16]> {
            let nonce = Nonce::assume_unique_for_key(nonce);
            let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(known), text).ok()?;
            tag.as_ref().try_into().ok()
        }

        /// Decrypts `text`; `None` if the tag does not match.
        pub(crate) fn decrypt(
            &self,
            nonce: [u8; 12],
            known: &[u8],
            text: &mut [u8],
            tag: &[u8; 16],
        ) -> Option<()> {
            let nonce = Nonce::assume_unique_for_key(nonce);
            let (known, tag) = (Aad::from(known), Tag::from(*tag));
            self.0.open_in_place_separate_tag(nonce, known, tag, text, 0..).ok().map(drop)
        }
    }

    /// Makes a cipher for `snow`.
    pub(crate) fn cipher(choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        RingResolver.resolve_cipher(choice)
    }
}

/// Ciphers in pure Rust, for machines without an operating system.
#[cfg(all(not(fuzzing), any(test, not(feature = "std"))))]
mod portable {
    use alloc::boxed::Box;

    use chacha20poly1305::{AeadInPlace, ChaCha20Poly1305, KeyInit};
    use snow::params::CipherChoice;
    use snow::resolvers::{CryptoResolver, DefaultResolver};
    use snow::types::Cipher;

    /// Cipher ChaCha20-Poly1305 with one key.
    pub(crate) struct Aead(ChaCha20Poly1305);

    impl Aead {
        pub(crate) fn new(key: &[u8; 32]) -> Self {
            Self(ChaCha20Poly1305::new(key.into()))
        }

        /// Encrypts `text`; returns its tag.
        pub(crate) fn encrypt(&self, nonce: [u8; 12], known: &[u8], text: &mut [u8]) -> Option<[u8; 16]> {
            self.0.encrypt_in_place_detached(&nonce.into(), known, text).ok().map(Into::into)
        }

        /// Decrypts `text`; `None` if the tag does not match.
        pub(crate) fn decrypt(
            &self,
            nonce: [u8; 12],
            known: &[u8],
            text: &mut [u8],
            tag: &[u8; 16],
        ) -> Option<()> {
            self.0.decrypt_in_place_detached(&nonce.into(), known, text, tag.into()).ok()
        }
    }

    /// Makes a cipher for `snow`.
    #[cfg_attr(feature = "std", expect(dead_code, reason = "tests compare the other cipher only"))]
    pub(crate) fn cipher(choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

#[cfg(fuzzing)]
mod stand_ins {
    use alloc::boxed::Box;

    use snow::params::CipherChoice;
    use snow::types::{Cipher, Dh, Random};

    /// Insecure stand-in for an AEAD in fuzz targets: the text is not encrypted, and the tag is a checksum.
    #[derive(Default)]
    pub(crate) struct Aead([u8; 32]);

    impl Aead {
        pub(crate) fn new(key: &[u8; 32]) -> Self {
            Self(*key)
        }

        pub(crate) fn encrypt(&self, nonce: [u8; 12], known: &[u8], text: &mut [u8]) -> Option<[u8; 16]> {
            Some(self.tag(&nonce, known, text))
        }

        pub(crate) fn decrypt(
            &self,
            nonce: [u8; 12],
            known: &[u8],
            text: &mut [u8],
            tag: &[u8; 16],
        ) -> Option<()> {
            (self.tag(&nonce, known, text) == *tag).then_some(())
        }

        /// Tag of the stand-in: two FNV-1a hashes over words of eight bytes.
        fn tag(&self, nonce: &[u8], known: &[u8], text: &[u8]) -> [u8; 16] {
            let mut sum = 0xcbf2_9ce4_8422_2325_u64;
            for part in [&self.0[..], nonce, known, text] {
                sum = mix(sum, part.len() as u64);
                for word in part.chunks(8) {
                    let mut bytes = [0; 8];
                    bytes[..word.len()].copy_from_slice(word);
                    sum = mix(sum, u64::from_le_bytes(bytes));
                }
            }
            u128::from(sum).wrapping_mul(0x1_0000_0000_0000_01b3).to_le_bytes()
        }
    }

    fn mix(sum: u64, word: u64) -> u64 {
        (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
    }

    impl Cipher for Aead {
        fn name(&self) -> &'static str {
            "ChaChaPoly"
        }

        fn set(&mut self, key: &[u8; 32]) {
            self.0 = *key;
        }

        fn encrypt(&self, nonce: u64, known: &[u8], text: &[u8], out: &mut [u8]) -> usize {
            out[..text.len()].copy_from_slice(text);
            out[text.len()..text.len() + 16].copy_from_slice(&self.tag(&nonce.to_le_bytes(), known, text));
            text.len() + 16
        }

        fn decrypt(
            &self,
            nonce: u64,
            known: &[u8],
            text: &[u8],
            out: &mut [u8],
        ) -> Result<usize, snow::Error> {
            let (text, tag) = text.split_last_chunk::<16>().ok_or(snow::Error::Decrypt)?;
            if self.tag(&nonce.to_le_bytes(), known, text) != *tag {
                return Err(snow::Error::Decrypt);
            }
            out[..text.len()].copy_from_slice(text);
            Ok(text.len())
        }
    }

    /// Exclusive or of `bytes` and a repeated byte.
    pub(crate) fn chacha20(key: &[u8; 32], block: u32, nonce: &[u8; 12], bytes: &mut [u8]) {
        let mask = block.to_le_bytes().iter().chain(nonce).fold(key[0], |mask, byte| mask ^ byte);
        bytes.iter_mut().for_each(|byte| *byte ^= mask);
    }

    /// Insecure stand-in for key agreement in fuzz targets: public and private key are equal, and the shared secret
    /// is the exclusive or of both ends' keys.
    #[derive(Default)]
    struct SharedXor([u8; 32]);

    impl Dh for SharedXor {
        fn name(&self) -> &'static str {
            "25519"
        }

        fn pub_len(&self) -> usize {
            32
        }

        fn priv_len(&self) -> usize {
            32
        }

        fn set(&mut self, key: &[u8]) {
            self.0.copy_from_slice(key);
        }

        fn generate(&mut self, rng: &mut dyn Random) -> Result<(), snow::Error> {
            rng.try_fill_bytes(&mut self.0)
        }

        fn pubkey(&self) -> &[u8] {
            &self.0
        }

        fn privkey(&self) -> &[u8] {
            &self.0
        }

        fn dh(&self, key: &[u8], out: &mut [u8]) -> Result<(), snow::Error> {
            out.iter_mut().zip(self.0.iter().zip(key)).for_each(|(out, (ours, theirs))| *out = ours ^ theirs);
            Ok(())
        }
    }

    pub(crate) fn curve25519() -> Box<dyn Dh> {
        Box::new(SharedXor::default())
    }

    pub(crate) fn cipher(_: &CipherChoice) -> Option<Box<dyn Cipher>> {
        Some(Box::new(Aead::default()))
    }
}

#[cfg(all(test, not(fuzzing), feature = "std"))]
mod tests {
    use super::{portable, with_ring};

    #[test]
    fn both_ciphers_read_each_other() {
        let (key, nonce, known) = ([7; 32], [1; 12], b"header");
        let (ring, rust) = (with_ring::Aead::new(&key), portable::Aead::new(&key));
        let mut text = *b"some text";
        let tag = ring.encrypt(nonce, known, &mut text).unwrap();
        assert_eq!(rust.decrypt(nonce, known, &mut text, &tag), Some(()));
        assert_eq!(&text, b"some text");
        assert_eq!(rust.encrypt(nonce, known, &mut text), Some(tag));
        assert_eq!(ring.decrypt(nonce, known, &mut text, &tag), Some(()));
        assert_eq!(rust.decrypt(nonce, b"another", &mut text, &tag), None);
    }
}
