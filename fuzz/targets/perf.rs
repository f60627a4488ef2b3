//! What is said about a measurement: what is read survives being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_net::fuzzing::perf;

fuzz_target!(|data: &[u8]| perf(data));
