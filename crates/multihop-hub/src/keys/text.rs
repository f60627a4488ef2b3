//! Text forms of keys and tokens, which users can copy or read aloud, with a check against typing errors.

use alloc::string::String;
use blake2::{Blake2s256, Digest};

/// Reason for which a text is not a key or token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TextError {
    /// The prefix is missing.
    #[error("it does not begin with '{0}'")]
    Prefix(&'static str),
    /// The text has the wrong length.
    #[error("length is {found}, allowed: {allowed} characters; hyphens and the prefix do not count")]
    Length {
        /// Characters found, without hyphens and blanks.
        found: usize,
        /// Number of characters that a text of this type must have.
        allowed: usize,
    },
    /// A character that such texts cannot have.
    #[error("found the character '{0}', allowed: digits and letters except u")]
    Character(char),
    /// The check at the end of the text does not match the rest, so the text is mistyped.
    #[error("mistyped: the check at its end does not match")]
    Check,
}

/// The first `length` characters of the text of `bytes`: five bits each, most significant bits first.
pub(super) fn encode(bytes: &[u8], length: usize) -> String {
    let bit = |n: usize| bytes.get(n / 8).map_or(0, |byte| byte >> (7 - n % 8) & 1);
    let value = |at: usize| (5 * at..5 * at + 5).fold(0, |value, n| value << 1 | bit(n));
    (0..length).map(|at| char::from(ALPHABET[usize::from(value(at))])).collect()
}

/// Decodes a text of `length` characters to bytes; missing bits are 0. Case, hyphens and blanks are ignored; o is read
/// as 0, i and l as 1.
pub(super) fn decode<const N: usize>(text: &str, length: usize) -> Result<[u8; N], TextError> {
    let (mut bytes, mut found) = ([0_u8; N], 0_usize);
    for character in text.chars().filter(|c| *c != '-' && !c.is_whitespace()) {
        let value = value(character)?;
        for n in 0..5 {
            let at = 5 * found + n;
            if let Some(byte) = bytes.get_mut(at / 8) {
                *byte |= (value >> (4 - n) & 1) << (7 - at % 8);
            }
        }
        found = found.saturating_add(1);
    }
    if found == length { Ok(bytes) } else { Err(TextError::Length { found, allowed: length }) }
}

/// The check at the end of a text of this kind.
pub(super) fn check(kind: &str, bytes: &[u8]) -> [u8; 3] {
    let digest = Blake2s256::new().chain_update(kind).chain_update(bytes).finalize();
    [digest[0], digest[1], digest[2]]
}

fn value(character: char) -> Result<u8, TextError> {
    let plain = match character.to_ascii_lowercase() {
        'o' => '0',
        'i' | 'l' => '1',
        other => other,
    };
    let place = (0..).zip(ALPHABET).find(|(_, known)| char::from(**known) == plain);
    place.map(|(value, _)| value).ok_or(TextError::Character(character))
}

/// Alphabet of Crockford's base 32, without i, l, o and u.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_of_known_bytes() {
        assert_eq!(encode(&[0xff, 0, 0, 0, 0x1f], 8), "zw00000z");
        assert_eq!(encode(&[0x80], 2), "g0");
        assert_eq!(decode(" ZW-OoO0 0z", 8), Ok([0xff, 0, 0, 0, 0x1f]));
        assert_eq!(decode(" ILio0", 5), Ok([0x08, 0x42, 0]));
        assert_eq!(decode::<1>("g", 2), Err(TextError::Length { found: 1, allowed: 2 }));
        assert_eq!(decode::<1>("gu", 2), Err(TextError::Character('u')));
        let message = "found the character 'u', allowed: digits and letters except u";
        assert_eq!(TextError::Character('u').to_string(), message);
    }

    proptest! {
        #[test]
        fn bytes_survive(bytes: [u8; 35]) {
            let text = encode(&bytes, 56);
            prop_assert_eq!(decode(&text.to_uppercase(), 56), Ok(bytes));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(bytes) = decode::<20>(&text, 32) {
                prop_assert_eq!(decode(&encode(&bytes, 32), 32), Ok(bytes));
            }
        }
    }
}
