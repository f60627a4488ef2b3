//! Endpoints from outside: packet scripts, properties, operation fuzzing.

mod connection;
mod losses;
mod mesh;
mod opened;
mod tcp;
mod tpa;
