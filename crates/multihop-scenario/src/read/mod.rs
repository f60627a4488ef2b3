//! From nodes to typed values: every key is read once, and every fault is kept.
//!
//! The keys of a protocol are listed by its configuration (`settings.rs`). The macros below define the
//! other tables in one place: names, types, defaults and descriptions. Reading, defaults and the JSON
//! Schema follow from them.
//!
//! Serde reads none of this: a derived `Deserialize` stops at the first error, knows no bounds, and
//! loses the place of a value once it is inside a flattened or tagged table. Users get every problem
//! of a file at once, each with its line, column and key. `toml` gives the spans, `schemars` the schema.

mod keys;
pub(crate) mod settings;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

pub(super) use keys::Keys;

use super::document::{Fault, Node};
use crate::faults::Faults;

/// A type that a value of a scenario file can have.
pub(super) trait Read: JsonSchema + Sized {
    /// Takes the value, or records a fault.
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self>;

    /// The value of a missing key that has no default.
    fn absent() -> Option<Self> {
        None
    }
}

/// A group of keys, all or some of a table's.
pub(super) trait Fields: Sized {
    /// Takes the keys that belong to the group.
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self>;

    /// The keys of the group, whatever their values.
    fn names() -> Vec<&'static str>;

    /// Describes the keys, without forbidding others.
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// A table one of whose keys says which other keys there are.
pub(super) trait Kinds {
    /// The values of that key, and the keys that go with each.
    fn kinds() -> Vec<(&'static str, Vec<&'static str>)>;
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

            fn names() -> Vec<&'static str> {
                vec![$(stringify!($field)),*]
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

/// Defines a table in which one key decides which other keys exist.
macro_rules! kinds {
    ($(#[doc = $doc:literal])* $name:ident by $key:literal $(= $default:literal)? {
        $($(#[doc = $about:literal])* $word:literal => $variant:ident($fields:ty),)*
    }) => {
        $(#[doc = $doc])*
        pub(crate) enum $name {
            $($(#[doc = $about])* $variant($fields),)*
        }

        impl $crate::read::Fields for $name {
            fn take(
                keys: &mut $crate::read::Keys<'_>,
                faults: &mut $crate::faults::Faults<'_>,
            ) -> Option<Self> {
                type Take = fn(
                    &mut $crate::read::Keys<'_>,
                    &mut $crate::faults::Faults<'_>,
                ) -> Option<$name>;
                const KINDS: &[(&str, Take)] = &[$((
                    $word,
                    |keys, faults| {
                        <$fields as $crate::read::Fields>::take(keys, faults).map($name::$variant)
                    },
                )),*];
                let default = None$(.or(Some($default)))?;
                let Some(take) = keys.take_kind($key, default, KINDS, faults) else {
                    keys.forgive();
                    return None;
                };
                keys.mention($key, <Self as $crate::read::Kinds>::kinds);
                take(keys, faults)
            }

            fn names() -> Vec<&'static str> {
                let mut names = vec![$key];
                $(names.extend(<$fields as $crate::read::Fields>::names());)*
                names
            }

            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let default: Option<&str> = None$(.or(Some($default)))?;
                let kinds = [$((
                    $word,
                    concat!($($about),*),
                    <$fields as $crate::read::Fields>::schema(generator),
                )),*];
                $crate::read::kinds_schema($key, default, kinds)
            }
        }

        impl $crate::read::Kinds for $name {
            fn kinds() -> Vec<(&'static str, Vec<&'static str>)> {
                vec![$(($word, <$fields as $crate::read::Fields>::names())),*]
            }
        }

        $crate::read::closed_table!($name, concat!($($doc),*));
    };
}
pub(super) use kinds;

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
    /// Adds one key.
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
    fn described(&mut self, name: &str, mut schema: Schema, about: &str, default: Option<serde_json::Value>) {
        schema.insert("description".into(), about.into());
        if let Some(default) = default {
            schema.insert("default".into(), default);
        }
        self.properties.insert(name.to_owned(), schema.into());
    }

    /// The description.
    pub(super) fn schema(self) -> Schema {
        let Self { properties, required } = self;
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

/// One of several objects, selected by the word at `key`.
pub(super) fn kinds_schema<'a>(
    key: &str,
    default: Option<&str>,
    kinds: impl IntoIterator<Item = (&'a str, &'a str, Schema)>,
) -> Schema {
    let alternatives = kinds.into_iter().map(|(word, about, mut schema)| {
        schema.insert("description".into(), about.trim().into());
        let properties =
            schema.ensure_object().entry("properties").or_insert_with(|| json_schema!({}).into());
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(key.to_owned(), serde_json::json!({ "const": word }));
        }
        if let Some(required) = schema.get_mut("required").and_then(|required| required.as_array_mut())
            && default != Some(word)
        {
            required.push(key.into());
        }
        schema
    });
    let mut schema = json_schema!({ "type": "object", "oneOf": alternatives.collect::<Vec<_>>() });
    if let Some(default) = default {
        schema.insert("properties".into(), serde_json::json!({ key: { "default": default } }));
    }
    schema
}

/// Records that `node` is not an allowed value.
pub(super) fn wrong<T>(node: &Node, path: &str, allowed: &str, faults: &mut Faults<'_>) -> Option<T> {
    faults.push(Fault::at(node.origin, path, format!("found {}, allowed: {allowed}", node.value)));
    None
}

/// `"a", "b"` and so on.
pub(super) fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

/// The path of a key in the table at `path`.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// No keys at all.
pub(super) struct NoKeys;

impl Fields for NoKeys {
    fn take(_: &mut Keys<'_>, _: &mut Faults<'_>) -> Option<Self> {
        Some(Self)
    }

    fn names() -> Vec<&'static str> {
        Vec::new()
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        Object::default().schema()
    }
}

impl<T: Fields> Fields for Box<T> {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        T::take(keys, faults).map(Self::new)
    }

    fn names() -> Vec<&'static str> {
        T::names()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }
}

/// A table made of two groups of keys.
pub(super) struct Both<A, B>(pub(super) A, pub(super) B);

impl<A: Fields, B: Fields> Fields for Both<A, B> {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let (a, b) = (A::take(keys, faults), B::take(keys, faults));
        Some(Self(a?, b?))
    }

    fn names() -> Vec<&'static str> {
        [A::names(), B::names()].concat()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "allOf": [A::schema(generator), B::schema(generator)] })
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
