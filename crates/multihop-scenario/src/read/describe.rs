//! JSON Schema of configurations whose keys [`Settings`] lists.

use multihop_core::settings::{Allowed, Given, Key, Settings, Table, Value, Visitor};
use schemars::Schema;
use serde_json::{Map, Value as Json, json};

/// The names of a configuration's keys, whether or not they are available.
pub(crate) fn names(settings: &mut dyn Settings) -> Vec<&'static str> {
    let mut described = Describer::default();
    settings.keys(&mut described);
    described.names()
}

/// Describes the keys of several variants of a configuration as one group. A default is included if all
/// variants have the same.
pub(crate) fn schema(variants: &mut [&mut dyn Settings]) -> Schema {
    let mut all = Describer::default();
    for variant in variants {
        variant.keys(&mut all);
    }
    Schema::try_from(all.schema()).expect("a description is an object")
}

/// Describes the keys that `list` visits as one group. A default is included if it is the same under all
/// [combinations](Combination) of the words that other keys, such as presets, can have.
pub(crate) fn schema_of(list: impl Fn(&mut dyn Visitor)) -> Schema {
    let mut all = Describer::default();
    all.explore(list);
    Schema::try_from(all.schema()).expect("a description is an object")
}

/// Describes the keys that `list` visits for each variant as one group. A default is included if it is the
/// same for all variants and words.
pub(crate) fn schema_of_all<T>(variants: &[T], list: impl Fn(&T, &mut dyn Visitor)) -> Schema {
    let mut all = Describer::default();
    for variant in variants {
        all.explore(|keys| list(variant, keys));
    }
    Schema::try_from(all.schema()).expect("a description is an object")
}

/// The keys and values that apply without a table, as a document.
pub(super) fn default_of(default: &[(&'static str, &'static str)]) -> Json {
    default.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect::<Map<_, _>>().into()
}

/// Collects the descriptions of the keys of one table.
#[derive(Default)]
pub(crate) struct Describer {
    keys: Vec<Described>,
    kinds: Option<Kinds>,
    unavailable: bool,
    /// The words that keys get during a visit; `None` leaves them at their defaults.
    words: Option<Combination>,
}

struct Described {
    name: &'static str,
    schema: Json,
    required: bool,
    /// Default of the key; `None` before a variant has the key, and `Some(None)` if there is no default or
    /// variants differ.
    default: Option<Option<Json>>,
}

/// The key that decides which other keys exist, and the keys for each of its values.
struct Kinds {
    name: &'static str,
    default: Option<&'static str>,
    /// Whether the default of the deciding key depends on other keys.
    has_defaults: bool,
    list: Vec<(&'static str, String, Describer)>,
}

/// Largest number of keys with another word than their first one in a combination. A default depends on one
/// word, such as a preset, or on two.
const MAX_OTHERS: usize = 2;

/// One choice from each of several lists, in the order of their visits. At most [`MAX_OTHERS`] choices differ
/// from the first of their list, because all combinations of the words of `[radio]` alone would be thousands.
#[derive(Default)]
struct Combination {
    /// Chosen alternative and number of alternatives of each list.
    choices: Vec<(usize, usize)>,
    made: usize,
}

impl Combination {
    /// The choice from the next list, which has this length.
    fn choose(&mut self, length: usize) -> usize {
        if self.made == self.choices.len() {
            self.choices.push((0, length));
        }
        self.made += 1;
        self.choices[self.made - 1].0
    }

    /// Advances to the next combination; returns whether there is one.
    fn advance(&mut self) -> bool {
        self.made = 0;
        while let Some((chosen, length)) = self.choices.pop() {
            let others = self.choices.iter().filter(|(chosen, _)| *chosen > 0).count();
            if chosen + 1 < length && others < MAX_OTHERS {
                self.choices.push((chosen + 1, length));
                return true;
            }
        }
        false
    }
}

impl Describer {
    /// Visits the keys under every combination of the words that they can have.
    fn explore(&mut self, mut list: impl FnMut(&mut dyn Visitor)) {
        self.words = Some(Combination::default());
        loop {
            list(self);
            if !self.words.as_mut().is_some_and(Combination::advance) {
                return;
            }
        }
    }

