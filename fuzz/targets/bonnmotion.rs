//! Movements read from a BonnMotion file can be written, and read back unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_fuzz::assert_same_paths;
use multihop_radio::mobility::bonnmotion;

fuzz_target!(|text: &str| {
    let Ok(paths) = bonnmotion::read(text) else { return };
    let mut written = Vec::new();
    bonnmotion::write(&paths, &mut written).expect("writing to a Vec cannot fail");
    let written = String::from_utf8(written).expect("the output is ASCII");
    assert_same_paths(&paths, &bonnmotion::read(&written).expect("the output can be read"));
});
