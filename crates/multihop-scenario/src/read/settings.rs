//! Configurations that list their keys ([`Settings`]), as parts of a scenario's tables. One visitor
//! reads the keys; another describes and lists them.

use multihop_core::settings::{Allowed, Key, Settings, Value, Visitor};
use schemars::{Schema, json_schema};
use serde_json::json;

use super::{Keys, Object, wrong};
use crate::document::{Fault, Node, Value as Found};
use crate::faults::Faults;

/// Takes the keys of a configuration from a table; messages call the configuration `name`.
pub(crate) fn take(settings: &mut dyn Settings, name: &str, keys: &mut Keys<'_>, faults: &mut Faults<'_>) {
    let before = faults.len();
    let mut reader = Reader { name, keys, faults, refused: Vec::new(), reason: None };
    settings.keys(&mut reader);
    let refused = reader.refused;
    // Values are compared with each other only if each is allowed by itself.
    if faults.len() == before {
        faults.extend(refused);
    }
}

/// The names of a configuration's keys, whether or not they are available.
pub(crate) fn names(settings: &mut dyn Settings) -> Vec<&'static str> {
    let mut list = Describer::default();
    settings.keys(&mut list);
    list.keys.into_iter().map(|key| key.name).collect()
}

/// Describes the keys of several variants of a configuration as one group. A default is shown where all
/// variants agree on it.
pub(crate) fn schema(variants: &mut [&mut dyn Settings]) -> Schema {
    let mut all = Describer::default();
    for variant in variants {
        variant.keys(&mut all);
    }
    all.schema()
}

/// Describes the keys of a configuration as one group. A default is shown if it is the same under every
/// combination of the words that other keys, such as presets, can have.
pub(crate) fn schema_of<C: Settings + ?Sized>(config: fn() -> Box<C>) -> Schema {
    let mut all = Describer { words: Some(Combination::default()), ..Describer::default() };
    loop {
        config().keys(&mut all);
        if !all.words.as_mut().is_some_and(Combination::advance) {
            return all.schema();
        }
    }
}

/// Reads values.
struct Reader<'a, 'k, 'f> {
    name: &'a str,
    keys: &'a mut Keys<'k>,
    faults: &'a mut Faults<'f>,
    /// Values that are allowed by themselves, but not together with others.
    refused: Vec<Fault>,
    /// Why the keys that follow are not available.
    reason: Option<String>,
}

impl Reader<'_, '_, '_> {
    /// The node of a key. Those of keys that are not available are refused.
    fn find(&mut self, name: &'static str) -> Option<Node> {
        let node = self.keys.find(name)?.clone();
        if let Some(reason) = &self.reason {
            let message = format!("{:?} {reason}", self.name);
            self.refused.push(Fault::at(node.origin, self.keys.path_of(name), message));
            return None;
        }
        Some(node)
    }
}

