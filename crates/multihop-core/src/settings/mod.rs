//! Configurations with named keys: what scenario files, `--set` and sweeps can change.
//!
//! A configuration lists its keys in [`Settings::keys`], one call per key: the name, the field, the
//! allowed values and a description. Readers of files and options, the JSON Schema and suggestions for
//! misspelled keys are [`Visitor`]s of that list, so that a new key is one call in one place.

mod allowed;

use alloc::string::String;
use alloc::vec::Vec;

use crate::Duration;

pub use allowed::{Allowed, Key, Value};

/// A configuration with keys.
pub trait Settings {
    /// Offers every key to `keys`. The order matters where a key changes the default of a later one.
    fn keys(&mut self, keys: &mut dyn Visitor);
}

/// What goes through the keys of a configuration: a reader, or what describes them.
pub trait Visitor {
    /// What the user calls the configuration, for messages: a protocol or a short name.
    fn name(&self) -> &str;

    /// The user's value of a key, if there is an allowed one.
    fn key(&mut self, key: &Key<'_>) -> Option<Value>;

    /// A key whose value is `true`, `false`, or a table of further keys (which `inner` takes, and which
    /// means `true`): whether it is on, if the user says so. `current` is what holds otherwise.
    fn switch_or_table(
        &mut self,
        name: &'static str,
        current: bool,
        inner: &mut dyn Settings,
        help: &str,
    ) -> Option<bool>;

    /// Lists keys that would exist if the configuration were of another kind. Whoever uses one reads the
    /// name of the configuration and `reason`.
    fn unavailable(&mut self, reason: &str, list: &mut dyn FnMut(&mut dyn Visitor));

    /// Refuses the value of a key because of another one.
    fn refuse(&mut self, name: &'static str, message: String);
}

/// One method per type of field. Each returns whether the user gave the key.
impl dyn Visitor + '_ {
    /// A key that is `true` or `false`.
    pub fn switch(&mut self, name: &'static str, field: &mut bool, help: &str) -> bool {
        let value = Some(Value::Switch(*field));
        self.take(&Key { name, help, allowed: Allowed::Switch, or: None, value }, |value| match value {
            Value::Switch(on) => *field = on,
            _ => unreachable!("a value of the allowed type"),
        })
    }

    /// A whole number between bounds, both included and both values of `T`.
    pub fn whole<T>(&mut self, name: &'static str, field: &mut T, min: u64, max: u64, help: &str) -> bool
    where
        T: Copy + TryFrom<u64> + TryInto<u64>,
    {
        let value = (*field).try_into().ok().map(Value::Whole);
        self.take(&Key { name, help, allowed: Allowed::Whole(min, max), or: None, value }, |value| {
            *field = whole(value);
        })
    }

    /// The same with `None` as long as nobody sets it.
    pub fn whole_if_set<T>(
        &mut self,
        name: &'static str,
        field: &mut Option<T>,
        min: u64,
        max: u64,
        help: &str,
    ) -> bool
    where
        T: Copy + TryFrom<u64> + TryInto<u64>,
    {
        let value = field.and_then(|field| field.try_into().ok()).map(Value::Whole);
        self.take(&Key { name, help, allowed: Allowed::Whole(min, max), or: None, value }, |value| {
            *field = Some(whole(value));
        })
    }

    /// The same with `None` for `"off"`.
    pub fn whole_or_off<T>(
        &mut self,
        name: &'static str,
        field: &mut Option<T>,
        min: u64,
        max: u64,
        help: &str,
    ) -> bool
    where
        T: Copy + TryFrom<u64> + TryInto<u64>,
    {
        let value = match *field {
            None => Some(Value::Word(OFF)),
            Some(field) => field.try_into().ok().map(Value::Whole),
        };
        self.take(&Key { name, help, allowed: Allowed::Whole(min, max), or: Some(OFF), value }, |value| {
            *field = (value != Value::Word(OFF)).then(|| whole(value));
        })
    }

    /// A time in seconds between bounds, both included; rounded to the nearest nanosecond.
    pub fn seconds(
        &mut self,
        name: &'static str,
        field: &mut Duration,
        min: f64,
        max: f64,
        help: &str,
    ) -> bool {
        let value = (*field <= LONGEST_SHOWN).then(|| Value::Number(field.as_secs_f64()));
        self.take(&Key { name, help, allowed: Allowed::Number(min, max), or: None, value }, |value| {
            *field = Duration::from_secs_f64(number(value));
        })
    }

    /// The same with `None` for `"off"`.
    pub fn seconds_or_off(
        &mut self,
        name: &'static str,
        field: &mut Option<Duration>,
        min: f64,
        max: f64,
        help: &str,
    ) -> bool {
        let value = field.map_or(Value::Word(OFF), |field| Value::Number(field.as_secs_f64()));
        let key = Key { name, help, allowed: Allowed::Number(min, max), or: Some(OFF), value: Some(value) };
        self.take(&key, |value| {
            *field = (value != Value::Word(OFF)).then(|| Duration::from_secs_f64(number(value)));
        })
    }

    /// A number between bounds in a field of thousandths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn thousandths(
        &mut self,
        name: &'static str,
        field: &mut u16,
        min: f64,
        max: f64,
        help: &str,
    ) -> bool {
        let value = Some(Value::Number(f64::from(*field) / 1e3));
        self.take(&Key { name, help, allowed: Allowed::Number(min, max), or: None, value }, |value| {
            *field = (number(value) * 1e3 + 0.5) as u16;
        })
    }

    /// A share from 0 to 1 in a field of millionths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn millionths(&mut self, name: &'static str, field: &mut u32, help: &str) -> bool {
        let value = Some(Value::Number(f64::from(*field) / 1e6));
        self.take(&Key { name, help, allowed: Allowed::Number(0.0, 1.0), or: None, value }, |value| {
            *field = (number(value) * 1e6 + 0.5) as u32;
        })
    }

    /// One of some words, each of which stands for a value.
    pub fn word<T: Copy + PartialEq>(
        &mut self,
        name: &'static str,
        field: &mut T,
        words: &[(&'static str, T)],
        help: &str,
    ) -> bool {
        let current = words.iter().find(|(_, value)| value == field).map(|(word, _)| *word);
        let chosen = self.choice(name, current, words, help);
        if let Some(value) = chosen {
            *field = value;
        }
        chosen.is_some()
    }

    /// The same for values that cannot be compared, such as presets; `current` is the word that holds.
    pub fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        current: Option<&'static str>,
        words: &[(&'static str, T)],
        help: &str,
    ) -> Option<T> {
        let list: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
        let value = current.map(Value::Word);
        let found = self.key(&Key { name, help, allowed: Allowed::Words(&list), or: None, value })?;
        words.iter().find(|(word, _)| found == Value::Word(word)).map(|(_, value)| *value)
    }

    fn take(&mut self, key: &Key<'_>, set: impl FnOnce(Value)) -> bool {
        let found = self.key(key);
        let given = found.is_some();
        found.map(set);
        given
    }
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
/// Longer times stand for "never" and are not shown as a default.
const LONGEST_SHOWN: Duration = Duration::from_secs(1_000_000_000);
