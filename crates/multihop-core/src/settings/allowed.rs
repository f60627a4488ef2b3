//! Keys: name, description, and allowed values.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

/// A key of a configuration, with everything that references and schemas show.
#[derive(Clone, Debug)]
pub struct Key<'a> {
    /// Name of the key in scenario files.
    pub name: &'static str,
    /// Description of the key, with the unit.
    pub help: &'a str,
    /// Values that the key allows.
    pub allowed: Allowed,
    /// Default of the key; `None` if there is none, or if it depends on other settings.
    pub value: Option<Value>,
    /// Whether the key is required: a document without it is refused.
    pub required: bool,
}

/// A key whose value is a table of further keys.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Name of the table in scenario files.
    pub name: &'static str,
    /// Description of the table for references, schemas and editors.
    pub help: &'a str,
    /// Whether the table is required: a document without it is refused.
    pub required: bool,
    /// Keys and values that apply without the table; `None` if the feature is then absent.
    pub default: Option<&'a [(&'static str, &'static str)]>,
}

/// The values that a key allows. `Display` is the form of error messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Allowed {
    /// A switch: `true` or `false`.
    Switch,
    /// Whole numbers between two bounds, both included.
    Whole(u64, u64),
    /// Finite numbers between two bounds, both included.
    Number(f64, f64),
    /// A word of this list.
    Words(Vec<&'static str>),
    /// Any text of up to this many characters, but not an empty one.
    Text(usize),
    /// A node by its number or by its name.
    Node,
    /// A list whose elements are values of the inner kind: any number of them, or exactly this many.
    List(Box<Self>, Option<usize>),
    /// A value of the inner kind, or this word.
    OrWord(Box<Self>, &'static str),
    /// Value of one of two types that exclude each other.
    Either(Box<Self>, Box<Self>),
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A switch that is `true` or `false`.
    Switch(bool),
    /// A whole number of at least 0.
    Whole(u64),
    /// A finite number, possibly with a fraction.
    Number(f64),
    /// A word of the key's list.
    Word(&'static str),
    /// A text of the user's choice, such as a name.
    Text(String),
    /// Several values, in the user's order.
    List(Vec<Self>),
}

impl Allowed {
    /// The words of a list that has a value for each.
    pub fn of_words<T>(words: &[(&'static str, T)]) -> Self {
        Self::Words(words.iter().map(|(word, _)| *word).collect())
    }

    /// A list of any length whose elements are values of this kind.
    pub fn list(self) -> Self {
        Self::List(Box::new(self), None)
    }

    /// A list of `count` values of this kind.
    pub fn array(self, count: usize) -> Self {
        Self::List(Box::new(self), Some(count))
    }

    /// A value of this kind, or a word.
    pub fn or_word(self, word: &'static str) -> Self {
        Self::OrWord(Box::new(self), word)
    }

    /// Union of two kinds of allowed values.
    pub fn or(self, other: Self) -> Self {
        Self::Either(Box::new(self), Box::new(other))
    }

    /// Converts `text` to a value: an allowed word, or any text if texts are allowed; otherwise `None`.
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

impl From<RangeInclusive<f64>> for Allowed {
    fn from(range: RangeInclusive<f64>) -> Self {
        Self::Number(*range.start(), *range.end())
    }
}

impl From<RangeInclusive<u64>> for Allowed {
    fn from(range: RangeInclusive<u64>) -> Self {
        Self::Whole(*range.start(), *range.end())
    }
}

impl Value {
    /// Unwraps the values of a [`Value::List`].
    ///
    /// # Panics
    ///
    /// If the value has another type.
    pub fn into_list(self) -> Vec<Self> {
        match self {
            Self::List(values) => values,
            _ => unreachable!("a value of the allowed type"),
        }
    }

    /// Unwraps the text of a [`Value::Text`], which the user may choose freely.
    ///
    /// # Panics
    ///
    /// If the value has another type.
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            _ => unreachable!("a value of the allowed type"),
        }
    }

    /// Unwraps the number of a [`Value::Number`].
    ///
    /// # Panics
    ///
    /// If it is another value.
    pub fn into_number(self) -> f64 {
        match self {
            Self::Number(x) => x,
            _ => unreachable!("a value of the allowed type"),
        }
    }

    /// Unwraps the number of a [`Value::Whole`].
    ///
    /// # Panics
    ///
    /// If it is another value.
    pub fn into_whole(self) -> u64 {
        match self {
            Self::Whole(n) => n,
            _ => unreachable!("a value of the allowed type"),
        }
    }

    /// The value that a word stands for.
    ///
    /// # Panics
    ///
    /// If it is another value.
    pub fn into_choice<T: Copy>(self, words: &[(&'static str, T)]) -> T {
        let found = words.iter().find(|(word, _)| self == Self::Word(word));
        found.map(|(_, value)| *value).expect("one of the allowed words")
    }
}

impl fmt::Display for Key<'_> {
    /// Writes the allowed values as error messages show them, for example `1 to 10, or "off"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.allowed.fmt(f)
    }
}

impl fmt::Display for Allowed {
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
            Self::OrWord(inner, word) => write!(f, "{inner}, or {word:?}"),
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
