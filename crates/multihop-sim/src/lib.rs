//! Virtual time: engine, nodes, scenarios, results.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod results;
pub mod scenario;
