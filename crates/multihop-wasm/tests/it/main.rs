//! Integration tests of the view: its records are the run.

mod counts;
mod extension;
mod frames;
mod module;
mod routes;

/// Numbers in a record of the view.
const WORDS: usize = 12;
