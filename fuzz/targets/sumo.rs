//! Movements read from SUMO's output can be written for BonnMotion, and read back unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multihop_fuzz::assert_same_paths;
use multihop_radio::mobility::{bonnmotion, sumo};

fuzz_target!(|text: &str| {
    let Ok(paths) = sumo::read(text, None) else { return };
    let mut written = Vec::new();
    bonnmotion::write(&paths, &mut written).expect("writing to a Vec cannot fail");
    let written = String::from_utf8(written).expect("the output is ASCII");
    assert_same_paths(&paths, &bonnmotion::read(&written).expect("the output can be read"));
});
