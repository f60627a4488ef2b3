//! Endpoints from outside: packet scripts, properties, operation fuzzing.

mod connection;
mod tcp;
mod tpa;
