//! Requests of SOCKS5 clients: no input breaks the near end of a tunnel, and each gets the documented reply.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_apps::fuzzing::socks;

fuzz_target!(|data: &[u8]| socks(data));
