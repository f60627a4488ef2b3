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

pub use allowed::{Allowed, Key, Table, Value};

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

    /// A key whose value is an allowed one, or a table of further keys, which `keys` lists.
    fn key_or_table(&mut self, key: &Key<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> Option<Given>;

    /// A key whose value is a table of further keys, which `keys` lists. Whether the user gave it.
    fn table(&mut self, table: &Table<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> bool;

    /// A key whose value decides which other keys there are: `keys` lists those that go with one of
    /// `kinds`, each a word and what it means. `default` counts along `kinds`; without one the key is
    /// required. The other keys of the table come first.
    fn kinds(
        &mut self,
        name: &'static str,
        default: Option<usize>,
        kinds: &[(&'static str, &str)],
        keys: &mut dyn FnMut(usize, &mut dyn Visitor),
    );

    /// Lists keys that exist only in another kind of configuration. The error message for such a key has the name of the
    /// configuration and `reason`.
    fn unavailable(&mut self, reason: &str, list: &mut dyn FnMut(&mut dyn Visitor));

    /// Refuses the value of a key because of another one.
    fn refuse(&mut self, name: &'static str, message: String);
}

/// What a user gave for a key that can have a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A value.
    Value(Value),
    /// A table, whose keys have been taken.
    Table,
}

impl<'k> dyn Visitor + 'k {
    /// Begins a key with this description, which includes the unit. A method of [`About`] must follow.
    pub fn about<'a>(&'a mut self, help: &'a str) -> About<'a, 'k> {
        About { keys: self, help, required: false }
    }

    /// A key whose value is `true`, `false`, or a table of further keys for `inner` (which implies `true`). Returns the
    /// user's choice, if given; `current` is the default.
    pub fn switch_or_table(
        &mut self,
        name: &'static str,
        current: bool,
        inner: &mut dyn Settings,
        help: &str,
    ) -> Option<bool> {
        let value = Some(Value::Switch(current));
        let key = Key { name, help, allowed: Allowed::Switch, or: None, value, required: false };
        let given = self.key_or_table(&key, &mut |keys| inner.keys(keys))?;
        Some(given != Given::Value(Value::Switch(false)))
    }
}

/// A key with its description. There is one method for each type of field; it returns whether the user gave the key.
pub struct About<'a, 'k> {
    keys: &'a mut (dyn Visitor + 'k),
    help: &'a str,
    required: bool,
}

impl About<'_, '_> {
    /// The same key, which users must give. Its field then has no default.
    #[must_use]
    pub fn required(self) -> Self {
        Self { required: true, ..self }
    }

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
        self.take(name, range.into(), None, value, |value| {
            *field = Duration::from_secs_f64(value.into_number());
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
        self.take(name, range.into(), Some(OFF), Some(value), |value| {
            *field = (value != Value::Word(OFF)).then(|| Duration::from_secs_f64(value.into_number()));
        })
    }

    /// The same, but `None` unless the user gave it.
    pub fn seconds_if_set(
        self,
        name: &'static str,
        field: &mut Option<Duration>,
        range: RangeInclusive<f64>,
    ) -> bool {
        self.take(name, range.into(), None, None, |value| {
            *field = Some(Duration::from_secs_f64(value.into_number()));
        })
    }

    /// A number between bounds, both included.
    pub fn number(self, name: &'static str, field: &mut f64, range: RangeInclusive<f64>) -> bool {
        let value = Some(Value::Number(*field));
        self.take(name, range.into(), None, value, |value| *field = value.into_number())
    }

    /// The same, but `None` unless the user gave it.
    pub fn number_if_set(
        self,
        name: &'static str,
        field: &mut Option<f64>,
        range: RangeInclusive<f64>,
    ) -> bool {
        self.take(name, range.into(), None, None, |value| *field = Some(value.into_number()))
    }

    /// Several numbers between bounds, both included.
    pub fn numbers<const N: usize>(
        self,
        name: &'static str,
        field: &mut [f64; N],
        range: RangeInclusive<f64>,
    ) -> bool {
        let value = Some(Value::List(field.iter().copied().map(Value::Number).collect()));
        let each = Allowed::from(range);
        self.take(name, Allowed::List(&each, Some(N)), None, value, |value| {
            for (place, value) in field.iter_mut().zip(value.into_list()) {
                *place = value.into_number();
            }
        })
    }

    /// The same, but `None` unless the user gave them.
    pub fn numbers_if_set<const N: usize>(
        self,
        name: &'static str,
        field: &mut Option<[f64; N]>,
        range: RangeInclusive<f64>,
    ) -> bool {
        let each = Allowed::from(range);
        self.take(name, Allowed::List(&each, Some(N)), None, None, |value| {
            let mut values = value.into_list().into_iter().map(Value::into_number);
            *field = Some(core::array::from_fn(|_| values.next().expect("a list of the allowed length")));
        })
    }

    /// A text of up to `longest` characters, but not an empty one.
    pub fn text(self, name: &'static str, field: &mut String, longest: usize) -> bool {
        let value = Some(Value::Text(field.clone()));
        self.take(name, Allowed::Text(longest), None, value, |value| *field = value.into_text())
    }

    /// The same, but `None` unless the user gave it.
    pub fn text_if_set(self, name: &'static str, field: &mut Option<String>, longest: usize) -> bool {
        self.take(name, Allowed::Text(longest), None, None, |value| *field = Some(value.into_text()))
    }

    /// A value of any allowed type, as the user gave it.
    pub fn value(self, name: &'static str, allowed: Allowed<'_>, default: Option<Value>) -> Option<Value> {
        let mut given = None;
        self.take(name, allowed, None, default, |value| given = Some(value));
        given
    }

    /// A value of any allowed type, or a table of further keys, which `keys` lists.
    pub fn value_or_table(
        self,
        name: &'static str,
        allowed: Allowed<'_>,
        default: Option<Value>,
        keys: &mut dyn FnMut(&mut dyn Visitor),
    ) -> Option<Given> {
        let (help, required) = (self.help, self.required);
        let key = Key { name, help, allowed, or: None, value: default, required };
        self.keys.key_or_table(&key, keys)
    }

    /// A table of further keys, which `keys` lists. Whether the user gave it.
    pub fn table(self, name: &'static str, keys: &mut dyn FnMut(&mut dyn Visitor)) -> bool {
        let (help, required) = (self.help, self.required);
        self.keys.table(&Table { name, help, required, default: None }, keys)
    }

    /// A number between two bounds; the field counts thousandths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn thousandths(self, name: &'static str, field: &mut u16, range: RangeInclusive<f64>) -> bool {
        let value = Some(Value::Number(f64::from(*field) / 1e3));
        self.take(name, range.into(), None, value, |value| {
            *field = (value.into_number() * 1e3 + 0.5) as u16;
        })
    }

    /// A fraction from 0 to 1; the field counts millionths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn millionths(self, name: &'static str, field: &mut u32) -> bool {
        let value = Some(Value::Number(f64::from(*field) / 1e6));
        self.take(name, Allowed::Number(0.0, 1.0), None, value, |value| {
            *field = (value.into_number() * 1e6 + 0.5) as u32;
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
        let found = self.value(name, Allowed::Words(&list), current.map(Value::Word))?;
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
        let value = value.filter(|_| !self.required);
        let (help, required) = (self.help, self.required);
        let found = self.keys.key(&Key { name, help, allowed, or, value, required });
        let given = found.is_some();
        found.map(set);
        given
    }
}

impl Value {
    /// The values of a list.
    ///
    /// # Panics
    ///
    /// If it is another value.
    pub fn into_list(self) -> Vec<Self> {
        match self {
            Self::List(values) => values,
            _ => unreachable!("a value of the allowed type"),
        }
    }

    /// A text that the user made up.
    ///
    /// # Panics
    ///
    /// If it is another value.
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            _ => unreachable!("a value of the allowed type"),
        }
    }

    /// A number.
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
}

const fn whole_in(range: RangeInclusive<u64>) -> Allowed<'static> {
    Allowed::Whole(*range.start(), *range.end())
}

fn whole<T: TryFrom<u64>>(value: Value) -> T {
    match value {
        Value::Whole(n) => T::try_from(n).ok().expect("bounds that fit the field"),
        _ => unreachable!("a value of the allowed type"),
    }
}

const OFF: &str = "off";
/// Longer times mean "never" and are not shown as a default.
const LONGEST_SHOWN: Duration = Duration::from_secs(1_000_000_000);
