//! Movements read from an ns-2 file can be written, and read back unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_fuzz::assert_same_paths;
use multihop_radio::mobility::ns2;

fuzz_target!(|text: &str| {
    let Ok(paths) = ns2::read(text) else { return };
    let mut written = Vec::new();
    ns2::write(&paths, &mut written).expect("writing to a Vec cannot fail");
    let written = String::from_utf8(written).expect("the output is ASCII");
    assert_same_paths(&paths, &ns2::read(&written).expect("the output can be read"));
});
