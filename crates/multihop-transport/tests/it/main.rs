//! Endpoints from outside: packet scripts, properties, operation fuzzing.

mod connection;
mod mesh;
mod opened;
mod tcp;
mod tpa;
