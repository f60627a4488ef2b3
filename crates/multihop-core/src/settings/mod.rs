//! Configurations with named keys, which scenario files, `--set` and sweeps can change.
//!
//! A key is a field of a configuration that derives [`Settings`], with the attribute `#[key(...)]`. The field's type, a
//! [`Field`], says which values there are; the attribute has their bounds; the first paragraph of the doc comment is the
//! help text, which names the unit. Readers of files and options, the JSON Schema and suggestions for misspelled keys are
//! [`Visitor`]s of these keys, so that a new key is a change of one place.
//!
//! ```
//! use multihop_core::Duration;
//! use multihop_core::settings::{Field, Settings, Visitor};
//!
//! /// Parameters of a protocol.
//! #[derive(Clone, Debug, Settings)]
//! #[settings(check = Config::check)]
//! struct Config {
//!     /// Mean interval between HELLO messages, s.
//!     #[key(0.1..=1000.0, default = Duration::from_secs(2))]
//!     hello_interval: Duration,
//!     /// HELLO jitter: each interval is drawn uniformly from `hello_interval` ± `hello_jitter`, s.
//!     #[key(0.0..=10.0)]
//!     hello_jitter: Duration,
//!     /// Largest number of packets that wait for a route.
//!     #[key(1..=100_000, off, default = Some(64))]
//!     buffer_packets: Option<usize>,
//!     /// Detection of link failures: by missing HELLOs, or also when the MAC gives up on a packet.
//!     #[key(default = LinkFailure::Hello)]
//!     link_failure: LinkFailure,
//! }
//!
//! /// How link failures are detected.
//! #[derive(Clone, Copy, Debug, Field)]
//! enum LinkFailure {
//!     /// HELLOs are missing.
//!     Hello,
//!     /// HELLOs are missing, or the MAC gives up on a packet.
//!     Mac,
//! }
//!
//! impl Config {
//!     fn check(&self, keys: &mut dyn Visitor) {
//!         if self.hello_jitter >= self.hello_interval {
//!             keys.refuse("hello_jitter", "allowed: less than hello_interval".into());
//!         }
//!     }
//! }
//! ```
//!
//! | in `#[key(...)]` | meaning |
//! |---|---|
//! | an expression | bounds, of the type that the field's [`Field::Bounds`] has |
//! | `required` | the user must give the key |
//! | `off` | on an `Option`: `"off"` is `None` |
//! | `default = value` | default of the field; the structure then derives `Default` as well |
//! | `help = "..."` | help text, where the doc comment describes more than the key |
//! | `name = "..."` | name of the key, where it is not that of the field |
//! | `thousandths`, `millionths` | the whole number in the field counts these; users write a number |
//! | `table` | a table of further keys; an `Option` is `None` without it |
//! | `switch` | on an `Option`: `false` is `None`, `true` and a table of further keys are `Some` |
//! | `flatten` | the keys of the field are keys of this table |
//! | `when = condition` | the key exists only if this holds, of `self` with the keys read so far |
//! | `then = function` | `fn(&mut Self, &mut dyn Visitor)`, called if the user gave the key: to set defaults of later keys, or to refuse the key |
//! | `with = function` | `fn(&mut Self, name, help, &mut dyn Visitor)`, which visits the key itself |
//!
//! A field with several attributes `#[key(...)]` has a key for each. `#[settings(check = function)]` on the structure names a `fn(&self, &mut dyn Visitor)` that compares keys with each other.
//!
//! An enumeration that derives [`Settings`] is a choice of tables: `#[settings(tag = "kind")]` names the key that decides
//! which other keys there are, one word for each variant. The first variant is the default, unless the attribute has
//! `required`. A variant has keys as its fields, or holds a configuration that has `Default`. `#[word("...")]` gives a
//! variant another word than its name in kebab case.

mod allowed;
mod field;

use alloc::boxed::Box;
use alloc::string::String;
use core::ops::RangeInclusive;

pub use allowed::{Allowed, Key, Table, Value};
pub use field::Field;
pub use multihop_derive::{Field, Settings};

/// A configuration whose keys users can set.
pub trait Settings {
    /// Calls `keys` for every key. The order matters if a key changes the default of a later one.
    fn keys(&mut self, keys: &mut dyn Visitor);
}

impl<T: Settings + ?Sized> Settings for Box<T> {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        (**self).keys(keys);
    }
}

/// Visits the keys of a configuration: reads their values, or describes them.
pub trait Visitor {
    /// The name of the configuration in messages: a protocol or a short name.
    fn name(&self) -> &str;

