//! What this crate writes, read by others.

#[expect(unreachable_pub, reason = "public where it comes from: the simulator's trace files")]
#[path = "../../../multihop-sim/src/trace/pcapng.rs"]
mod pcapng;
mod tshark;
