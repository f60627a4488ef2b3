//! Daemons in network namespaces.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod babel;
mod daemons;
mod delays;
mod floods;
mod ipv6;
mod layouts;
mod network;
mod olsrv2;
mod on_demand;
mod reserved;