    /// The user's value of a key, if given and allowed.
    fn key(&mut self, key: &Key<'_>) -> Option<Value>;

    /// A key whose value is an allowed one, or a table of further keys, which `keys` lists.
    fn key_or_table(&mut self, key: &Key<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> Option<Given>;

    /// Visits a key whose value is a table of further keys, which `keys` lists. Returns whether the document has the
    /// key.
    fn table(&mut self, table: &Table<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> bool;

    /// Visits a key whose value decides which other keys there are: `keys` lists those that go with one of `kinds`,
    /// each a word and its description. `default` counts along `kinds`; without one the key is required. The other keys
    /// of the table come first.
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

/// A user's choice for a key that allows a single value or a table of further keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// The user wrote a single value.
    Value(Value),
    /// The user wrote a table, whose keys the visitor has already read.
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
        let key = Key { name, help, allowed: Allowed::Switch, value, required: false };
        let given = self.key_or_table(&key, &mut |keys| inner.keys(keys))?;
        Some(given != Given::Value(Value::Switch(false)))
    }
}

/// A key with its description. [`field`](Self::field) sets a field of any type that a key can have; other methods are for tables, for
/// values that depend on other keys, and for numbers that the field holds in other units.
pub struct About<'a, 'k> {
    keys: &'a mut (dyn Visitor + 'k),
    help: &'a str,
    required: bool,
}

impl About<'_, '_> {
    /// Marks the key as required: a document without it is refused, and its field has no default.
    #[must_use]
    pub fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// A key that sets a field, with the bounds of its values. Returns whether the user gave the key.
    pub fn field<T: Field>(self, name: &'static str, field: &mut T, bounds: T::Bounds) -> bool {
        let value = field.value();
        self.take(name, T::allowed(&bounds), value, |value| *field = T::of_value(value))
    }

    /// A key that sets a field to a value, or by the word `"off"` to `None`. Returns whether the user gave the key.
    pub fn field_or_off<T: Field>(
        self,
        name: &'static str,
        field: &mut Option<T>,
        bounds: T::Bounds,
    ) -> bool {
        let value = field.as_ref().map_or(Some(Value::Word(OFF)), T::value);
        self.take(name, T::allowed(&bounds).or_word(OFF), value, |value| {
            *field = (value != Value::Word(OFF)).then(|| T::of_value(value));
        })
    }

    /// Visits a table of further keys. Returns whether the document has the table.
    pub fn settings(self, name: &'static str, table: &mut dyn Settings) -> bool {
        self.table(name, &mut |keys| table.keys(keys))
    }

    /// Visits a table of further keys, which sets a field to `Some`. Returns whether the document has the table.
    pub fn optional_table<T: Settings + Default>(self, name: &'static str, table: &mut Option<T>) -> bool {
        let mut inner = table.take();
        let is_set = inner.is_some();
        let given = self.settings(name, inner.get_or_insert_default());
        *table = inner.filter(|_| given || is_set);
        given
    }

    /// A key that is `false`, which sets a field to `None`, or `true` or a table of further keys, which sets it to `Some`.
    /// Returns whether the user gave the key.
    pub fn switch_or_table<T: Settings + Default>(self, name: &'static str, field: &mut Option<T>) -> bool {
        let is_on = field.is_some();
        let mut inner = field.take().unwrap_or_default();
        let given = self.keys.switch_or_table(name, is_on, &mut inner, self.help);
        *field = given.unwrap_or(is_on).then_some(inner);
        given.is_some()
    }

    /// A value of any allowed type, as the user gave it.
    pub fn value(self, name: &'static str, allowed: Allowed, default: Option<Value>) -> Option<Value> {
        let mut given = None;
        self.take(name, allowed, default, |value| given = Some(value));
        given
    }

    /// A value of any allowed type, or a table of further keys, which `keys` lists.
    pub fn value_or_table(
        self,
        name: &'static str,
        allowed: Allowed,
        default: Option<Value>,
        keys: &mut dyn FnMut(&mut dyn Visitor),
    ) -> Option<Given> {
        let (help, required) = (self.help, self.required);
        let key = Key { name, help, allowed, value: default, required };
        self.keys.key_or_table(&key, keys)
    }

    /// Visits a table of further keys, which `keys` lists. Returns whether the document has the table.
    pub fn table(self, name: &'static str, keys: &mut dyn FnMut(&mut dyn Visitor)) -> bool {
        let (help, required) = (self.help, self.required);
        self.keys.table(&Table { name, help, required, default: None }, keys)
    }

    /// A number between two bounds, both included, which the field holds in thousandths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn thousandths(self, name: &'static str, field: &mut u16, range: RangeInclusive<f64>) -> bool {
        let value = Some(Value::Number(f64::from(*field) / 1e3));
        self.take(name, range.into(), value, |value| {
            *field = (value.into_number() * 1e3 + 0.5) as u16;
        })
    }

    /// A fraction from 0 to 1, which the field holds in millionths.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn millionths(self, name: &'static str, field: &mut u32) -> bool {
        let value = Some(Value::Number(f64::from(*field) / 1e6));
        self.take(name, Allowed::Number(0.0, 1.0), value, |value| {
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

    /// One of several words, returned as the value that it stands for. Unlike [`word`](Self::word) it sets no field, so
    /// that the values need no comparison (presets, for example). `current` is the word of the default.
    pub fn choice<T: Copy>(
        self,
        name: &'static str,
        current: Option<&'static str>,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let found = self.value(name, Allowed::of_words(words), current.map(Value::Word))?;
        Some(found.into_choice(words))
    }

    fn take(
        self,
        name: &'static str,
        allowed: Allowed,
        value: Option<Value>,
        set: impl FnOnce(Value),
    ) -> bool {
        let value = value.filter(|_| !self.required);
        let (help, required) = (self.help, self.required);
        let found = self.keys.key(&Key { name, help, allowed, value, required });
        let given = found.is_some();
        found.map(set);
        given
    }
}

const OFF: &str = "off";
