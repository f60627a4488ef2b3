//! The pinned scenarios use every key of scenario files, every word that a key may have, and every drop reason.

use std::collections::BTreeSet;

use multihop_core::DropReason;
use multihop_scenario::schema_with;
use serde_json::Value;

use super::cases::{AREAS, KINDS, cases};
use super::values;

/// Keys (with all keys below them) and words that no pinned scenario can use or needs to use.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("mobility.node[gauss-markov]", "read by the code of mobility"),
    ("mobility.node[group]", "read by the code of mobility"),
    ("mobility.node[manhattan]", "read by the code of mobility"),
    ("mobility.node[random-walk]", "read by the code of mobility"),
    ("mobility.node[random-waypoint]", "read by the code of mobility"),
    ("emulation", "only of real programs, which take real time"),
    ("program", "only of real programs, which take real time"),
    ("radio.mac", "read by the code of mac"),
    ("traffic.transport", "read by the code of flow.transport"),
];

/// Drop reasons that no simulation has.
const NO_DROP: &[DropReason] = &[DropReason::TooBig];

#[test]
fn pinned_scenarios_use_every_key_and_every_word_of_the_schema() {
    let schema = schema_with(&multihop_routing_extra::extensions());
    let mut needs = Needs { definitions: &schema["$defs"], list: Vec::new() };
    needs.table(&schema, &[String::new()]);
    let mut used = BTreeSet::new();
    for case in AREAS.iter().flat_map(|area| cases(area)) {
        note(&case.document, &[String::new()], &mut used);
    }
    let (excepted, needed): (Vec<_>, Vec<_>) =
        needs.list.iter().partition(|need| EXCEPTIONS.iter().any(|(key, _)| need.is_below(key)));
    let missing: BTreeSet<_> =
        needed.iter().filter(|need| !need.is_met(&used)).map(|need| need.0[0].clone()).collect();
    assert!(missing.is_empty(), "no pinned scenario has\n{}", Vec::from_iter(missing).join("\n"));
    for (key, reason) in EXCEPTIONS {
        assert!(excepted.iter().any(|need| need.is_below(key)), "the schema has no {key} ({reason})");
    }
}

#[test]
fn packets_of_pinned_scenarios_are_dropped_for_every_reason() {
    let stored = AREAS.iter().flat_map(|area| values::read(area).into_values());
    let seen: BTreeSet<_> = stored.flat_map(|stored| stored.drops()).collect();
    for reason in DropReason::ALL {
        let wanted = !NO_DROP.contains(&reason);
        assert_eq!(seen.contains(reason.name()), wanted, "dropped packets with the reason {}", reason.name());
    }
}

/// A key with a kind of value or a word, as `path = word`: at least one of these must be used. A path names the kind of
/// the tables that it leads through, if the key depends on it: `routing[olsr].preset = "rfc"`.
struct Need(Vec<String>);

impl Need {
    fn is_met(&self, used: &BTreeSet<String>) -> bool {
        self.0.iter().any(|way| used.contains(way))
    }

    fn is_below(&self, key: &str) -> bool {
        let rest = |way: &String| way.strip_prefix(key).map(|rest| rest.starts_with(['.', '[', ' ']));
        self.0.iter().any(|way| rest(way) == Some(true))
    }
}

/// Collects from the schema what must be used. Default words need not be spelt out.
struct Needs<'a> {
    definitions: &'a Value,
    list: Vec<Need>,
}

impl<'a> Needs<'a> {
    fn table(&mut self, node: &'a Value, paths: &[String]) {
        let parts = self.parts(node);
        for part in &parts {
            for kind in kinds(part) {
                let keys: Vec<_> = self.parts(kind).into_iter().flat_map(properties).collect();
                let (selector, word) = keys
                    .iter()
                    .find_map(|(name, key)| Some((*name, key.get("const")?)))
                    .expect("kinds have a word");
                self.need(&below(paths, selector), word);
                let paths = of_kinds(paths, &[word]);
                keys.iter()
                    .filter(|(name, _)| *name != selector)
                    .for_each(|(name, key)| self.value(key, &below(&paths, name)));
            }
        }
        let selectors: Vec<_> = parts.iter().flat_map(|part| kinds(part)).collect();
        let keys: Vec<_> = parts.iter().flat_map(|part| properties(part)).collect();
        let words =
            keys.iter().find(|(name, _)| *name == "kind").map(|(_, key)| self.words(key)).unwrap_or_default();
        let inner = if words.is_empty() { paths.to_vec() } else { of_kinds(paths, &words) };
        for (name, key) in keys {
            let is_selector =
                !selectors.is_empty() && KINDS.contains(&name) || name == "kind" && !words.is_empty();
            if !is_selector {
                self.value(key, &below(&inner, name));
            }
        }
    }

    fn value(&mut self, node: &'a Value, paths: &[String]) {
        let default = node.get("default");
        self.alternatives(node, paths, default);
    }

