//! Example scenarios of the project, embedded in the program.

use std::path::Path;

use crate::document::Source;
use crate::nearest::nearest;
use crate::problem::Problems;

/// A scenario that the program contains.
#[derive(Debug)]
pub struct Example {
    /// Name of the example's file, without extension.
    pub name: &'static str,
    /// Contents of the scenario file.
    pub text: &'static str,
}

impl Example {
    /// Packaged scenario of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        EXAMPLES.iter().find(|example| example.name == name)
    }

    /// Name of the example that is most similar to a word.
    pub fn nearest(word: &str) -> Option<&'static str> {
        nearest(word, EXAMPLES.iter().map(|example| example.name))
    }

    /// First sentence of the comment at the top of the example.
    pub fn about(&self) -> String {
        let comment: Vec<_> = self.text.lines().map_while(|line| line.strip_prefix("# ")).collect();
        let comment = comment.join(" ");
        comment.split_once(". ").map_or(comment.trim_end_matches('.'), |(first, _)| first).to_owned()
    }
}

impl Source {
    /// Reads a scenario file, or an example if there is no such file.
    pub fn named(path: &Path) -> Result<Self, Problems> {
        if path.exists() && !path.is_dir() {
            return Self::from_file(path);
        }
        let name = path.display().to_string();
        match Example::find(&name) {
            Some(example) => Ok(Self::Toml { text: example.text.to_owned(), name }),
            None => Self::from_file(path).map_err(|absent| {
                let file = file_like(path);
                absent.perhaps(file.as_deref().or_else(|| Example::nearest(&name)))
            }),
        }
    }
}

/// A file in the same folder whose name resembles that of a missing one.
fn file_like(missing: &Path) -> Option<String> {
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or_else(|| Path::new("."))).ok()?;
    let is_document = |name: &String| name.ends_with(".toml") || name.ends_with(".json");
    let names =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).filter(is_document);
    let names: Vec<_> = names.take(MAX_NAMES).collect();
    let name = nearest(missing.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(folder.map_or_else(|| name.to_owned(), |folder| folder.join(name).display().to_string()))
}

/// Largest number of files whose names are compared with that of a missing one.
const MAX_NAMES: usize = 1000;

/// All packaged scenarios, in the order of their names.
pub const EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));
