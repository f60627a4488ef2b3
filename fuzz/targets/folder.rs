//! A transfer into a folder, with a sender that sends any bytes: nothing outside of the folder changes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_apps::fuzzing::folder;

fuzz_target!(|data: &[u8]| folder(data));
