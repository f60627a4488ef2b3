//! Changes of the keys of a protocol, one by one.

use core::fmt::Debug;

use multihop_core::settings::{Allowed, Given, Key, Settings, Table, Value, Visitor};

/// Gives one key another value than its default.
struct Change {
    /// Number of keys that precede this key.
    place: usize,
    seen: usize,
    key: Option<&'static str>,
}

impl Change {
    fn reaches(&mut self, key: &'static str) -> bool {
        self.seen += 1;
        let reached = self.seen == self.place + 1;
        self.key = if reached { Some(key) } else { self.key };
        reached
    }
}

impl Visitor for Change {
    fn name(&self) -> &str {
        ""
    }

    fn key(&mut self, key: &Key<'_>) -> Option<Value> {
        if !self.reaches(key.name) {
            return None;
        }
        let allowed = if let Allowed::OrWord(inner, _) = &key.allowed { inner } else { &key.allowed };
        let values = match allowed {
            Allowed::Switch => vec![Value::Switch(false), Value::Switch(true)],
            Allowed::Whole(min, max) => vec![Value::Whole(*min), Value::Whole(*max)],
            Allowed::Number(min, max) => vec![Value::Number(*min), Value::Number(*max)],
            Allowed::Words(words) => words.iter().map(|word| Value::Word(word)).collect(),
            _ => panic!("{} takes {:?}", key.name, key.allowed),
        };
        values.into_iter().find(|value| Some(value) != key.value.as_ref())
    }

    fn key_or_table(&mut self, key: &Key<'_>, _: &mut dyn FnMut(&mut dyn Visitor)) -> Option<Given> {
        self.key(key).map(Given::Value)
    }

    fn table(&mut self, table: &Table<'_>, _: &mut dyn FnMut(&mut dyn Visitor)) -> bool {
        panic!("the table {} may change nothing", table.name)
    }

    fn kinds(
        &mut self,
        name: &'static str,
        _: Option<usize>,
        _: &[(&'static str, &str)],
        _: &mut dyn FnMut(usize, &mut dyn Visitor),
    ) {
        panic!("{name} may change nothing")
    }

    fn unavailable(&mut self, _: &str, _: &mut dyn FnMut(&mut dyn Visitor)) {}

    fn refuse(&mut self, _: &'static str, _: String) {}
}

/// Checks that every key of a protocol changes its configuration.
///
/// # Panics
///
/// If a key changes nothing, or there are none.
pub fn every_key_changes<C: Settings + Debug>(name: &str, config: impl Fn() -> C) {
    let default = format!("{:?}", config());
    let mut changed = 0;
    for place in 0.. {
        let mut config = config();
        let mut change = Change { place, seen: 0, key: None };
        config.keys(&mut change);
        let Some(key) = change.key else { break };
        assert_ne!(format!("{config:?}"), default, "{key} of {name}");
        changed += 1;
    }
    assert!(changed > 0, "no keys of {name}");
}
