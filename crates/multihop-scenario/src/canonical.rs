//! The canonical document: normalised text that identifies a scenario.
//!
//! The document contains the source with its overrides applied, as JSON with sorted keys and without spaces. Paths of
//! files are replaced by the contents of the files. Name, seed, axes of a sweep and real programs are left
//! out. Defaults are not filled in: a scenario that states a default has a different document from one that
//! omits it.

use std::path::{Path, PathBuf};

use serde_json::{Number, Value as Json};

use crate::document::{Node, Source, Value, read_text};
use crate::extension::Extensions;
use crate::faults::Faults;
use crate::problem::Problems;
use crate::{check, overrides};

/// Reads a scenario's canonical document.
pub fn canonical(source: &Source, overrides: &[(String, String)]) -> Result<String, Problems> {
    let mut document = document(source, overrides)?;
    for (key, path) in files_in(&document, source) {
        let contents = read_text(&path, LONGEST).map_err(|message| unreadable(source, &key, message))?;
        if let Some(value) = document.pointer_mut(&pointer(&key)) {
            *value = Json::String(contents);
        }
    }
    if let Json::Object(root) = &mut document {
        root.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
    }
    document.sort_all_objects();
    Ok(document.to_string())
}

/// Contents of the files that a scenario refers to, by their keys.
pub fn files(source: &Source, overrides: &[(String, String)]) -> Result<Vec<(String, PathBuf)>, Problems> {
    Ok(files_in(&document(source, overrides)?, source))
}

fn files_in(document: &Json, source: &Source) -> Vec<(String, PathBuf)> {
    let path = |name: &str| check::in_folder(Path::new(source.name()), name).0;
    let length = |list: &str| document.get(list).and_then(Json::as_array).map_or(0, Vec::len);
    let of_radios = (0..length("radio")).map(|n| format!("radio.{n}.measured.file"));
    let of_hosts = (0..length("host")).flat_map(|n| FILES_OF_HOSTS.map(|key| format!("host.{n}.{key}")));
    let keys = FILES.into_iter().map(str::to_owned).chain(of_radios).chain(of_hosts);
    let file = |key: String| {
        let path = path(document.pointer(&pointer(&key))?.as_str()?);
        Some((key, path))
    };
    keys.filter_map(file).collect()
}

/// The source with its overrides applied.
fn document(source: &Source, overrides: &[(String, String)]) -> Result<Json, Problems> {
    let mut root = source.parse().map_err(|faults| source.problems(None, faults, &[]))?;
    let no_extensions = Extensions::default();
    let mut faults = Faults::new(&no_extensions);
    overrides::apply(&mut root, overrides, &mut faults);
    if faults.is_empty() {
        Ok(json(&root))
    } else {
        Err(source.problems(Some(&root), faults.into_list(), overrides))
    }
}

fn json(node: &Node) -> Json {
    match &node.value {
        Value::Text(text) => Json::String(text.clone()),
        Value::Integer(n) => Number::from_i128(*n).map_or_else(|| n.to_string().into(), Json::Number),
        Value::Float(x) => Number::from_f64(*x).map_or_else(|| x.to_string().into(), Json::Number),
        Value::Bool(b) => Json::Bool(*b),
        Value::Array(items) => items.iter().map(json).collect(),
        Value::Table(table) => table.iter().map(|(key, entry)| (key.clone(), json(&entry.node))).collect(),
        Value::Strange(what) => Json::String((*what).to_owned()),
    }
}

fn pointer(key: &str) -> String {
    format!("/{}", key.replace('.', "/"))
}

fn unreadable(source: &Source, key: &str, message: String) -> Problems {
    Problems::of_file(source.name(), key, message)
}

/// Keys whose values are file names, relative to the scenario's folder.
const FILES: [&str; 5] =
    ["topology.file", "mobility.file", "obstacles.file", "radio.measured.file", "expected.table"];
/// Keys of a host whose values are file names.
const FILES_OF_HOSTS: [&str; 2] = ["trace_to_host", "trace_from_host"];
/// Largest file, bytes; the checks of its contents have lower limits.
const LONGEST: usize = 64 << 20;
/// Root keys that the canonical document leaves out.
const LEFT_OUT: [&str; 4] = ["name", "program", "seed", "sweep"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn toml(text: &str) -> Source {
        Source::Toml { text: text.to_owned(), name: "a.toml".to_owned() }
    }

    #[test]
    fn one_spelling_for_toml_json_and_overrides() {
        let json = r#"{"duration": 10.0, "mac": {"llc": true}, "flow": [{"to": 1, "from": 0}]}"#;
        let json = Source::Json { text: json.to_owned(), name: "b.json".to_owned() };
        let file = "seed = 4\nname = \"x\"\nduration = 9.0\n[[flow]]\nfrom = 0\nto = 1\n[sweep]\nseeds = 2\n";
        let overrides = [("mac.llc", "true"), ("duration", "10.0")];
        let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let document = r#"{"duration":10.0,"flow":[{"from":0,"to":1}],"mac":{"llc":true}}"#;
        assert_eq!(canonical(&json, &[]).unwrap(), document);
        assert_eq!(canonical(&toml(file), &overrides).unwrap(), document);
    }

    #[test]
    fn every_key_that_names_a_file_is_known() {
        let schema = crate::schema().to_string();
        let descriptions = schema.split("\"description\":");
        // The two kinds of movement files share one key and its description.
        let files: BTreeSet<&str> = descriptions
            .filter_map(|text| text.split_once("relative to the scenario's folder"))
            .map(|(about, _)| about)
            .collect();
        assert_eq!(files.len(), FILES.len() + FILES_OF_HOSTS.len(), "{files:?}");
    }

    #[test]
    fn a_missing_file_is_a_problem_of_its_key() {
        let problem = canonical(&toml("[topology]\nfile = \"missing.csv\"\n"), &[]).unwrap_err().to_string();
        assert!(problem.starts_with("a.toml: topology.file: "), "{problem}");
    }
}
