//! Conversion of JSON text into the nodes of a document.

use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Entry, Fault, Node, Origin, Table, Value};

/// The root object, or the syntax error.
pub(super) fn document(text: &str) -> Result<Node, Vec<Fault>> {
    let node: Node = serde_json::from_str(text).map_err(|error| {
        let lines_before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let at: usize = lines_before.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        vec![Fault::at(Origin::Text(at, at), "", error.to_string())]
    })?;
    match node.value {
        Value::Table(_) => Ok(node),
        other => Err(vec![Fault::at(Origin::Unplaced, "", format!("found {other}, allowed: an object"))]),
    }
}

/// A value that is JSON already.
pub(super) fn node(json: &serde_json::Value) -> Node {
    Node::deserialize(json).expect("every JSON value is a node")
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = deserializer.deserialize_any(ValueVisitor)?;
        Ok(Self { origin: Origin::Unplaced, value })
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Integer(n.into()))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(Value::Integer(n.into()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(Value::Float(x))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Strange("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut table = Table::new();
        while let Some((key, node)) = entries.next_entry::<String, Node>()? {
            let entry = Entry { origin: Origin::Unplaced, rank: table.len(), node };
            if table.contains_key(&key) {
                return Err(serde::de::Error::custom(format_args!("duplicate key {key:?}")));
            }
            table.insert(key, entry);
        }
        Ok(Value::Table(table))
    }
}
