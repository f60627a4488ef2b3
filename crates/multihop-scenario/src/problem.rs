//! Problems of a scenario: place, found value and allowed values.

use core::fmt;
use core::ops::Range;

/// One problem of a scenario.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The file, or the text of the override.
    pub place: Place,
    /// Dotted path of the key; empty for the document itself.
    pub key: String,
    /// Value that was found and values that are allowed.
    pub message: String,
    /// Word that the user probably meant.
    pub suggestion: Option<String>,
}

/// Location of a problem.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// The problem is in the text of the document.
    Text {
        /// Name of the scenario's file.
        name: String,
        /// Position of the value; `None` where the text has no positions (JSON from a program).
        at: Option<Position>,
    },
    /// The problem is in an override of the command line.
    Override {
        /// Text of the override as `key=value`.
        text: String,
    },
}

/// A part of the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Position {
    /// Line of the first character, from 1.
    pub line: usize,
    /// Column of the first character, from 1.
    pub column: usize,
    /// Range of bytes in the document.
    pub span: Range<usize>,
}

/// All problems of a scenario, in the order of the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problems {
    list: Vec<Problem>,
    unlisted: usize,
    text: String,
}

impl Problems {
    /// The first hundred problems.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// Number of problems that are not listed.
    pub const fn unlisted(&self) -> usize {
        self.unlisted
    }

    /// The text that positions refer to.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A single problem, without a position, of a file or of one of its keys.
    pub fn of_file(name: &str, key: &str, message: impl Into<String>) -> Self {
        let place = Place::Text { name: name.to_owned(), at: None };
        let problem = Problem { place, key: key.to_owned(), message: message.into(), suggestion: None };
        Self { list: vec![problem], unlisted: 0, text: String::new() }
    }

    /// Adds the word that the user probably meant.
    pub(crate) fn perhaps(mut self, suggestion: Option<&str>) -> Self {
        for problem in &mut self.list {
            problem.suggestion = suggestion.map(str::to_owned);
        }
        self
    }

    /// Sorts problems in the order of the text, overrides last, and keeps at most [`LISTED`].
    pub(crate) fn new(mut list: Vec<Problem>, text: &str) -> Self {
        list.sort_by_key(Problem::order);
        let unlisted = list.len().saturating_sub(LISTED);
        list.truncate(LISTED);
        Self { list, unlisted, text: text.to_owned() }
    }
}

impl Problem {
    fn order(&self) -> (bool, Option<usize>) {
        match &self.place {
            Place::Text { at, .. } => (false, at.as_ref().map(|at| at.span.start)),
            Place::Override { .. } => (true, None),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Text { name, at: Some(at) } => write!(f, "{name}:{}:{}: ", at.line, at.column)?,
            Place::Text { name, at: None } => write!(f, "{name}: ")?,
            Place::Override { text } => write!(f, "override {text}: ")?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(word) => write!(f, ", did you mean {word:?}?"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.list.iter().enumerate() {
            let separator = if n == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        if self.unlisted > 0 {
            write!(f, "\nand {} more", self.unlisted)?;
        }
        Ok(())
    }
}

impl core::error::Error for Problems {}

/// Largest number of problems that are listed.
const LISTED: usize = 100;
