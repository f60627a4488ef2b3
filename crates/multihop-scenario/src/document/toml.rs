//! Conversion of TOML text into the nodes of a document.

use core::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Entry, Fault, Node, Origin, Table, Value};

/// The root table, or every syntax error.
pub(super) fn document(text: &str) -> Result<Node, Vec<Fault>> {
    if let Some(at) = too_deep(text) {
        return Err(vec![Fault::at(
            Origin::Text(at, at),
            "",
            format!("found more than {DEEPEST} dots in a line"),
        )]);
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node { origin: Origin::Text(0, 0), value: Value::Table(table(root.get_ref(), None)) });
    }
    let fault = |error: &toml::de::Error| {
        let origin = error.span().map_or(Origin::Text(0, 0), in_text);
        Fault::at(origin, "", error.message().trim_end())
    };
    Err(errors.iter().map(fault).collect())
}

/// Parses a single value; text that is not TOML is a string.
pub(super) fn value(text: &str, origin: Origin) -> Node {
    let bare = || Node { origin, value: Value::Text(text.to_owned()) };
    if too_deep(text).is_some() {
        return bare();
    }
    match DeValue::parse(text) {
        Ok(value) => node(&value, Some(origin)),
        Err(_) => bare(),
    }
}

/// Converts a value of a TOML document; `origin` replaces the span if the text is not the document's.
fn node(spanned: &Spanned<DeValue<'_>>, origin: Option<Origin>) -> Node {
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(digits) => i128::from_str_radix(digits.as_str(), digits.radix())
            .map_or(Value::Strange("an integer out of range"), Value::Integer),
        DeValue::Float(digits) => digits.as_str().parse().map_or(Value::Strange("a number"), Value::Float),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(_) => Value::Strange("a date"),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| node(item, origin)).collect()),
        DeValue::Table(entries) => Value::Table(table(entries, origin)),
    };
    Node { origin: origin.unwrap_or_else(|| in_text(spanned.span())), value }
}

const fn in_text(span: Range<usize>) -> Origin {
    Origin::Text(span.start, span.end)
}

fn table(entries: &DeTable<'_>, origin: Option<Origin>) -> Table {
    let entry = |(key, value): (&Spanned<_>, _)| {
        let origin_of_key = origin.unwrap_or_else(|| in_text(key.span()));
        Entry { origin: origin_of_key, rank: key.span().start, node: node(value, origin) }
    };
    entries.iter().map(|(key, value)| (key.get_ref().to_string(), entry((key, value)))).collect()
}

/// Offset of the first line with so many dots that nested tables could exhaust the stack.
fn too_deep(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.len() > DEEPEST && deepest_key(line) > DEEPEST {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Largest number of dots between commas, an upper bound of the dots in one key.
fn deepest_key(line: &str) -> usize {
    line.split([',', '=']).map(|part| part.matches('.').count()).max().unwrap_or(0)
}

/// Largest depth of nested values: far more than a scenario needs, and far less than the stack allows.
const DEEPEST: usize = 100;
