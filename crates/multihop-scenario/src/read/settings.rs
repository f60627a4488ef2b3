//! Reader of configurations whose keys [`Settings`] lists, as parts of a scenario's tables.

use multihop_core::settings::{Allowed, Given, Key, Settings, Table, Value, Visitor};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::describe::{self, Describer, default_of};
use super::{Fields, Keys, Read, wrong, wrong_word};
use crate::document::{Fault, Node, Value as Found};
use crate::faults::Faults;

/// Takes the keys of a configuration from a table; messages call the configuration `name`.
pub(crate) fn take(settings: &mut dyn Settings, name: &str, keys: &mut Keys<'_>, faults: &mut Faults<'_>) {
    take_listed(&mut |reader| settings.keys(reader), name, keys, faults);
}

/// Reads keys that a function lists into its settings.
pub(crate) fn take_listed(
    list: &mut dyn FnMut(&mut dyn Visitor),
    name: &str,
    keys: &mut Keys<'_>,
    faults: &mut Faults<'_>,
) {
    let before = faults.len();
    let mut reader = Reader { name, keys, faults, refused: Vec::new(), reason: None };
    list(&mut reader);
    let refused = reader.refused;
    // Values are compared with each other only if each value is allowed by itself.
    if faults.len() == before {
        faults.extend(refused);
    }
}

/// Reads a configuration whose keys are in a table.
pub(crate) fn listed<C: Settings + Default>(keys: &mut dyn Visitor) -> C {
    let mut config = C::default();
    config.keys(keys);
    config
}

/// A configuration as a group of keys in a table.
pub(crate) struct Keyed<C>(pub(crate) C);

impl<C: Settings + Default> Fields for Keyed<C> {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let mut config = C::default();
        take(&mut config, "this protocol", keys, faults);
        Some(Self(config))
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        describe::schema_of(|keys| C::default().keys(keys))
    }
}

impl<C: Settings + Default> Read for Keyed<C> {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        let before = faults.len();
        super::whole_table(node, path, faults).filter(|_| faults.len() == before)
    }
}

impl<C: Settings + Default> JsonSchema for Keyed<C> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Keyed".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Self::schema(generator);
        schema.insert("unevaluatedProperties".into(), false.into());
        schema
    }
}

/// Visitor that reads the values of settings from a table.
struct Reader<'a, 'k, 'f> {
    name: &'a str,
    keys: &'a mut Keys<'k>,
    faults: &'a mut Faults<'f>,
    /// Faults of values that are allowed by themselves, but not in combination.
    refused: Vec<Fault>,
    /// Reason for which the following keys are unavailable.
    reason: Option<String>,
}

