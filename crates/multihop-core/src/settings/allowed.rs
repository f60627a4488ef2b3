//! Keys: name, description, and allowed values.

use core::fmt;

/// One key of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its description, with the unit.
    pub help: &'a str,
    /// The values that it allows.
    pub allowed: Allowed<'a>,
    /// A word that is also allowed.
    pub or: Option<&'static str>,
    /// The default; `None` if it depends on other settings.
    pub value: Option<Value>,
}

/// The values that a key allows. `Display` is the form of error messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed<'a> {
    /// `true` and `false`.
    Switch,
    /// Whole numbers between two bounds, both included.
    Whole(u64, u64),
    /// Finite numbers between two bounds, both included.
    Number(f64, f64),
    /// One of these words.
    Words(&'a [&'static str]),
}

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Switch(bool),
    /// A whole number.
    Whole(u64),
    /// A finite number.
    Number(f64),
    /// One of the key's words.
    Word(&'static str),
}

impl Key<'_> {
    /// `text` as a value of the key, if it is an allowed word.
    pub fn word(&self, text: &str) -> Option<Value> {
        let words = if let Allowed::Words(words) = self.allowed { words } else { &[] };
        words.iter().chain(&self.or).find(|word| **word == text).map(|word| Value::Word(word))
    }

    /// A whole number as a value of the key, if it is within the bounds.
    pub fn whole(&self, n: i128) -> Option<Value> {
        match self.allowed {
            Allowed::Whole(min, max) => {
                u64::try_from(n).ok().filter(|n| (min..=max).contains(n)).map(Value::Whole)
            }
            Allowed::Number(..) if n.unsigned_abs() <= 1 << 53 => self.number(n as f64),
            _ => None,
        }
    }

    /// A number as a value of the key, if it is within the bounds.
    pub fn number(&self, x: f64) -> Option<Value> {
        match self.allowed {
            Allowed::Number(min, max) => (min..=max).contains(&x).then_some(Value::Number(x)),
            _ => None,
        }
    }

    /// `true` or `false` as a value of the key.
    pub fn switch(&self, on: bool) -> Option<Value> {
        (self.allowed == Allowed::Switch).then_some(Value::Switch(on))
    }
}

impl fmt::Display for Key<'_> {
    /// The allowed values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.allowed)?;
        self.or.map_or(Ok(()), |word| write!(f, ", or {word:?}"))
    }
}

impl fmt::Display for Allowed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch => f.write_str("true, false"),
            Self::Whole(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::Number(min, max) => write!(f, "a number from {} to {}", Bound(*min), Bound(*max)),
            Self::Words(words) => {
                let separators = core::iter::once("").chain(core::iter::repeat(", "));
                words.iter().zip(separators).try_for_each(|(word, before)| write!(f, "{before}{word:?}"))
            }
        }
    }
}

/// A bound in readable form: 0.001, 10.0, 1e6.
struct Bound(f64);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            x if x.abs() >= 1e6 => write!(f, "{x:e}"),
            x if x.abs() >= 1.0 || x == 0.0 => write!(f, "{x:?}"),
            x => write!(f, "{x}"),
        }
    }
}
