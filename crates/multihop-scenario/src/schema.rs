//! The JSON Schema of scenario files, from the tables that read them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::extension::{Entry, Extensions, NewTransport, RoutingRow};
use super::read::describe;
use super::tables::ScenarioTable;

/// The schema, for editors and other programs.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ScenarioTable>();
    schema.insert("title".into(), "multihop scenario".into());
    schema.insert("description".into(), "A simulation of a wireless multihop network.".into());
    schema.into()
}

/// The same with user-defined protocols.
pub fn schema_with(extensions: &Extensions) -> Value {
    let mut schema = schema();
    let routing = protocols(&mut schema["properties"]["routing"]).expect("[routing] has protocols");
    routing.extend(extensions.routing.iter().map(routing_schema));
    let names = extensions.transports.iter().map(|entry| entry.extension.name.into());
    alternatives(&mut schema["$defs"]["TransportName"]["enum"]).extend(names);
    let tables = extensions.transports.iter().map(transport_schema);
    alternatives(&mut schema["$defs"]["TransportTable"]["anyOf"]).extend(tables);
    schema
}

/// The path of a key that is written as a key of the root, if one table has a key of this name.
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

/// The alternatives of `[routing]`, each with the keys of one protocol.
fn protocols(schema: &mut Value) -> Option<&mut Vec<Value>> {
    if schema.get("oneOf").is_some() {
        return schema["oneOf"].as_array_mut();
    }
    schema.get_mut("allOf")?.as_array_mut()?.iter_mut().find_map(protocols)
}

fn alternatives(list: &mut Value) -> &mut Vec<Value> {
    list.as_array_mut().expect("the schema of transports lists alternatives")
}

fn transport_schema(entry: &Entry<NewTransport>) -> Value {
    let mut schema = Value::from(describe::schema(&mut [&mut *(entry.make)()]));
    schema["description"] = entry.extension.help.into();
    schema["properties"]["kind"] = json!({ "const": entry.extension.name });
    schema["required"] = json!(["kind"]);
    schema["unevaluatedProperties"] = false.into();
    schema
}

fn routing_schema(row: &RoutingRow) -> Value {
    let mut schema = Value::from(describe::schema_of(|keys| (row.protocol.config)().keys(keys)));
    schema["description"] = row.protocol.help.into();
    schema["properties"]["protocol"] = json!({ "const": row.protocol.name });
    schema["required"] = json!(["protocol"]);
    schema
}