impl<'k> Reader<'_, 'k, '_> {
    /// The node of a key. Nodes of unavailable keys are refused.
    fn find(&mut self, name: &'static str) -> Option<&'k Node> {
        let node = self.keys.find(name)?;
        if let Some(reason) = &self.reason {
            let message = format!("{:?} {reason}", self.name);
            self.refused.push(Fault::at(node.origin, self.keys.path_of(name), message));
            return None;
        }
        Some(node)
    }

    /// Finds a key; records it as missing if it is required.
    fn find_or_miss(&mut self, name: &'static str, required: bool) -> Option<&'k Node> {
        let node = self.find(name);
        if node.is_none() && required {
            self.keys.missing(name, self.faults);
        }
        node
    }

    fn whole_table(&mut self, node: &Node, path: &str, list: &mut dyn FnMut(&mut dyn Visitor)) {
        let Some(mut keys) = Keys::open(node, path, self.faults) else { return };
        take_listed(list, self.name, &mut keys, self.faults);
        keys.close(self.faults);
    }
}

impl Visitor for Reader<'_, '_, '_> {
    fn name(&self) -> &str {
        self.name
    }

    fn key(&mut self, key: &Key<'_>) -> Option<Value> {
        let node = self.find_or_miss(key.name, key.required)?;
        let path = self.keys.path_of(key.name);
        value(&key.allowed, node, &path, self.faults)
    }

    fn key_or_table(&mut self, key: &Key<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> Option<Given> {
        let node = self.find_or_miss(key.name, key.required)?;
        let path = self.keys.path_of(key.name);
        if matches!(node.value, Found::Table(_)) {
            self.whole_table(node, &path, keys);
            return Some(Given::Table);
        }
        if let Some(value) = single(&key.allowed, node) {
            return Some(Given::Value(value));
        }
        let mut inner = Describer::default();
        keys(&mut inner);
        let allowed = format!("{key}, or a table such as {}", inner.example(key.value.as_ref()));
        wrong_word(node, &path, &allowed, words(&key.allowed), self.faults)
    }

    fn table(&mut self, table: &Table<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> bool {
        if let Some(node) = self.find_or_miss(table.name, table.required) {
            self.whole_table(node, &self.keys.path_of(table.name), keys);
            return true;
        }
        if let Some(default) = table.default {
            let node = Node::default(&default_of(default));
            self.whole_table(&node, &self.keys.path_of(table.name), keys);
        }
        false
    }

    fn kinds(
        &mut self,
        name: &'static str,
        default: Option<usize>,
        kinds: &[(&'static str, &str)],
        keys: &mut dyn FnMut(usize, &mut dyn Visitor),
    ) {
        let words: Vec<_> = kinds.iter().zip(0..).map(|((word, _), kind)| (*word, kind)).collect();
        let default = default.map(|kind| kinds[kind].0);
        let Some(&kind) = self.keys.take_kind(name, default, &words, self.faults) else {
            self.keys.forgive();
            return;
        };
        self.name = kinds[kind].0;
        keys(kind, self);
        if self.keys.has_unknown() {
            let names = words.iter().map(|&(word, kind)| {
                let mut described = Describer::default();
                keys(kind, &mut described);
                (word, described.names())
            });
            let names: Vec<_> = names.collect();
            self.keys.mention(name, move || names.clone());
        }
    }

    fn unavailable(&mut self, reason: &str, list: &mut dyn FnMut(&mut dyn Visitor)) {
        let outer = self.reason.replace(reason.to_owned());
        list(self);
        self.reason = outer;
    }

    fn refuse(&mut self, name: &'static str, message: String) {
        self.refused.push(Fault::at_key(self.keys.path_of(name), message));
    }
}

/// The value of a node; records a fault if it is not allowed.
pub(crate) fn value(allowed: &Allowed, node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Value> {
    read(allowed, allowed, node, path, faults)
}

/// The value of a node; a fault describes the allowed values by `shown`.
fn read(
    allowed: &Allowed,
    shown: &Allowed,
    node: &Node,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<Value> {
    match (allowed, &node.value) {
        (Allowed::OrWord(_, word), Found::Text(text)) if text == word => Some(Value::Word(word)),
        (Allowed::OrWord(inner, _), _) => read(inner, shown, node, path, faults),
        (Allowed::List(each, count), Found::Array(items)) if count.is_none_or(|n| n == items.len()) => {
            let item = |(n, item)| value(each, item, &format!("{path}.{n}"), faults);
            // Every item is read so that every fault is recorded.
            let read: Vec<Option<Value>> = items.iter().enumerate().map(item).collect();
            read.into_iter().collect::<Option<_>>().map(Value::List)
        }
        (Allowed::Either(one, other), found) => {
            match [one, other].into_iter().find(|allowed| is_of_type(allowed, found)) {
                Some(allowed) => value(allowed, node, path, faults),
                None => wrong(node, path, &shown.to_string(), faults),
            }
        }
        _ => {
            single(allowed, node).or_else(|| wrong_word(node, path, &shown.to_string(), words(shown), faults))
        }
    }
}

/// The words that are allowed, for suggestions.
fn words(allowed: &Allowed) -> impl Iterator<Item = &str> {
    let words = match allowed {
        Allowed::Words(words) => words,
        Allowed::OrWord(_, word) => std::slice::from_ref(word),
        _ => &[],
    };
    words.iter().copied()
}

fn single(allowed: &Allowed, node: &Node) -> Option<Value> {
    match &node.value {
        Found::Bool(on) => allowed.switch(*on),
        Found::Integer(n) => allowed.whole(*n),
        Found::Float(x) => allowed.number(*x),
        Found::Text(text) => allowed.text(text),
        _ => None,
    }
}

const fn is_of_type(allowed: &Allowed, found: &Found) -> bool {
    match found {
        Found::Integer(_) | Found::Float(_) => {
            matches!(allowed, Allowed::Whole(..) | Allowed::Number(..) | Allowed::Node)
        }
        Found::Array(_) => matches!(allowed, Allowed::List(..)),
        Found::Text(_) => matches!(allowed, Allowed::Node),
        _ => false,
    }
}
