//! Impaired networks: real sockets behind a relay, and real namespaces.

mod relay;

#[cfg(target_os = "linux")]
mod namespaces;
