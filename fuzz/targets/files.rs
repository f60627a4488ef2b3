//! File transfers: a parsed message emits the same bytes, and no input breaks either end of a transfer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_apps::fuzzing::files;

fuzz_target!(|data: &[u8]| files(data));