impl Visitor for Reader<'_, '_, '_> {
    fn name(&self) -> &str {
        self.name
    }

    fn key(&mut self, key: &Key<'_>) -> Option<Value> {
        let node = self.find(key.name)?;
        let path = self.keys.path_of(key.name);
        value(key, &node).or_else(|| wrong(&node, &path, &key.to_string(), self.faults))
    }

    fn switch_or_table(
        &mut self,
        name: &'static str,
        _: bool,
        inner: &mut dyn Settings,
        _: &str,
    ) -> Option<bool> {
        let node = self.find(name)?;
        let path = self.keys.path_of(name);
        match node.value {
            Found::Bool(on) => Some(on),
            Found::Table(_) => {
                let mut keys = Keys::open(&node, &path, self.faults)?;
                take(inner, self.name, &mut keys, self.faults);
                keys.close(self.faults);
                Some(true)
            }
            _ => {
                let example =
                    names(inner).first().map_or_else(String::new, |key| format!("{{ {key} = 0.5 }}"));
                wrong(&node, &path, &format!("true, false, or a table such as {example}"), self.faults)
            }
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

fn value(key: &Key<'_>, node: &Node) -> Option<Value> {
    match &node.value {
        Found::Bool(on) => key.switch(*on),
        Found::Integer(n) => key.whole(*n),
        Found::Float(x) => key.number(*x),
        Found::Text(text) => key.word(text),
        _ => None,
    }
}

/// Collects descriptions.
#[derive(Default)]
struct Describer {
    keys: Vec<Described>,
    unavailable: bool,
    /// The words that keys are given; without it they keep their defaults.
    words: Option<Combination>,
}

struct Described {
    name: &'static str,
    help: String,
    schema: Schema,
    /// `None` until a variant has the key; `Some(None)` if there is none, or variants differ.
    default: Option<Option<serde_json::Value>>,
}

/// A choice for each of several lists, in the order in which they turn up.
#[derive(Default)]
struct Combination {
    /// What is chosen, and the length of the list.
    choices: Vec<(usize, usize)>,
    made: usize,
}

impl Combination {
    /// The choice from the next list.
    fn choose(&mut self, length: usize) -> usize {
        if self.made == self.choices.len() {
            self.choices.push((0, length));
        }
        self.made += 1;
        self.choices[self.made - 1].0
    }

    /// Begins the next combination, if there is one.
    fn advance(&mut self) -> bool {
        self.made = 0;
        while let Some((chosen, length)) = self.choices.pop() {
            if chosen + 1 < length {
                self.choices.push((chosen + 1, length));
                return true;
            }
        }
        false
    }
}

impl Describer {
    fn schema(self) -> Schema {
        let mut object = Object::default();
        for key in self.keys {
            object.described(key.name, key.schema, &key.help, key.default.flatten());
        }
        object.schema()
    }

    fn add(&mut self, name: &'static str, help: &str, schema: Schema, default: Option<serde_json::Value>) {
        let known = self.keys.iter().position(|key| key.name == name);
        let at = known.unwrap_or_else(|| {
            self.keys.push(Described { name, help: help.to_owned(), schema, default: None });
            self.keys.len() - 1
        });
        if !self.unavailable {
            let all = &mut self.keys[at].default;
            *all = Some(if all.is_none() || *all == Some(default.clone()) { default } else { None });
        }
    }
}

impl Visitor for Describer {
    fn name(&self) -> &str {
        ""
    }

    fn key(&mut self, key: &Key<'_>) -> Option<Value> {
        let mut schema = match key.allowed {
            Allowed::Switch => json_schema!({ "type": "boolean" }),
            Allowed::Whole(min, max) => json_schema!({ "type": "integer", "minimum": min, "maximum": max }),
            Allowed::Number(min, max) => json_schema!({ "type": "number", "minimum": min, "maximum": max }),
            Allowed::Words(words) => json_schema!({ "type": "string", "enum": words }),
        };
        if let Some(word) = key.or {
            schema = json_schema!({ "anyOf": [schema, { "const": word }] });
        }
        let default = key.value.map(|value| match value {
            Value::Switch(on) => json!(on),
            Value::Whole(n) => json!(n),
            Value::Number(x) => json!(x),
            Value::Word(word) => json!(word),
        });
        self.add(key.name, key.help, schema, default);
        let (Allowed::Words(words), Some(combination)) = (key.allowed, &mut self.words) else { return None };
        Some(Value::Word(words[combination.choose(words.len())]))
    }

    fn switch_or_table(
        &mut self,
        name: &'static str,
        current: bool,
        inner: &mut dyn Settings,
        help: &str,
    ) -> Option<bool> {
        let mut table = schema(&mut [inner]);
        table.insert("unevaluatedProperties".into(), false.into());
        let schema = json_schema!({ "anyOf": [{ "type": "boolean" }, table] });
        self.add(name, help, schema, Some(json!(current)));
        None
    }

    fn unavailable(&mut self, _: &str, list: &mut dyn FnMut(&mut dyn Visitor)) {
        let outer = std::mem::replace(&mut self.unavailable, true);
        list(self);
        self.unavailable = outer;
    }

    fn refuse(&mut self, _: &'static str, _: String) {}
}