    /// Names of all keys, including the keys of all kinds.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let kinds = self.kinds.iter().flat_map(|kinds| {
            let keys = kinds.list.iter().flat_map(|(_, _, keys)| keys.names());
            std::iter::once(kinds.name).chain(keys)
        });
        self.keys.iter().map(|key| key.name).chain(kinds).collect()
    }

    /// A table with its first key in TOML; `usual` is the key's value if it has no default.
    pub(super) fn example(&self, usual: Option<&Value>) -> String {
        let Some(key) = self.keys.first() else {
            let kind = self.kinds.as_ref().and_then(|kinds| Some((kinds.name, kinds.list.last()?.0)));
            return kind.map_or_else(|| "{}".to_owned(), |(name, word)| format!("{{ {name} = {word:?} }}"));
        };
        let value = key.default.clone().flatten().or_else(|| usual.map(json_of));
        format!("{{ {} = {} }}", key.name, value.map_or_else(|| "...".to_owned(), |value| value.to_string()))
    }

    /// The schema of the keys, which allows other keys.
    fn schema(self) -> Json {
        let required: Vec<_> = self.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
        let is_empty = self.keys.is_empty();
        let properties: Map<_, _> = self.keys.into_iter().map(Described::property).collect();
        let keys = object([
            ("type", "object".into()),
            ("properties", properties.into()),
            ("required", required.into()),
        ]);
        match self.kinds {
            None => keys,
            Some(kinds) if is_empty => kinds.schema(),
            Some(kinds) => object([("allOf", vec![keys, kinds.schema()].into())]),
        }
    }

    /// The schema of a table that has these keys and no others.
    fn closed(list: &mut dyn FnMut(&mut dyn Visitor)) -> Json {
        let mut described = Self::default();
        list(&mut described);
        let mut schema = described.schema();
        schema["unevaluatedProperties"] = false.into();
        schema
    }

    fn add(
        &mut self,
        name: &'static str,
        help: &str,
        mut schema: Json,
        required: bool,
        default: Option<Json>,
    ) {
        if !help.is_empty() {
            schema["description"] = help.into();
        }
        let known = self.keys.iter().position(|key| key.name == name);
        let at = known.unwrap_or(self.keys.len());
        match self.keys.get_mut(at) {
            Some(key) if key.schema != schema => unite(&mut key.schema, schema),
            Some(_) => {}
            None => self.keys.push(Described { name, schema, required, default: None }),
        }
        let key = &mut self.keys[at];
        if !self.unavailable {
            let all = &mut key.default;
            *all = Some(if all.is_none() || *all == Some(default.clone()) { default } else { None });
        }
    }
}

impl Described {
    fn property(self) -> (String, Json) {
        let mut schema = self.schema;
        if let Some(default) = self.default.flatten() {
            schema["default"] = default;
        }
        (self.name.to_owned(), schema)
    }
}

impl Kinds {
    /// Schema of several alternative objects, selected by a word. If other keys decide which alternative
    /// applies without the word, the keys of any alternative are allowed then.
    fn schema(self) -> Json {
        let Self { name, default, has_defaults, list } = self;
        let alternative = |(word, help, keys): (&str, String, Describer)| {
            let mut schema = keys.schema();
            schema["description"] = help.into();
            schema["properties"][name] = json!({ "const": word });
            if default != Some(word) && !has_defaults {
                let required = schema["required"].as_array_mut().expect("a list of keys");
                required.push(name.into());
            }
            schema
        };
        let list: Vec<_> = list.into_iter().map(alternative).collect();
        let choice = if has_defaults { "anyOf" } else { "oneOf" };
        let mut schema = object([("type", "object".into()), (choice, list.into())]);
        if let Some(default) = default.filter(|_| !has_defaults) {
            schema["properties"] = json!({ name: { "default": default } });
        }
        schema
    }
}

impl Visitor for Describer {
    fn name(&self) -> &str {
        ""
    }

    fn key(&mut self, key: &Key<'_>) -> Option<Value> {
        let schema = type_of(&key.allowed);
        self.add(key.name, key.help, schema, key.required, key.value.as_ref().map(json_of));
        let (Allowed::Words(words), Some(combination)) = (&key.allowed, &mut self.words) else { return None };
        Some(Value::Word(words[combination.choose(words.len())]))
    }

