//! What is read as movements of ns-2 survives being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_fuzz::assert_same_paths;
use multihop_radio::mobility::ns2;

fuzz_target!(|text: &str| {
    let Ok(paths) = ns2::read(text) else { return };
    let mut written = Vec::new();
    ns2::write(&paths, &mut written).expect("a Vec takes everything");
    let written = String::from_utf8(written).expect("the output is ASCII");
    assert_same_paths(&paths, &ns2::read(&written).expect("the output can be read"));
});
