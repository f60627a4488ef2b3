//! A parsed document in which every value records its position in the source.

mod json;
mod toml;

use core::fmt;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::nearest::nearest;
use super::problem::{Place, Position, Problem, Problems};

/// A scenario as text.
#[derive(Clone, Debug)]
pub enum Source {
    /// Source in TOML, the format of scenario files.
    Toml {
        /// Text of the TOML document.
        text: String,
        /// Name for messages; files named in the document are in the same folder.
        name: String,
    },
    /// Source in JSON, with the structure of scenario files, from programs.
    Json {
        /// Text of the JSON document.
        text: String,
        /// Name for messages; files named in the document are in the same folder.
        name: String,
    },
}

/// Kind of document: a scenario, a network for an emulation, or the configuration of a routing daemon.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Contents {
    /// A scenario with its traffic.
    Scenario,
    /// A network for an emulation, whose traffic comes from real programs.
    Network,
    /// The configuration of a routing daemon.
    Router,
}

impl Source {
    /// Reads a scenario file: JSON if its name ends in `.json`, TOML otherwise.
    pub fn from_file(path: &Path) -> Result<Self, Problems> {
        let name = path.display().to_string();
        let text = read_text(path, LONGEST).map_err(|message| Problems::of_file(&name, "", message))?;
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        Ok(if is_json { Self::Json { text, name } } else { Self::Toml { text, name } })
    }

    /// Reads a scenario, which is JSON if it begins with a brace, as no TOML document does. Files named in it
    /// are in the current folder.
    pub fn from_reader(reader: impl Read, name: &str) -> Result<Self, Problems> {
        let name = name.to_owned();
        let text = read_all(reader, LONGEST).map_err(|message| Problems::of_file(&name, "", message))?;
        let is_json = text.trim_start().starts_with('{');
        Ok(if is_json { Self::Json { text, name } } else { Self::Toml { text, name } })
    }

    /// Name of the document in messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Toml { name, .. } | Self::Json { name, .. } => name,
        }
    }

    /// Kind of the document, by its keys; a document with syntax errors counts as a scenario.
    pub fn contents(&self) -> Contents {
        let Ok(Node { value: Value::Table(root), .. }) = self.parse() else { return Contents::Scenario };
        let has = |keys: &[&str]| keys.iter().any(|key| root.contains_key(*key));
        if !has(&["topology", "duration"]) && has(&ROUTER_KEYS) {
            Contents::Router
        } else if has(&["emulation"]) && !has(&["flow", "program", "traffic"]) {
            Contents::Network
        } else {
            Contents::Scenario
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Toml { text, .. } | Self::Json { text, .. } => text,
        }
    }

    /// The document's root table, or its syntax errors.
    pub(super) fn parse(&self) -> Result<Node, Vec<Fault>> {
        let length = self.text().len();
        if length > LONGEST {
            let message = format!("found {length} bytes, allowed: up to {LONGEST}");
            return Err(vec![Fault::at(Origin::Unplaced, "", message)]);
        }
        match self {
            Self::Toml { text, .. } => toml::document(text),
            Self::Json { text, .. } => json::document(text),
        }
    }

    /// Converts faults into problems with line and column.
    pub(super) fn problems(
        &self,
        root: Option<&Node>,
        faults: Vec<Fault>,
        overrides: &[(String, String)],
    ) -> Problems {
        let text = self.text();
        let lines: Vec<usize> =
            core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let place = |origin| match origin {
            Origin::Unplaced => Place::Text { name: self.name().to_owned(), at: None },
            Origin::Text(start, end) => {
                let line = lines.partition_point(|&begin| begin <= start).max(1);
                let before = text.get(lines[line - 1]..start).unwrap_or_default();
                let at = Position { line, column: before.chars().count() + 1, span: start..end };
                Place::Text { name: self.name().to_owned(), at: Some(at) }
            }
            Origin::Override(index) => {
                let (key, value) = &overrides[index];
                Place::Override { text: format!("{}={}", shorten(key), shorten(value)) }
            }
        };
        let origin_of = |key: &str| root.map_or(Origin::Unplaced, |root| root.nearest(key).origin);
        let problem = |fault: Fault| {
            let origin = fault.origin.unwrap_or_else(|| origin_of(&fault.key));
            let Fault { key, message, suggestion, .. } = fault;
            Problem { place: place(origin), key, message, suggestion }
        };
        Problems::new(faults.into_iter().map(problem).collect(), text)
    }
}