    fn key_or_table(&mut self, key: &Key<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> Option<Given> {
        let schema = any_of([type_of(&key.allowed), Self::closed(keys)]);
        self.add(key.name, key.help, schema, key.required, key.value.as_ref().map(json_of));
        None
    }

    fn table(&mut self, table: &Table<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> bool {
        self.add(table.name, table.help, Self::closed(keys), table.required, table.default.map(default_of));
        false
    }

    fn kinds(
        &mut self,
        name: &'static str,
        default: Option<usize>,
        kinds: &[(&'static str, &str)],
        keys: &mut dyn FnMut(usize, &mut dyn Visitor),
    ) {
        let default = default.map(|kind| kinds[kind].0);
        let known = self.kinds.get_or_insert_with(|| {
            let list = kinds.iter().map(|(word, help)| (*word, (*help).to_owned(), Self::default()));
            Kinds { name, default, has_defaults: false, list: list.collect() }
        });
        known.has_defaults |= known.default != default;
        for (kind, (_, _, described)) in known.list.iter_mut().enumerate() {
            if self.words.is_some() {
                described.explore(|described| keys(kind, described));
            } else {
                keys(kind, described);
            }
        }
    }

    fn unavailable(&mut self, _: &str, list: &mut dyn FnMut(&mut dyn Visitor)) {
        let outer = std::mem::replace(&mut self.unavailable, true);
        list(self);
        self.unavailable = outer;
    }

    fn refuse(&mut self, _: &'static str, _: String) {}
}

/// A JSON object with these members. `json!` would copy the values once at each level of nesting.
fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn any_of(alternatives: [Json; 2]) -> Json {
    object([("anyOf", Vec::from(alternatives).into())])
}

pub(crate) fn type_of(allowed: &Allowed) -> Json {
    match allowed {
        Allowed::Switch => json!({ "type": "boolean" }),
        Allowed::Whole(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Allowed::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Allowed::Words(words) => json!({ "type": "string", "enum": words }),
        Allowed::Text(_) => json!({ "type": "string" }),
        Allowed::Node => json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }] }),
        Allowed::List(each, None) => json!({ "type": "array", "items": type_of(each) }),
        Allowed::List(each, Some(n)) => {
            json!({ "type": "array", "items": type_of(each), "minItems": n, "maxItems": n })
        }
        Allowed::OrWord(inner, word) => any_of([type_of(inner), json!({ "const": word })]),
        Allowed::Either(one, other) => json!({ "anyOf": [type_of(one), type_of(other)] }),
    }
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Switch(on) => json!(on),
        Value::Whole(n) => json!(n),
        Value::Number(x) => json!(x),
        Value::Word(word) => json!(word),
        Value::Text(text) => json!(text),
        Value::List(values) => values.iter().map(json_of).collect(),
    }
}

/// Adds to `all` the words and keys that another variant has.
pub(super) fn unite(all: &mut Json, other: Json) {
    match (all, other) {
        (Json::Object(all), Json::Object(other)) => {
            for (key, value) in other {
                match all.get_mut(&key) {
                    Some(known) if ["enum", "properties", "required", "anyOf"].contains(&key.as_str()) => {
                        unite(known, value)
                    }
                    Some(_) => {}
                    None => _ = all.insert(key, value),
                }
            }
        }
        (Json::Array(all), Json::Array(other)) => {
            for (n, value) in other.into_iter().enumerate() {
                if let Some(known) = all.get_mut(n).filter(|known| known.is_object()) {
                    unite(known, value);
                } else if !all.contains(&value) {
                    all.push(value);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_differ_from_the_first_words_in_two_keys_at_most() {
        let words = [("a", 0), ("b", 1), ("c", 2)];
        let mut combinations = Vec::new();
        Describer::default().explore(|keys| {
            let chosen = ["one", "two", "three"].map(|name| keys.about("").choice(name, None, &words));
            combinations.push(chosen.map(|word| word.expect("each key gets a word")));
        });
        let others = |chosen: &[i32; 3]| chosen.iter().filter(|&&word| word != 0).count();
        assert_eq!(combinations.iter().map(others).max(), Some(2));
        // The combinations are: all first words; one other word in one of three keys; two other words in two
        // of them.
        assert_eq!(combinations.len(), 1 + 3 * 2 + 3 * 4);
    }
}