    fn alternatives(&mut self, node: &'a Value, paths: &[String], default: Option<&Value>) {
        let node = self.resolve(node);
        if kinds(node).is_empty() {
            list(node, "anyOf").for_each(|option| self.alternatives(option, paths, default));
        }
        let words = self.words(node);
        words
            .iter()
            .filter(|word| Some(**word) != default && !word.is_null())
            .for_each(|word| self.need(paths, word));
        if node.get("properties").is_some() || !kinds(node).is_empty() || node.get("allOf").is_some() {
            self.table(node, paths);
        }
        if !words.is_empty() {
            return;
        }
        for kind in types(node) {
            match kind {
                "boolean" => {
                    let words = [true, false].map(Value::from);
                    words
                        .iter()
                        .filter(|word| Some(*word) != default)
                        .for_each(|word| self.need(paths, word));
                }
                "array" => {
                    node.get("items").into_iter().for_each(|items| self.alternatives(items, paths, None))
                }
                "integer" | "number" => self.need_any(paths, "number"),
                "string" => self.need_any(paths, "text"),
                _ => {}
            }
        }
    }

    /// For words with suffixes, such as `newreno+da+elfn`, each suffix is needed, but not each combination.
    fn need(&mut self, paths: &[String], word: &Value) {
        let suffixes = suffixes(word);
        suffixes.iter().for_each(|suffix| self.need_any(paths, suffix));
        if suffixes.is_empty() {
            self.need_any(paths, &word.to_string());
        }
    }

    fn need_any(&mut self, paths: &[String], word: &str) {
        self.list.push(Need(paths.iter().map(|path| format!("{path} = {word}")).collect()));
    }

    /// A table, and the groups of keys in this table.
    fn parts(&self, node: &'a Value) -> Vec<&'a Value> {
        let node = self.resolve(node);
        let groups = list(node, "allOf").flat_map(|group| self.parts(group));
        [node].into_iter().chain(groups).collect()
    }

    fn words(&self, node: &'a Value) -> Vec<&'a Value> {
        let node = self.resolve(node);
        list(node, "enum").chain(node.get("const")).collect()
    }

    fn resolve(&self, node: &'a Value) -> &'a Value {
        match node.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next()) {
            Some(name) => self.resolve(&self.definitions[name]),
            None => node,
        }
    }
}

fn list<'a>(node: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    node.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The alternatives of a table, one for each value of the key that decides which other keys there are. Several may fit where that
/// key is missing.
fn kinds(node: &Value) -> Vec<&Value> {
    let any = list(node, "anyOf").filter(|_| node.get("type").is_some());
    list(node, "oneOf").chain(any).collect()
}

fn properties(node: &Value) -> Vec<(&str, &Value)> {
    let keys = node.get("properties").and_then(Value::as_object);
    keys.into_iter().flatten().map(|(name, key)| (name.as_str(), key)).collect()
}

fn types(node: &Value) -> Vec<&str> {
    let one = node.get("type").and_then(Value::as_str);
    one.into_iter().chain(list(node, "type").filter_map(Value::as_str)).collect()
}

fn below(paths: &[String], name: &str) -> Vec<String> {
    let path = |path: &String| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    paths.iter().map(path).collect()
}

fn of_kinds(paths: &[String], words: &[&Value]) -> Vec<String> {
    let words: Vec<_> = words.iter().filter_map(|word| word.as_str()).collect();
    paths.iter().flat_map(|path| words.iter().map(move |word| format!("{path}[{word}]"))).collect()
}

/// The suffixes of the name of a transport, each as a word.
fn suffixes(word: &Value) -> Vec<String> {
    let parts = word.as_str().unwrap_or_default().split('+').skip(1);
    parts.map(|suffix| format!("\"+{suffix}\"")).collect()
}

/// Records the words and kinds of values of a scenario under every path by which the schema may need them.
fn note(value: &Value, paths: &[String], used: &mut BTreeSet<String>) {
    let mut add = |word: &str| used.extend(paths.iter().map(|path| format!("{path} = {word}")));
    match value {
        Value::Object(keys) => {
            let kinds: Vec<_> = KINDS.iter().filter_map(|kind| keys.get(*kind)).collect();
            let inner = [paths, &of_kinds(paths, &kinds)].concat();
            if paths.iter().any(|path| path == "sweep") {
                let zipped = keys.get("zip").and_then(Value::as_array).into_iter().flatten();
                let zipped = zipped.filter_map(Value::as_object).flatten();
                keys.iter()
                    .filter(|(name, _)| !["seeds", "zip"].contains(&name.as_str()))
                    .chain(zipped)
                    .for_each(|(axis, values)| note_axis(axis, values, used));
            }
            for (name, value) in keys {
                // A transport may be a name, or a table with a name.
                let is_name = name == "kind" && paths.iter().any(|path| path.ends_with("transport"));
                let paths = if is_name { paths.to_vec() } else { below(&inner, name) };
                note(value, &paths, used);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| note(item, paths, used)),
        Value::String(_) => {
            add("text");
            add(&value.to_string());
            suffixes(value).iter().for_each(|suffix| add(suffix));
        }
        Value::Number(_) => add("number"),
        Value::Bool(_) => add(&value.to_string()),
        Value::Null => {}
    }
}

/// Records the values of an axis of a sweep as if the scenario had them.
fn note_axis(axis: &str, values: &Value, used: &mut BTreeSet<String>) {
    let is_name = |part: &&str| *part != "*" && part.parse::<usize>().is_err();
    let path = axis.split('.').filter(is_name).collect::<Vec<_>>().join(".");
    note(values, &[path], used);
}
