//! The JSON Schema of scenario files, generated from the tables that read them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::tables::ScenarioTable;

/// The schema, for editors and other programs.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ScenarioTable>();
    schema.insert("title".into(), "multihop scenario".into());
    schema.insert("description".into(), "A simulation of a wireless multihop network.".into());
    schema.into()
}

/// Path of a key, for a key written at the root by mistake; `None` unless exactly one table has this key.
pub(crate) fn path_of(key: &str) -> Option<&'static str> {
    PATHS.get(key)?.as_deref()
}

/// The paths of the keys of all tables; `None` for keys that several tables have.
static PATHS: LazyLock<BTreeMap<String, Option<String>>> = LazyLock::new(|| {
    let schema = schema();
    let mut paths = BTreeMap::new();
    for (name, table) in schema["properties"].as_object().expect("a scenario has tables") {
        let items = table.get("items");
        let prefix = if items.is_some() { format!("{name}.*") } else { name.clone() };
        let mut keys = BTreeSet::new();
        collect_keys(items.unwrap_or(table), &schema["$defs"], &mut keys);
        for key in keys {
            let path = Some(format!("{prefix}.{key}"));
            paths.entry(key).and_modify(|path| *path = None).or_insert(path);
        }
    }
    paths
});

/// The keys of a table and of its alternatives.
fn collect_keys(table: &Value, definitions: &Value, keys: &mut BTreeSet<String>) {
    let definition = table.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next());
    let lists =
        ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|list| table.get(list)?.as_array()).flatten();
    keys.extend(
        table.get("properties").and_then(Value::as_object).into_iter().flat_map(|own| own.keys().cloned()),
    );
    for part in definition.map(|name| &definitions[name]).into_iter().chain(lists) {
        collect_keys(part, definitions, keys);
    }
}
