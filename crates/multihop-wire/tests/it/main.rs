//! Packets of this crate, parsed by tshark.

mod aodv;
mod capture;
mod dsr;
mod olsr;
#[path = "../../../multihop-sim/src/trace/pcapng.rs"]
mod pcapng;
mod tshark;
