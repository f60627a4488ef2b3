//! Packets of this crate, parsed by tshark.

mod aodv;
mod babel;
mod batman;
mod dsr;
mod hwmp;
mod olsr;
mod olsrv2;
#[path = "../../../multihop-sim/src/trace/pcapng.rs"]
mod pcapng;
mod tshark;
