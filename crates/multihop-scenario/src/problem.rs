//! What is wrong with a scenario, and where.

use core::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The file, or the override as it was given.
    pub place: Place,
    /// Dotted path of the key; empty for the document itself.
    pub key: String,
    /// What was found and what is allowed.
    pub message: String,
}

/// Where a problem lies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// In the text.
    Text {
        /// Name of the file.
        name: String,
        /// Line and column, from 1; `None` where the text has no positions (JSON from a program).
        at: Option<(usize, usize)>,
    },
    /// In an override.
    Override {
        /// `key=value`.
        text: String,
    },
}

/// Everything that is wrong, in the order of the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problems {
    list: Vec<Problem>,
    unlisted: usize,
}

impl Problems {
    /// The first hundred problems.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// A list of one.
    pub fn one(problem: Problem) -> Self {
        Self { list: vec![problem], unlisted: 0 }
    }

    /// In the order of the text, overrides last; at most [`LISTED`].
    pub(crate) fn new(mut list: Vec<Problem>) -> Self {
        list.sort_by_key(Problem::order);
        let unlisted = list.len().saturating_sub(LISTED);
        list.truncate(LISTED);
        Self { list, unlisted }
    }
}

impl Problem {
    fn order(&self) -> (bool, Option<(usize, usize)>) {
        match &self.place {
            Place::Text { at, .. } => (false, *at),
            Place::Override { .. } => (true, None),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Text { name, at: Some((line, column)) } => write!(f, "{name}:{line}:{column}: ")?,
            Place::Text { name, at: None } => write!(f, "{name}: ")?,
            Place::Override { text } => write!(f, "override {text}: ")?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
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

/// Longest list of problems.
const LISTED: usize = 100;
