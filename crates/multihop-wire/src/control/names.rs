//! Names of transports in the options of a SYN, by which two ends agree on one.

use alloc::vec::Vec;

use super::refusal;
use crate::ParseError;

/// The names of transports that a caller offers, in the order of its preference, or the one that a listener chooses.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Names(
    /// The names as on the wire, each preceded by its length.
    Vec<u8>,
);

impl Names {
    /// Maximum length of a name, bytes.
    pub const MAX_NAME: usize = 28;
    /// Maximum number of names in one option.
    pub const MAX_NAMES: usize = 8;

    /// Collects these names; `None` unless there are at most [`MAX_NAMES`](Self::MAX_NAMES), each of 1 to
    /// [`MAX_NAME`](Self::MAX_NAME) visible ASCII characters.
    pub fn new(names: &[&str]) -> Option<Self> {
        let mut bytes = Vec::new();
        for name in names {
            bytes.push(u8::try_from(name.len()).ok()?);
            bytes.extend_from_slice(name.as_bytes());
        }
        Self::parse(&bytes).ok()
    }

    /// The names, the preferred one first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.0.as_slice();
        core::iter::from_fn(move || {
            let (name, after) = split(rest)?;
            rest = after;
            core::str::from_utf8(name).ok()
        })
    }

    /// Whether the list has no names.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of the option's type.
    pub(super) const OPTION: u8 = 3;

    /// Reads the value of an option.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let (mut rest, mut count) = (bytes, 0);
        while !rest.is_empty() {
            let (name, after) = split(rest).ok_or(INVALID)?;
            let is_name = (1..=Self::MAX_NAME).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic);
            count += 1;
            if !is_name || count > Self::MAX_NAMES {
                return Err(INVALID);
            }
            rest = after;
        }
        Ok(Self(bytes.to_vec()))
    }

    /// Names in the format of the option's value.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Splits off the first name from the others, each of which is preceded by its length.
fn split(names: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = names.split_first()?;
    rest.split_at_checked(len.into())
}

const INVALID: ParseError =
    refusal("option", Names::OPTION as u32, "1 to 8 names of 1 to 28 visible ASCII characters");
