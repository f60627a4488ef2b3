//! Reader of the keys of one table: each key is taken once, and keys that were not taken are refused.

use std::collections::BTreeSet;

use super::{Read, join, one_of, wrong, wrong_word};
use crate::document::{Fault, Node, Origin, Table, Value, shorten};
use crate::faults::Faults;
use crate::schema;

/// Reader of a table, which records the keys that were read; the others are unknown keys.
pub(crate) struct Keys<'a> {
    node: &'a Node,
    table: &'a Table,
    path: &'a str,
    known: BTreeSet<&'static str>,
    kinds: Vec<Kinds>,
}

/// The key (or the family of the table) that decides which other keys exist, and the keys that each of its
/// values allows.
type Kinds = (Option<&'static str>, Box<dyn Fn() -> KeysByKind>);

type KeysByKind = Vec<(&'static str, Vec<&'static str>)>;

impl<'a> Keys<'a> {
    /// Opens a value as a table; records a fault for other values.
    pub(crate) fn open(node: &'a Node, path: &'a str, faults: &mut Faults<'_>) -> Option<Self> {
        match &node.value {
            Value::Table(table) => {
                let known = BTreeSet::new();
                Some(Self { node, table, path, known, kinds: Vec::new() })
            }
            _ => wrong(node, path, "a table", faults),
        }
    }

    /// The entry of a key, which counts as known afterwards.
    pub(crate) fn find(&mut self, key: &'static str) -> Option<&'a Node> {
        self.known.insert(key);
        self.table.get(key).map(|entry| &entry.node)
    }

    /// Reads the value of one key, or its default.
    pub(crate) fn take<T: Read>(
        &mut self,
        key: &'static str,
        default: Option<serde_json::Value>,
        faults: &mut Faults<'_>,
    ) -> Option<T> {
        let path = self.path_of(key);
        match (self.find(key), default) {
            (Some(node), _) => T::read(node, &path, faults),
            (None, Some(default)) => T::read(&Node::default(&default), &path, faults),
            (None, None) => T::absent().or_else(|| {
                self.missing(key, faults);
                None
            }),
        }
    }

    /// Takes the key that decides which other keys exist.
    pub(crate) fn take_kind<'k, K>(
        &mut self,
        key: &'static str,
        default: Option<&'static str>,
        kinds: &'k [(&'static str, K)],
        faults: &mut Faults<'_>,
    ) -> Option<&'k K> {
        self.known.insert(key);
        let path = self.path_of(key);
        let words = || kinds.iter().map(|(name, _)| *name);
        let allowed = || one_of(words());
        let find = |wanted: &str| kinds.iter().find(|(name, _)| *name == wanted).map(|(_, kind)| kind);
        match (self.table.get(key).map(|entry| &entry.node), default) {
            (Some(node), _) => {
                let found = if let Value::Text(text) = &node.value { find(text) } else { None };
                found.or_else(|| wrong_word(node, &path, &allowed(), words(), faults))
            }
            (None, Some(default)) => find(default),
            (None, None) => {
                let message = format!("is missing, allowed: {}", allowed());
                faults.push(Fault::at(self.node.origin, path, message));
                None
            }
        }
    }

    /// Records that a required key is missing.
    pub(crate) fn missing(&self, key: &str, faults: &mut Faults<'_>) {
        faults.push(Fault::at(self.node.origin, self.path_of(key), "is missing"));
    }

    /// Whether keys remain that were not taken.
    pub(crate) fn has_unknown(&self) -> bool {
        self.table.keys().any(|key| !self.known.contains(key.as_str()))
    }

    /// Records the keys that other values of `key` allow, for hints in messages.
    pub(crate) fn mention(&mut self, key: &'static str, kinds: impl Fn() -> KeysByKind + 'static) {
        self.kinds.push((Some(key), Box::new(kinds)));
    }

    /// Records the keys that other families of tables have, for hints in messages.
    pub(crate) fn mention_families(&mut self, families: impl Fn() -> KeysByKind + 'static) {
        self.kinds.push((None, Box::new(families)));
    }

    /// Accepts unknown keys, because an error hides which keys are known.
    pub(crate) fn forgive(&mut self) {
        self.table = &NO_KEYS;
    }

    /// Refuses every key that was not taken.
    pub(crate) fn close(self, faults: &mut Faults<'_>) {
        for (key, entry) in self.table {
            if !self.known.contains(key.as_str()) {
                faults.push(self.refusal(key, entry.origin));
            }
        }
    }

    /// The fault for a refused key, with a hint.
    fn refusal(&self, key: &str, origin: Origin) -> Fault {
        let path = join(self.path, &shorten(key));
        let refused = |hint: &str| Fault::at(origin, path.as_str(), format!("is not a key here{hint}"));
        if let Some(hint) = self.elsewhere(key) {
            return refused(&format!(", {hint}"));
        }
        let mut near = refused("").perhaps(key, self.known.iter().copied());
        if near.suggestion.is_none() && self.path.is_empty() {
            near.suggestion = schema::path_of(key).map(str::to_owned);
        }
        // A long list would hide the suggestion.
        if near.suggestion.is_some() && self.known.len() > MANY {
            return near;
        }
        Fault { suggestion: near.suggestion, ..refused(&format!(", allowed: {}", self.keys())) }
    }

    /// A hint: the value of another key with which `key` is allowed.
    fn elsewhere(&self, key: &str) -> Option<String> {
        self.kinds.iter().find_map(|(by, kinds)| {
            let kinds = kinds();
            let mut words =
                kinds.iter().filter(|(_, keys)| keys.contains(&key)).map(|(word, _)| *word).peekable();
            words.peek()?;
            Some(match by {
                Some(by) => format!("allowed with {by} = {}", one_of(words)),
                None => format!("allowed with {}", words.collect::<Vec<_>>().join(" or ")),
            })
        })
    }

    fn keys(&self) -> String {
        self.known.iter().copied().collect::<Vec<_>>().join(", ")
    }

    /// Dotted path of a key in the document.
    pub(crate) fn path_of(&self, key: &str) -> String {
        join(self.path, key)
    }
}

static NO_KEYS: Table = Table::new();

/// Largest number of allowed keys that a message lists in addition to a suggestion.
const MANY: usize = 8;
