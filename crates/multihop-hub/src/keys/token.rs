//! Tokens: shared secrets that users can read aloud.

use core::fmt;
use core::str::FromStr;

use blake2::{Blake2s256, Digest};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::text::{self, TextError};

/// A shared secret of 120 random bits: `k2m7p-...`, five groups of five.
///
/// [`Display`](fmt::Display) writes its text; `Debug` reveals nothing.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Token([u8; SECRET]);

impl Token {
    /// Generates a token from the system's random numbers.
    #[cfg(feature = "std")]
    pub fn generate() -> std::io::Result<Self> {
        let mut secret = [0; SECRET];
        getrandom::fill(&mut secret)?;
        Ok(Self(secret))
    }

    /// Makes a token of these secret bytes.
    pub const fn from_bytes(secret: [u8; SECRET]) -> Self {
        Self(secret)
    }

    /// Derives the pre-shared key of the handshake.
    pub(crate) fn psk(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(Blake2s256::new().chain_update(PSK).chain_update(self.0).finalize().into())
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Token {}

impl FromStr for Token {
    type Err = TextError;

    /// Parses the text form of a token. Case, hyphens and blanks are ignored; o is read as 0, i and l as 1.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let bytes: Zeroizing<[u8; SECRET + 1]> = Zeroizing::new(text::decode(text, GROUPS * GROUP)?);
        let (secret, check) = bytes.split_first_chunk().expect("the secret and the check");
        let token = Self(*secret);
        if check == [check_bits(secret)] { Ok(token) } else { Err(TextError::Check) }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Zeroizing::new([0; SECRET + 1]);
        bytes[..SECRET].copy_from_slice(&self.0);
        bytes[SECRET] = check_bits(&self.0);
        let text = Zeroizing::new(text::encode(&bytes[..], GROUPS * GROUP));
        for (n, group) in text.as_bytes().chunks(GROUP).enumerate() {
            f.write_str(if n > 0 { "-" } else { "" })?;
            f.write_str(core::str::from_utf8(group).expect("the alphabet is ASCII"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The check in the last character of the text: five bits.
fn check_bits(secret: &[u8; SECRET]) -> u8 {
    text::check("token", secret)[0] & 0xf8
}

/// Length of a token's secret, bytes.
const SECRET: usize = 15;
const GROUPS: usize = 5;
const GROUP: usize = 5;
/// Prefix that separates this hash from other uses of the token.
const PSK: &str = "multihop TPA token 1";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn five_groups_of_five_that_tolerate_people() {
        let token = Token::from_bytes(*b"fifteen letters");
        let text = token.to_string();
        assert_eq!(text.split('-').map(str::len).collect::<Vec<_>>(), [5; 5]);
        let sloppy = text.replace('-', " ").to_uppercase().replace('0', "O").replace('1', "l");
        assert_eq!(sloppy.parse(), Ok(token));
    }

    #[test]
    fn a_wrong_character_is_detected_except_one_in_thirty_two() {
        let text = Token::from_bytes([7; SECRET]).to_string();
        let wrong = (0..text.len()).filter(|&at| text.as_bytes()[at] != b'-').map(|at| {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'z' { b'y' } else { b'z' };
            String::from_utf8(other).unwrap()
        });
        let found = wrong.filter(|text| text.parse::<Token>() == Err(TextError::Check)).count();
        assert!(found >= 22, "{found} of 25");
    }

    #[cfg(feature = "std")]
    #[test]
    fn two_tokens_are_not_the_same() {
        let (one, other) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert_ne!(one, other);
        assert_ne!(one.psk(), other.psk());
    }

    #[test]
    fn debug_reveals_nothing() {
        assert_eq!(format!("{:?}", Token::from_bytes([7; SECRET])), "Token(..)");
    }

    proptest! {
        #[test]
        fn tokens_survive_their_text(secret: [u8; SECRET]) {
            let token = Token::from_bytes(secret);
            prop_assert_eq!(token.to_string().parse(), Ok(token));
        }
    }
}
