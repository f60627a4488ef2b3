//! Codes: words that people can say, hear and type.

use std::fmt;
use std::str::FromStr;

use bip39::Language;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Four words for one transfer. The first one is public and tells the senders of a network apart; the other three are
/// secret: 33 random bits.
///
/// [`Display`](fmt::Display) writes the words; `Debug` reveals nothing.
#[derive(Clone, Eq, PartialEq, Zeroize, ZeroizeOnDrop)]
pub struct Code([u16; WORDS]);

/// The public part of a code: the number of its first word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Label(pub(super) u16);

/// Reason for which a text is not a code.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CodeError {
    /// The text has this number of words instead of four.
    #[error("{0} words, allowed: {WORDS}")]
    Number(usize),
    /// The text has this word, which is in no code.
    #[error("'{}' is not a word of a code", .0.escape_debug())]
    Word(String),
    /// The text has a word that is in no code, but a similar word exists.
    #[error("'{}' is not a word of a code, did you mean '{similar}'?", found.escape_debug())]
    Similar {
        /// Word of the text that is in no code.
        found: String,
        /// Similar word that codes contain.
        similar: &'static str,
    },
}

impl Code {
    /// Generates a code from the system's random numbers.
    pub fn generate() -> std::io::Result<Self> {
        let mut bytes = Zeroizing::new([0; 2 * WORDS]);
        getrandom::fill(&mut bytes[..])?;
        let (pairs, _) = bytes.as_chunks();
        // 2048 divides 65536: all words are equally likely.
        Ok(Self(std::array::from_fn(|n| u16::from_le_bytes(pairs[n]) % LIST)))
    }

    pub(super) fn label(&self) -> Label {
        Label(self.0[0])
    }

    /// The text from which the secret of the exchange is derived.
    pub(super) fn secret(&self) -> Zeroizing<String> {
        Zeroizing::new(self.to_string())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, number) in self.0.iter().enumerate() {
            f.write_str(if n > 0 { "-" } else { "" })?;
            f.write_str(Language::English.word_list()[usize::from(*number)])?;
        }
        Ok(())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}

impl FromStr for Code {
    type Err = CodeError;

    /// Parses words separated by any characters but letters; case is ignored. The first four letters of each
    /// word suffice.
    fn from_str(text: &str) -> Result<Self, CodeError> {
        let words: Vec<_> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let words: &[&str; WORDS] =
            words.as_slice().try_into().map_err(|_| CodeError::Number(words.len()))?;
        let mut code = Self([0; WORDS]);
        for (number, word) in code.0.iter_mut().zip(words) {
            *number = find(&word.to_lowercase())?;
        }
        Ok(code)
    }
}

/// The number of a word, or of the only word with this beginning.
fn find(word: &str) -> Result<u16, CodeError> {
    if let Some(number) = Language::English.find_word(word) {
        return Ok(number);
    }
    let list = Language::English.word_list();
    let mut longer = (0..).zip(list).filter(|(_, known)| known.starts_with(word));
    match (longer.next(), longer.next()) {
        (Some((number, _)), None) if word.len() >= DISTINCT => Ok(number),
        _ => Err(unknown(word)),
    }
}

fn unknown(word: &str) -> CodeError {
    let list = Language::English.word_list();
    match list.iter().find(|known| is_similar(word.as_bytes(), known.as_bytes())) {
        Some(similar) => CodeError::Similar { found: word.to_owned(), similar },
        None => CodeError::Word(word.to_owned()),
    }
}

/// Whether the words differ in one changed, missing or additional letter, or two exchanged neighbours.
fn is_similar(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[same..], &other[same..]);
    match (one, other) {
        ([a, b, rest @ ..], [c, d, more @ ..]) if (a, b) == (d, c) && rest == more => true,
        ([_, rest @ ..], [_, more @ ..]) if one.len() == other.len() => rest == more,
        (rest, [_, more @ ..]) => rest == more,
        _ => false,
    }
}

const WORDS: usize = 4;
/// Number of words in the list (BIP 39).
const LIST: u16 = 2048;
/// Number of first letters that distinguish the words of the list (BIP 39).
const DISTINCT: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn people_may_be_sloppy() {
        let code: Code = "kitten-river-amazing-zoo".parse().unwrap();
        assert_eq!(code.to_string(), "kitten-river-amazing-zoo");
        for text in [" Kitten RIVER, amazing  zoo\n", "kitt-rive-amaz-zoo", "kitten.river.amazi.zoo"] {
            assert_eq!(text.parse(), Ok(code.clone()), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_before_anything_is_sent() {
        let parse = |text: &str| text.parse::<Code>().unwrap_err().to_string();
        assert_eq!(parse("kitten river"), "2 words, allowed: 4");
        assert_eq!(parse("kitten rivr zoo zoo"), "'rivr' is not a word of a code, did you mean 'river'?");
        assert_eq!(parse("kitetn river zoo zoo"), "'kitetn' is not a word of a code, did you mean 'kitten'?");
        assert_eq!(parse("kitten qqqqq zoo zoo"), "'qqqqq' is not a word of a code");
        assert_eq!(parse("ac river zoo zoo"), "'ac' is not a word of a code, did you mean 'act'?");
    }

    #[test]
    fn codes_are_random_and_debug_reveals_nothing() {
        let (one, other) = (Code::generate().unwrap(), Code::generate().unwrap());
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "Code(..)");
        assert_eq!(usize::from(LIST), Language::English.word_list().len());
    }

    proptest! {
        #[test]
        fn codes_survive_their_text(numbers: [u16; WORDS]) {
            let code = Code(numbers.map(|number| number % LIST));
            prop_assert_eq!(code.to_string().parse(), Ok(code));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = text.parse::<Code>();
        }
    }
}
