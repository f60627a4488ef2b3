//! Key pairs, shared keys, and their text form.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use zeroize::Zeroizing;

use super::text::{self, TextError};
use crate::primitives;

/// The key pair of this host. `Debug` shows only the public key.
#[derive(Clone)]
pub struct Identity {
    secret: Zeroizing<[u8; KEY]>,
    public: PublicKey,
}

/// A secret that both ends have in addition to their key pairs. It keeps recorded traffic secret even if
/// Curve25519 is broken later, for example by a quantum computer.
#[derive(Clone)]
pub struct SharedKey(Zeroizing<[u8; KEY]>);

/// The public key of a peer: a point on Curve25519.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PublicKey([u8; KEY]);

impl Identity {
    /// Generates a key pair from the system's random numbers.
    #[cfg(feature = "std")]
    pub fn generate() -> std::io::Result<Self> {
        let mut secret = Zeroizing::new([0; KEY]);
        getrandom::fill(&mut secret[..])?;
        Ok(Self::from_secret(secret))
    }

    /// The key pair with this private key.
    pub fn from_secret(secret: impl Into<Zeroizing<[u8; KEY]>>) -> Self {
        let secret = secret.into();
        let mut pair = primitives::curve25519();
        pair.set(&secret[..]);
        let public = PublicKey(pair.pubkey().try_into().expect("32 bytes"));
        Self { secret, public }
    }

    /// Public key of this identity.
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn secret(&self) -> &[u8; KEY] {
        &self.secret
    }

    /// Encodes the private key as text.
    pub fn to_text(&self) -> Zeroizing<String> {
        encode(&self.secret, SECRET)
    }

    /// Decodes a key pair from the text that [`to_text`](Self::to_text) returns.
    pub fn from_text(text: &str) -> Result<Self, TextError> {
        parse(text, SECRET).map(Self::from_secret)
    }
}

impl SharedKey {
    /// Generates a key from the system's random numbers.
    #[cfg(feature = "std")]
    pub fn generate() -> std::io::Result<Self> {
        let mut secret = Zeroizing::new([0; KEY]);
        getrandom::fill(&mut secret[..])?;
        Ok(Self(secret))
    }

    /// Makes a key of these bytes.
    pub fn from_bytes(secret: [u8; KEY]) -> Self {
        Self(Zeroizing::new(secret))
    }

    /// Bytes of the key, which are erased from memory after use.
    pub fn psk(&self) -> Zeroizing<[u8; KEY]> {
        self.0.clone()
    }

    /// Encodes the key as text.
    pub fn to_text(&self) -> Zeroizing<String> {
        encode(&self.0, SHARED)
    }

    /// Decodes a key from the text that [`to_text`](Self::to_text) returns.
    pub fn from_text(text: &str) -> Result<Self, TextError> {
        parse(text, SHARED).map(Self)
    }
}

impl PublicKey {
    /// Makes a public key of these bytes.
    pub const fn from_bytes(bytes: [u8; KEY]) -> Self {
        Self(bytes)
    }

    /// Bytes of the public key.
    pub const fn as_bytes(&self) -> &[u8; KEY] {
        &self.0
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("public", &self.public).finish_non_exhaustive()
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey(..)")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.0, PUBLIC))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        parse(text, PUBLIC).map(|key| Self(*key))
    }
}

/// Encodes a key as text on one line: prefix, key and check.
fn encode(key: &[u8; KEY], prefix: &'static str) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new([0; KEY + CHECK]);
    bytes[..KEY].copy_from_slice(key);
    bytes[KEY..].copy_from_slice(&text::check(prefix, key));
    let text = Zeroizing::new(text::encode(&bytes[..], LENGTH));
    Zeroizing::new(format!("{prefix}{}", *text))
}

fn parse(text: &str, prefix: &'static str) -> Result<Zeroizing<[u8; KEY]>, TextError> {
    let text = text.trim();
    let front = text.get(..prefix.len()).filter(|front| front.eq_ignore_ascii_case(prefix));
    let rest = front.map(|_| &text[prefix.len()..]).ok_or(TextError::Prefix(prefix))?;
    let bytes: Zeroizing<[u8; KEY + CHECK]> = Zeroizing::new(text::decode(rest, LENGTH)?);
    let (key, check) = bytes.split_first_chunk::<KEY>().expect("the key and the check");
    if *check == text::check(prefix, key) { Ok(Zeroizing::new(*key)) } else { Err(TextError::Check) }
}

const KEY: usize = 32;
const CHECK: usize = 3;
/// Number of characters after the prefix.
const LENGTH: usize = (KEY + CHECK) * 8 / 5;
const PUBLIC: &str = "tpa-public-";
const SECRET: &str = "tpa-secret-";
const SHARED: &str = "tpa-shared-";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn public_half_is_that_of_rfc_7748() {
        // Section 5.2: the initial k and u are 9; this is the result after one iteration.
        let hex = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079";
        let public = std::array::from_fn(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap());
        let nine = Identity::from_secret(std::array::from_fn(|n| if n == 0 { 9 } else { 0 }));
        assert_eq!(nine.public(), PublicKey(public));
    }

    #[test]
    fn debug_shows_only_the_public_key() {
        let identity = Identity::from_secret([7; KEY]);
        let said = format!("{identity:?}");
        assert!(said.contains(&identity.public().to_string()));
        assert!(!said.contains(encode(&[7; KEY], SECRET).strip_prefix(SECRET).unwrap()));
        assert!(!said.contains("7, 7"));
        assert_eq!(format!("{:?}", SharedKey::from_bytes([7; KEY])), "SharedKey(..)");
    }

    proptest! {
        #[test]
        fn keys_survive_their_text(key: [u8; KEY]) {
            let key = PublicKey(key);
            prop_assert_eq!(key.to_string().parse(), Ok(key));
            prop_assert_eq!(key.to_string().to_uppercase().parse(), Ok(key));
        }

        #[test]
        fn a_mistyped_key_is_rejected(key: [u8; KEY], at in 11_usize..67, other in "[0-9a-hjkmnp-tv-z]") {
            let text = PublicKey(key).to_string();
            let mut wrong = text.clone();
            wrong.replace_range(at..=at, &other);
            // The check has 24 bits: about one wrong text in 16 million is accepted.
            prop_assert_eq!(wrong.parse::<PublicKey>().is_ok(), wrong == text);
        }
    }
}
