//! Integration tests of the view: its records are the run.

mod counts;
mod frames;
mod module;
