//! The JSON Schema with the names and keys of user-defined protocols.

use serde_json::{Value, json};

use super::extension::{Entry, Extensions, NewTransport, RoutingRow};
use super::read::describe;
use super::schema::schema;
use super::transport::control_schema;

/// The schema with the user-defined protocols of a program.
pub fn schema_with(extensions: &Extensions) -> Value {
    let mut schema = schema();
    let routing = protocols(&mut schema["properties"]["routing"]).expect("[routing] has protocols");
    routing.extend(extensions.routing.iter().map(routing_schema));
    let names = extensions.transports.iter().map(|entry| entry.extension.name.into());
    alternatives(&mut schema["$defs"]["TransportName"]["enum"]).extend(names);
    let tables = extensions.transports.iter().map(transport_schema);
    alternatives(&mut schema["$defs"]["TransportTable"]["anyOf"]).extend(tables);
    let words = extensions.series().into_iter().map(|series| Value::from(series.word()));
    schema["properties"]["record"]["properties"]["what"]["items"]["enum"] = words.collect();
    for &entry in &extensions.controls {
        let (names, table) = control_schema(entry);
        let names = names.into_iter().map(Value::from);
        alternatives(&mut schema["$defs"]["TransportName"]["enum"]).extend(names);
        alternatives(&mut schema["$defs"]["TransportTable"]["anyOf"]).push(table.into());
    }
    schema
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
