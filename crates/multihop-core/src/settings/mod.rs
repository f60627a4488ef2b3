//! Configurations with named keys, which scenario files, `--set` and sweeps can change.
//!
//! A configuration lists its keys in [`Settings::keys`], one call per key: the name, the field, the
//! allowed values and a description. Readers of files and options, the JSON Schema and suggestions for
//! misspelled keys are [`Visitor`]s of that list, so that a new key is one call in one place.

mod allowed;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use crate::time::Duration;

pub use allowed::{Allowed, Key, Value};

/// A configuration with keys.
pub trait Settings {
    /// Calls `keys` for every key. The order matters if a key changes the default of a later one.
    fn keys(&mut self, keys: &mut dyn Visitor);
}

/// Visits the keys of a configuration: reads their values, or describes them.
pub trait Visitor {
    /// The name of the configuration in messages: a protocol or a short name.
    fn name(&self) -> &str;

    /// The user's value of a key, if given and allowed.
    fn key(&mut self, key: &Key<'_>) -> Option<Value>;

    /// A key whose value is `true`, `false`, or a table of further keys for `inner` (which implies `true`). Returns the
    /// user's choice, if given; `current` is the default.
    fn switch_or_table(
        &mut self,
        name: &'static str,
        current: bool,
        inner: &mut dyn Settings,
        help: &str,
    ) -> Option<bool>;

    /// Lists keys that exist only in another kind of configuration. The error message for such a key has the name of the
    /// configuration and `reason`.
    fn unavailable(&mut self, reason: &str, list: &mut dyn FnMut(&mut dyn Visitor));

    /// Refuses the value of a key because of another one.
    fn refuse(&mut self, name: &'static str, message: String);
}

impl<'k> dyn Visitor + 'k {
    /// Begins a key with this description, which includes the unit. A method of [`About`] must follow.
    pub fn about<'a>(&'a mut self, help: &'a str) -> About<'a, 'k> {
        About { keys: self, help }
    }
}

/// A key with its description. There is one method for each type of field; it returns whether the user gave the key.
pub struct About<'a, 'k> {
    keys: &'a mut (dyn Visitor + 'k),
    help: &'a str,
}

impl About<'_, '_> {
    /// A key that is `true` or `false`.
    pub fn switch(self, name: &'static str, field: &mut bool) -> bool {
        let value = Some(Value::Switch(*field));
        self.take(name, Allowed::Switch, None, value, |value| match value {
            Value::Switch(on) => *field = on,
            _ => unreachable!("a value of the allowed type"),
        })
    }

