//! Networks of agents over ideal links, and messages read by tshark.

mod babel;
mod batman;
#[path = "../../../multihop-wire/tests/it/capture.rs"]
mod capture;
#[path = "../../../multihop-routing/tests/it/change.rs"]
mod change;
mod hwmp;
mod keys;
mod olsrv2;
#[path = "../../../multihop-sim/src/trace/pcapng.rs"]
mod pcapng;
mod tshark;
