//! The keys in which scenarios differ.

use std::collections::{BTreeMap, BTreeSet};

use multihop_scenario::{Problems, Request, canonical};
use serde::Serialize;
use serde_json::Value;

/// A key with different values.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Key {
    /// Dotted path of the key.
    pub(super) key: String,
    /// Value of the key in each scenario; `null` if the scenario leaves it at its default.
    pub(super) values: Vec<Option<String>>,
}

/// Keys whose values differ between the scenarios, overrides included. The name, the seed and the axes of sweeps are
/// left out.
pub(super) fn differing(requests: &[&Request]) -> Result<Vec<Key>, Problems> {
    let of_scenario = |request: &&Request| -> Result<BTreeMap<String, String>, Problems> {
        let text = canonical(&request.source(), &request.overrides)?;
        let document: Value = serde_json::from_str(&text).expect("a canonical document is JSON");
        let mut leaves = BTreeMap::new();
        flatten(String::new(), &document, &mut leaves);
        Ok(leaves)
    };
    let scenarios = requests.iter().map(of_scenario).collect::<Result<Vec<_>, _>>()?;
    let keys: BTreeSet<&String> = scenarios.iter().flat_map(BTreeMap::keys).collect();
    let with_values = keys.into_iter().map(|key| Key {
        key: key.clone(),
        values: scenarios.iter().map(|leaves| leaves.get(key).cloned()).collect(),
    });
    Ok(with_values.filter(|key| key.values.iter().any(|value| *value != key.values[0])).collect())
}

/// The keys of a document by dotted path.
fn flatten(path: String, value: &Value, leaves: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(table) => table.iter().for_each(|(key, value)| flatten(below(key), value, leaves)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let numbered = items.iter().enumerate();
            numbered.for_each(|(index, value)| flatten(below(&index.to_string()), value, leaves));
        }
        leaf => drop(leaves.insert(path, shown(leaf))),
    }
}

/// Text of a value as in the scenario, shortened if it is long.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => {
            format!("{}... ({} bytes, fingerprint {:08x})", &text[..end], text.len(), sum(&text))
        }
        None => text,
    }
}

/// Checksum that distinguishes long values with equal beginnings.
fn sum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Largest number of characters of a value that are shown.
const LONGEST: usize = 60;

#[cfg(test)]
mod tests {
    use multihop_scenario::Source;

    use super::*;

    fn request(text: &str, overrides: &[(&str, &str)]) -> Request {
        let overrides: Vec<_> =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Request::new(&Source::Toml { text: text.to_owned(), name: "a.toml".to_owned() }, &overrides)
    }

    #[test]
    fn keys_with_other_values_are_found() {
        let base = "name = \"a\"\nseed = 4\nduration = 5.0\n[topology]\nkind = \"chain\"\nhops = 3\n\
                    [[flow]]\ntransport = \"newreno\"\n[[flow]]\ntransport = \"tpa-2\"\n";
        let a = request(base, &[]);
        let b = request(base, &[("topology.hops", "4"), ("flow.1.stop", "2.5"), ("seed", "5")]);
        let found = differing(&[&a, &b, &a]).unwrap();
        let key = |key: &str, values: [Option<&str>; 3]| Key {
            key: key.to_owned(),
            values: values.map(|value| value.map(str::to_owned)).into(),
        };
        let expected = [
            key("flow.1.stop", [None, Some("2.5"), None]),
            key("topology.hops", [Some("3"), Some("4"), Some("3")]),
        ];
        assert_eq!(found, expected);
        assert_eq!(differing(&[&a, &a]).unwrap(), []);
    }

    #[test]
    fn long_values_are_shortened_and_still_differ() {
        let long = |end: &str| shown(&Value::from("ä".repeat(100) + end));
        assert_ne!(long("a"), long("b"));
        assert!(long("a").len() < 200);
    }
}