    /// A whole number between two bounds, both included, which must be values of `T`.
    pub fn whole<T>(self, name: &'static str, field: &mut T, range: RangeInclusive<u64>) -> bool
    where
        T: Copy + TryFrom<u64> + TryInto<u64>,
    {
        let value = (*field).try_into().ok().map(Value::Whole);
        self.take(name, whole_in(range), None, value, |value| {
            *field = whole(value);
        })
    }

    /// The same, but `None` unless the user gave it.
    pub fn whole_if_set<T>(
        self,
        name: &'static str,
        field: &mut Option<T>,
        range: RangeInclusive<u64>,
    ) -> bool
    where
        T: Copy + TryFrom<u64> + TryInto<u64>,
    {
        let value = field.and_then(|field| field.try_into().ok()).map(Value::Whole);
        self.take(name, whole_in(range), None, value, |value| {
            *field = Some(whole(value));
        })
    }

    /// The same, with `"off"` for `None`.
    pub fn whole_or_off<T>(
        self,
        name: &'static str,
        field: &mut Option<T>,
        range: RangeInclusive<u64>,
    ) -> bool
    where
        T: Copy + TryFrom<u64> + TryInto<u64>,
    {
        let value = match *field {
            None => Some(Value::Word(OFF)),
            Some(field) => field.try_into().ok().map(Value::Whole),
        };
        self.take(name, whole_in(range), Some(OFF), value, |value| {
            *field = (value != Value::Word(OFF)).then(|| whole(value));
        })
    }

    /// A time in seconds between bounds, both included; rounded to the nearest nanosecond.
    pub fn seconds(self, name: &'static str, field: &mut Duration, range: RangeInclusive<f64>) -> bool {
        let value = (*field <= LONGEST_SHOWN).then(|| Value::Number(field.as_secs_f64()));
        self.take(name, number_in(range), None, value, |value| {
            *field = Duration::from_secs_f64(number(value));
        })
    }

    /// The same, with `"off"` for `None`.
    pub fn seconds_or_off(
        self,
        name: &'static str,
        field: &mut Option<Duration>,
        range: RangeInclusive<f64>,
    ) -> bool {
        let value = field.map_or(Value::Word(OFF), |field| Value::Number(field.as_secs_f64()));
        self.take(name, number_in(range), Some(OFF), Some(value), |value| {
            *field = (value != Value::Word(OFF)).then(|| Duration::from_secs_f64(number(value)));
        })
    }

    /// A number between two bounds; the field counts thousandths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn thousandths(self, name: &'static str, field: &mut u16, range: RangeInclusive<f64>) -> bool {
        let value = Some(Value::Number(f64::from(*field) / 1e3));
        self.take(name, number_in(range), None, value, |value| {
            *field = (number(value) * 1e3 + 0.5) as u16;
        })
    }

    /// A fraction from 0 to 1; the field counts millionths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn millionths(self, name: &'static str, field: &mut u32) -> bool {
        let value = Some(Value::Number(f64::from(*field) / 1e6));
        self.take(name, Allowed::Number(0.0, 1.0), None, value, |value| {
            *field = (number(value) * 1e6 + 0.5) as u32;
        })
    }

    /// One of several words, each of which stands for a value.
    pub fn word<T: Copy + PartialEq>(
        self,
        name: &'static str,
        field: &mut T,
        words: &[(&'static str, T)],
    ) -> bool {
        let current = words.iter().find(|(_, value)| value == field).map(|(word, _)| *word);
        let chosen = self.choice(name, current, words);
        if let Some(value) = chosen {
            *field = value;
        }
        chosen.is_some()
    }

    /// The same for values that cannot be compared, such as presets; `current` is the word of the current value.
    pub fn choice<T: Copy>(
        self,
        name: &'static str,
        current: Option<&'static str>,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let list: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
        let value = current.map(Value::Word);
        let found =
            self.keys.key(&Key { name, help: self.help, allowed: Allowed::Words(&list), or: None, value })?;
        words.iter().find(|(word, _)| found == Value::Word(word)).map(|(_, value)| *value)
    }

    fn take(
        self,
        name: &'static str,
        allowed: Allowed<'_>,
        or: Option<&'static str>,
        value: Option<Value>,
        set: impl FnOnce(Value),
    ) -> bool {
        let found = self.keys.key(&Key { name, help: self.help, allowed, or, value });
        let given = found.is_some();
        found.map(set);
        given
    }
}

const fn whole_in(range: RangeInclusive<u64>) -> Allowed<'static> {
    Allowed::Whole(*range.start(), *range.end())
}

const fn number_in(range: RangeInclusive<f64>) -> Allowed<'static> {
    Allowed::Number(*range.start(), *range.end())
}

fn whole<T: TryFrom<u64>>(value: Value) -> T {
    match value {
        Value::Whole(n) => T::try_from(n).ok().expect("bounds that fit the field"),
        _ => unreachable!("a value of the allowed type"),
    }
}

fn number(value: Value) -> f64 {
    match value {
        Value::Number(x) => x,
        _ => unreachable!("a value of the allowed type"),
    }
}

const OFF: &str = "off";
/// Longer times mean "never" and are not shown as a default.
const LONGEST_SHOWN: Duration = Duration::from_secs(1_000_000_000);
