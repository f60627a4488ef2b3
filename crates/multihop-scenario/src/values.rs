//! The types of single values: numbers with bounds, words, and compositions of them.

use std::borrow::Cow;

use multihop_core::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::document::{Node, Value};
use super::read::{Read, wrong};
use crate::faults::Faults;

/// Defines numbers that lie between bounds, both included.
macro_rules! numbers {
    ($($(#[doc = $doc:literal])* $name:ident: $low:literal to $high:literal;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(pub(super) f64);

        impl Read for $name {
            fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
                number(node).filter(|x| ($low..=$high).contains(x)).map(Self).or_else(|| {
                    wrong(node, path, concat!("a number from ", $low, " to ", $high), faults)
                })
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "number", "minimum": $low, "maximum": $high })
            }
        }
    )*};
}

numbers! {
    /// A time that may be zero.
    Seconds: 0.0 to 1e9;
    /// A time that is not zero.
    PositiveSeconds: 0.000001 to 1e9;
    /// A length that is not zero.
    Metres: 0.001 to 1e7;
    /// Metres per second.
    Speed: 0.0 to 10000.0;
    /// One coordinate.
    Coordinate: -1e7 to 1e7;
    /// A probability.
    Chance: 0.0 to 1.0;
    /// A ratio of powers, as a margin.
    Decibels: 0.0 to 200.0;
    /// An absolute power.
    DecibelMilliwatts: -300.0 to 100.0;
    /// An electrical power.
    Watts: 0.0 to 1e6;
    /// A carrier frequency.
    Hertz: 1e6 to 1e12;
    /// A path-loss exponent.
    Exponent: 1.0 to 10.0;
    /// A ratio, linear.
    Ratio: 0.0 to 1e6;
    /// Thousands of bits per second.
    KilobitsPerSecond: 0.001 to 1e6;
    /// Mean of a distribution of sizes.
    MeanBytes: 1.0 to 1e15;
    /// Shape of a Pareto distribution with a mean.
    Shape: 1.001 to 1000.0;
}

/// Gives times in seconds their durations.
macro_rules! times {
    ($($name:ident)*) => {$(
        impl $name {
            /// To the nearest nanosecond.
            pub(crate) fn duration(self) -> Duration {
                Duration::from_secs_f64(self.0)
            }
        }
    )*};
}

times! { Seconds PositiveSeconds }

/// A whole number between bounds, both included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<const MIN: u64, const MAX: u64>(pub(super) u64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The value in a narrower type that the bounds fit.
    pub(crate) fn to<T: TryFrom<u64, Error: core::fmt::Debug>>(self) -> T {
        T::try_from(self.0).expect("the bounds of the value fit the type")
    }
}

impl<const MIN: u64, const MAX: u64> Read for Whole<MIN, MAX> {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        let found = match &node.value {
            Value::Integer(n) => u64::try_from(*n).ok(),
            _ => None,
        };
        found
            .filter(|n| (MIN..=MAX).contains(n))
            .map(Self)
            .or_else(|| wrong(node, path, &format!("a whole number from {MIN} to {MAX}"), faults))
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Whole<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Whole{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// Defines words and what they stand for.
macro_rules! words {
    ($($(#[doc = $doc:literal])* $name:ident($target:ty) { $($word:literal => $value:expr,)* })*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(pub(crate) $target);

        impl $name {
            /// The words.
            pub(crate) const WORDS: &[(&str, $target)] = &[$(($word, $value)),*];
        }

        impl $crate::read::Read for $name {
            fn read(
                node: &$crate::document::Node,
                path: &str,
                faults: &mut $crate::faults::Faults<'_>,
            ) -> Option<Self> {
                let found = match &node.value {
                    $crate::document::Value::Text(text) => Self::WORDS.iter().find(|(word, _)| word == text),
                    _ => None,
                };
                found.map(|(_, value)| Self(*value)).or_else(|| {
                    let allowed = $crate::read::one_of(Self::WORDS.iter().map(|(word, _)| *word));
                    $crate::read::wrong(node, path, &allowed, faults)
                })
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let words: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
                schemars::json_schema!({ "type": "string", "enum": words })
            }
        }
    )*};
}
pub(crate) use words;

/// A value, or the word `"off"`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrOff<T>(pub(super) Option<T>);

impl<T: Read> Read for OrOff<T> {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        if matches!(&node.value, Value::Text(text) if text == "off") {
            return Some(Self(None));
        }
        let mut own = Faults::new(faults.extensions);
        let value = T::read(node, path, &mut own);
        faults.extend(own.into_list().into_iter().map(|mut fault| {
            fault.message.push_str(", or \"off\"");
            fault
        }));
        value.map(|value| Self(Some(value)))
    }
}

impl<T: JsonSchema> JsonSchema for OrOff<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}OrOff", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [value, { "const": "off" }] })
    }
}

impl<T: Read> Read for Option<T> {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        T::read(node, path, faults).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl Read for bool {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match node.value {
            Value::Bool(b) => Some(b),
            _ => wrong(node, path, "true, false", faults),
        }
    }
}

impl Read for String {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match &node.value {
            Value::Text(text) if !text.is_empty() && text.chars().count() <= LONGEST_TEXT => {
                Some(text.clone())
            }
            _ => wrong(node, path, &format!("text of 1 to {LONGEST_TEXT} characters"), faults),
        }
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match &node.value {
            Value::Array(items) => all(items, path, faults),
            _ => wrong(node, path, "an array", faults),
        }
    }
}

impl<T: Read, const N: usize> Read for [T; N]
where
    [T; N]: JsonSchema,
{
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match &node.value {
            Value::Array(items) if items.len() == N => all(items, path, faults)?.try_into().ok(),
            _ => wrong(node, path, &format!("an array of {N} values"), faults),
        }
    }
}

/// Reads every item, so that every fault is found.
fn all<T: Read>(items: &[Node], path: &str, faults: &mut Faults<'_>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> =
        items.iter().enumerate().map(|(n, item)| T::read(item, &format!("{path}.{n}"), faults)).collect();
    read.into_iter().collect()
}

/// A finite number, whole or not.
pub(crate) fn number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Integer(n) if n.unsigned_abs() <= 1 << 53 => Some(n as f64),
        Value::Float(x) if x.is_finite() => Some(x),
        _ => None,
    }
}

/// Names of scenarios, nodes and files.
const LONGEST_TEXT: usize = 500;
