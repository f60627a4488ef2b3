//! Keys: name, description, and allowed values.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

/// One key of a configuration.
#[derive(Clone, Debug)]
pub struct Key<'a> {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its description, with the unit.
    pub help: &'a str,
    /// The values that it allows.
    pub allowed: Allowed<'a>,
    /// A word that is also allowed.
    pub or: Option<&'static str>,
    /// The default; `None` if there is none, or if it depends on other settings.
    pub value: Option<Value>,
    /// Whether the user must give it.
    pub required: bool,
}

/// A key whose value is a table of further keys.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its description.
    pub help: &'a str,
    /// Whether the user must give it.
    pub required: bool,
    /// Keys and values that hold without the table; `None` if then there is nothing.
    pub default: Option<&'a [(&'static str, &'static str)]>,
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
    /// Any text of up to this many characters, but not an empty one.
    Text(usize),
    /// A node by its number or by its name.
    Node,
    /// A list of such values: any number of them, or this many.
    List(&'a Self, Option<usize>),
    /// A value of either type, which is not that of the other.
    Either(&'a Self, &'a Self),
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Switch(bool),
    /// A whole number.
    Whole(u64),
    /// A finite number.
    Number(f64),
    /// One of the key's words.
    Word(&'static str),
    /// A text that the user made up.
    Text(String),
    /// Several values.
    List(Vec<Self>),
}

impl Allowed<'_> {
    /// `text` as a value, if it is an allowed word or any text is allowed.
    pub fn text(&self, text: &str) -> Option<Value> {
        match self {
            Self::Words(words) => words.iter().find(|word| **word == text).map(|word| Value::Word(word)),
            Self::Text(longest) => {
                (!text.is_empty() && text.chars().count() <= *longest).then(|| Value::Text(text.into()))
            }
            Self::Node => Some(Value::Text(text.into())),
            _ => None,
        }
    }

    /// A whole number as a value, if it is within the bounds.
    pub fn whole(&self, n: i128) -> Option<Value> {
        match *self {
            Self::Node => u64::try_from(n).ok().map(Value::Whole),
            Self::Whole(min, max) => {
                u64::try_from(n).ok().filter(|n| (min..=max).contains(n)).map(Value::Whole)
            }
            Self::Number(..) if n.unsigned_abs() <= 1 << 53 => self.number(n as f64),
            _ => None,
        }
    }

    /// A number as a value, if it is within the bounds.
    pub fn number(&self, x: f64) -> Option<Value> {
        match *self {
            Self::Number(min, max) => (min..=max).contains(&x).then_some(Value::Number(x)),
            _ => None,
        }
    }

    /// `true` or `false` as a value.
    pub fn switch(&self, on: bool) -> Option<Value> {
        (*self == Self::Switch).then_some(Value::Switch(on))
    }
}

impl From<RangeInclusive<f64>> for Allowed<'_> {
    fn from(range: RangeInclusive<f64>) -> Self {
        Self::Number(*range.start(), *range.end())
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
            Self::Text(longest) => write!(f, "text of 1 to {longest} characters"),
            Self::Node => f.write_str("the number or the name of a node"),
            Self::List(_, None) => f.write_str("an array"),
            Self::List(_, Some(count)) => write!(f, "an array of {count} values"),
            Self::Either(one, other) => write!(f, "{one}, or {other}"),
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
