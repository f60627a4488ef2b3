//! Messages of `perf`: a parsed message emits the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_apps::fuzzing::perf;

fuzz_target!(|data: &[u8]| perf(data));
