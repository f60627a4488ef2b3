//! Conversion of a document's nodes into typed values: every key is read once, and every fault is kept.
//!
//! A table lists its keys ([`multihop_core::settings::Settings`]): radio, MAC and protocols in their crates,
//! the others in `tables`. One visitor reads the keys (`settings.rs`), another describes them
//! (`describe.rs`). The macro below lists the tables of a file.
//!
//! Serde does not read the tables. A derived `Deserialize` stops at the first error, knows no bounds, and
//! loses the position of a value inside a flattened or tagged table. Users get every problem of a file
//! at once, each with line, column and key. `toml` gives the positions, `schemars` the schema.

pub(crate) mod describe;
mod keys;
pub(crate) mod settings;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

pub(super) use keys::Keys;

use super::document::{Fault, Node, Value};
use crate::faults::Faults;

/// A type that a value of a scenario file can have.
pub(super) trait Read: JsonSchema + Sized {
    /// Takes the value, or records a fault.
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self>;

    /// The value of a missing key without a default; `None` if such a key is required.
    fn absent() -> Option<Self> {
        None
    }
}

/// A group of keys, all or some of a table's.
pub(super) trait Fields: Sized {
    /// Takes the keys that belong to the group.
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self>;

    /// Describes the keys, without forbidding others.
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// Defines a table: its keys with their descriptions, types and defaults. A key without a default
/// is required, unless it is an `Option`.
macro_rules! table {
    ($(#[doc = $doc:literal])* $name:ident {
        $($(#[doc = $about:literal])* $field:ident: $type:ty $(= $default:expr)?,)*
    }) => {
        $(#[doc = $doc])*
        pub(crate) struct $name {
            $($(#[doc = $about])* pub(crate) $field: $type,)*
        }

        impl $crate::read::Fields for $name {
            fn take(
                keys: &mut $crate::read::Keys<'_>,
                faults: &mut $crate::faults::Faults<'_>,
            ) -> Option<Self> {
                $(
                    let default = None$(.or_else(|| Some(serde_json::json!($default))))?;
                    let $field = keys.take::<$type>(stringify!($field), default, faults);
                )*
                Some(Self { $($field: $field?,)* })
            }

            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut object = $crate::read::Object::default();
                $(
                    let default = None$(.or_else(|| Some(serde_json::json!($default))))?;
                    object.key::<$type>(generator, stringify!($field), concat!($($about),*), default);
                )*
                object.schema()
            }
        }

        $crate::read::closed_table!($name, concat!($($doc),*));
    };
}
pub(super) use table;

/// A table that has the keys of one group and no others.
macro_rules! closed_table {
    ($name:ident, $about:expr) => {
        impl $crate::read::Read for $name {
            fn read(
                node: &$crate::document::Node,
                path: &str,
                faults: &mut $crate::faults::Faults<'_>,
            ) -> Option<Self> {
                $crate::read::whole_table(node, path, faults)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = <Self as $crate::read::Fields>::schema(generator);
                schema.insert("description".into(), $about.trim().into());
                schema.insert("unevaluatedProperties".into(), false.into());
                schema
            }
        }
    };
}
pub(super) use closed_table;

/// Takes all keys of a table and refuses others.
pub(super) fn whole_table<T: Fields>(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<T> {
    let mut keys = Keys::open(node, path, faults)?;
    let table = T::take(&mut keys, faults);
    keys.close(faults);
    table
}

/// Collects the description of a table.
#[derive(Default)]
pub(super) struct Object {
    properties: serde_json::Map<String, serde_json::Value>,
    required: Vec<String>,
}

impl Object {
    /// Adds the description of one key.
    pub(super) fn key<T: Read>(
        &mut self,
        generator: &mut SchemaGenerator,
        name: &str,
        about: &str,
        default: Option<serde_json::Value>,
    ) {
        if default.is_none() && T::absent().is_none() {
            self.required.push(name.to_owned());
        }
        self.described(name, generator.subschema_for::<T>(), about.trim(), default);
    }

    /// Adds one key that is not required.
    pub(super) fn described(
        &mut self,
        name: &str,
        mut schema: Schema,
        about: &str,
        default: Option<serde_json::Value>,
    ) {
        schema.insert("description".into(), about.into());
        if let Some(default) = default {
            schema.insert("default".into(), default);
        }
        self.properties.insert(name.to_owned(), schema.into());
    }

    /// JSON Schema of the object that was described.
    pub(super) fn schema(self) -> Schema {
        let Self { properties, required } = self;
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

/// Records that `node` is not an allowed value.
pub(super) fn wrong<T>(node: &Node, path: &str, allowed: &str, faults: &mut Faults<'_>) -> Option<T> {
    wrong_word(node, path, allowed, [], faults)
}

/// Reports a wrong value where some of the allowed values are words, with the word that was probably meant.
pub(super) fn wrong_word<'a, T>(
    node: &Node,
    path: &str,
    allowed: &str,
    words: impl IntoIterator<Item = &'a str>,
    faults: &mut Faults<'_>,
) -> Option<T> {
    let fault = Fault::at(node.origin, path, format!("found {}, allowed: {allowed}", node.value));
    let meant = if let Value::Text(text) = &node.value { fault.perhaps(text, words) } else { fault };
    faults.push(meant);
    None
}

/// List of words for messages, such as `"a", "b"`.
pub(super) fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

/// Dotted path of a key in the table at `path`.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A table that consists of two groups of keys.
pub(super) struct Both<A, B>(pub(super) A, pub(super) B);

impl<A: Fields, B: Fields> Fields for Both<A, B> {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let (a, b) = (A::take(keys, faults), B::take(keys, faults));
        Some(Self(a?, b?))
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let (a, b) = (A::schema(generator), B::schema(generator));
        let is_plain = |schema: &Schema| schema.get("properties").is_some() && schema.get("oneOf").is_none();
        if !is_plain(&a) || !is_plain(&b) {
            return json_schema!({ "allOf": [a, b] });
        }
        let mut all = serde_json::Value::from(a);
        describe::unite(&mut all, b.into());
        Schema::try_from(all).expect("a description is an object")
    }
}

impl<A: Fields, B: Fields> Read for Both<A, B> {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        whole_table(node, path, faults)
    }
}

impl<A: Fields, B: Fields> JsonSchema for Both<A, B> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Both".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Self::schema(generator);
        schema.insert("unevaluatedProperties".into(), false.into());
        schema
    }
}

impl<T: Read> Read for Option<T> {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        T::read(node, path, faults).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match &node.value {
            Value::Array(items) => all(items, path, faults),
            _ => wrong(node, path, "an array", faults),
        }
    }
}

/// Reads every item, so that every fault is found.
pub(super) fn all<T: Read>(items: &[Node], path: &str, faults: &mut Faults<'_>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> =
        items.iter().enumerate().map(|(n, item)| T::read(item, &format!("{path}.{n}"), faults)).collect();
    read.into_iter().collect()
}
