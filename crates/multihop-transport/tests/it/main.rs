//! Endpoints from outside: packet scripts, properties, operation fuzzing.

mod tcp;
mod tpa;
