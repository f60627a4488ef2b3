//! What is said about files: a message that is read survives being written, and neither end of a transfer
//! is disturbed by another that says anything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_net::fuzzing::files;

fuzz_target!(|data: &[u8]| files(data));
