//! Endpoints from outside: packet scripts, properties, operation fuzzing.

mod connection;
mod mesh;
mod tcp;
mod tpa;
