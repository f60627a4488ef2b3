//! Overrides `key=value` that replace values of a document: `--set`, sweep axes, keyword arguments.

use super::document::{Entry, Fault, Node, Origin, Table, Value, shorten};
use crate::faults::Faults;
use crate::nearest::nearest;

/// Applies `overrides` in their order.
pub(crate) fn apply(root: &mut Node, overrides: &[(String, String)], faults: &mut Faults<'_>) {
    for (index, (key, value)) in overrides.iter().enumerate() {
        let origin = Origin::Override(index);
        let parts: Vec<&str> = key.split('.').collect();
        let outcome = if parts.len() > DEEPEST || parts.iter().any(|part| part.is_empty()) {
            Err(("found no key, allowed: names joined by dots, such as radio.rate".to_owned(), None))
        } else {
            set(root, "", &parts, &Node::from_override(value, index), origin)
        };
        if let Err((message, suggestion)) = outcome {
            faults.push(Fault { suggestion, ..Fault::at(origin, shorten(key), message) });
        }
    }
}

/// Error message with the word that the user probably meant.
type Refusal = (String, Option<String>);

fn set(node: &mut Node, path: &str, parts: &[&str], value: &Node, origin: Origin) -> Result<(), Refusal> {
    let Some((&part, rest)) = parts.split_first() else {
        *node = value.clone();
        return Ok(());
    };
    let below = if path.is_empty() { part.to_owned() } else { format!("{path}.{part}") };
    match &mut node.value {
        Value::Table(table) => {
            if !table.contains_key(part) && rest.first().is_some_and(|next| is_index(next)) {
                let meant = nearest(part, table.keys().map(String::as_str)).map(str::to_owned);
                return Err((format!("there is no {below}"), meant));
            }
            let rank = table.values().map(|entry| entry.rank + 1).max().unwrap_or(0);
            let entry = table.entry(part.to_owned()).or_insert_with(|| Entry {
                origin,
                rank,
                node: Node { origin, value: Value::Table(Table::new()) },
            });
            set(&mut entry.node, &below, rest, value, origin)
        }
        Value::Array(items) if part == "*" => {
            items.iter_mut().try_for_each(|item| set(item, &below, rest, value, origin))
        }
        Value::Array(items) => {
            let count = items.len();
            match part.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                Some(item) => set(item, &below, rest, value, origin),
                None => {
                    Err((format!("{path} has {count} entries, allowed: a number below {count}, or *"), None))
                }
            }
        }
        other => Err((format!("{path} is {other}, which has no key {part:?}"), None)),
    }
}

fn is_index(part: &str) -> bool {
    part == "*" || part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Largest number of components of an overridden key; no key of a scenario has more.
const DEEPEST: usize = 16;
