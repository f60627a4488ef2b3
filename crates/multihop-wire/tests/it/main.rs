//! What this crate writes, read by others.

mod aodv;
mod dsr;
mod olsr;
#[path = "../../../multihop-sim/src/trace/pcapng.rs"]
mod pcapng;
mod tshark;