/// Value of the document, with its position for messages.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) origin: Origin,
    pub(super) value: Value,
}

/// Type and content of a value in a document.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Bool(bool),
    Array(Vec<Node>),
    Table(Table),
    /// Value that no key allows: a date, a null, or an integer out of range. Contains its description for
    /// messages.
    Strange(&'static str),
}

/// Keys and values of a table; `rank` is the position in the text.
pub(super) type Table = BTreeMap<String, Entry>;

/// One key of a table.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) origin: Origin,
    pub(super) rank: usize,
    pub(super) node: Node,
}

/// Origin of a value in the document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// Byte offsets of the value's beginning and end in the text.
    Text(usize, usize),
    /// Index of the override in the list of overrides.
    Override(usize),
    /// No position: JSON values and defaults have none.
    Unplaced,
}

/// A problem whose line and column are not yet known.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// Origin of the fault; `None` stands for the position of `key` in the document.
    pub(super) origin: Option<Origin>,
    pub(super) key: String,
    pub(super) message: String,
    /// Word that the user probably meant.
    pub(super) suggestion: Option<String>,
}

impl Fault {
    pub(super) fn at(origin: Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { origin: Some(origin), ..Self::at_key(key, message) }
    }

    /// A fault of the value at `key`, found after reading.
    pub(super) fn at_key(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { origin: None, key: key.into(), message: message.into(), suggestion: None }
    }

    /// Adds a suggestion: the word among `known` that is most similar to `found`.
    pub(super) fn perhaps<'a>(mut self, found: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestion = nearest(found, known).map(str::to_owned);
        self
    }
}

impl Node {
    /// Node for a default value, given as JSON.
    pub(super) fn default(json: &serde_json::Value) -> Self {
        json::node(json)
    }

    /// Parses the value of an override: TOML, or else a bare string.
    pub(super) fn from_override(text: &str, index: usize) -> Self {
        toml::value(text, Origin::Override(index))
    }

    /// The value at a dotted path, or the nearest table around it.
    pub(super) fn nearest(&self, path: &str) -> &Self {
        let mut node = self;
        for part in path.split('.') {
            let next = match &node.value {
                Value::Table(table) => table.get(part).map(|entry| &entry.node),
                Value::Array(items) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }
}

/// Writes the value as messages show it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{:?}", shorten(text)),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x:?}"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Array(items) if items.is_empty() => f.write_str("an empty array"),
            Self::Array(_) => f.write_str("an array"),
            Self::Table(_) => f.write_str("a table"),
            Self::Strange(what) => f.write_str(what),
        }
    }
}

/// The text of a file, or an error message if it is longer than `longest` bytes.
pub(super) fn read_text(path: &Path, longest: usize) -> Result<String, String> {
    read_all(File::open(path).map_err(|error| error.to_string())?, longest)
}

fn read_all(reader: impl Read, longest: usize) -> Result<String, String> {
    let mut bytes = Vec::new();
    // The length in the metadata is unreliable: devices report none and may be endless.
    reader.take(longest as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > longest {
        return Err(format!("found more than {longest} bytes, allowed: up to {longest}"));
    }
    String::from_utf8(bytes).map_err(|_| "found bytes that are not UTF-8".to_owned())
}

/// Shortens `text` to at most 60 characters.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Length of the longest document, in bytes. 100 000 positions take 2 MB.
const LONGEST: usize = 16 << 20;
/// Keys that configurations of routing daemons have, and scenarios do not.
const ROUTER_KEYS: [&str; 12] = [
    "interfaces",
    "ipv6",
    "group",
    "announce",
    "neighbors",
    "within",
    "key",
    "table",
    "priority",
    "forward",
    "user",
    "on_demand",
];
