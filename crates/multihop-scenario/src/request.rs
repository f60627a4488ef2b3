//! Request for a run: the text of a scenario and its overrides. Together with the build they determine the
//! run.

use serde::{Deserialize, Serialize};

use crate::document::Source;

/// A scenario's text with its overrides, as it is written into result folders, recordings and pages.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Request {
    /// Text of the scenario: TOML, or JSON if `json` is set.
    text: String,
    #[serde(default)]
    json: bool,
    /// Name of the scenario in messages.
    name: String,
    /// Overrides as dotted paths and values.
    #[serde(default)]
    pub overrides: Vec<(String, String)>,
}

impl Request {
    /// Creates the request for a scenario with overrides.
    pub fn new(source: &Source, overrides: &[(String, String)]) -> Self {
        let (text, name, json) = match source {
            Source::Toml { text, name } => (text, name, false),
            Source::Json { text, name } => (text, name, true),
        };
        Self { text: text.clone(), json, name: name.clone(), overrides: overrides.to_vec() }
    }

    /// The scenario without the overrides.
    pub fn source(&self) -> Source {
        let (text, name) = (self.text.clone(), self.name.clone());
        if self.json { Source::Json { text, name } } else { Source::Toml { text, name } }
    }
}
