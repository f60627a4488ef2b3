//! The files of keys, which users edit: any contents are read or refused, and lines are added and removed one by one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_net::fuzzing::known_peers;

fuzz_target!(|data: &[u8]| known_peers(data));
