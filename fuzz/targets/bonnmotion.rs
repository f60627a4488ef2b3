//! Movements read from a BonnMotion file can be written, and read back unchanged.

use multihop_fuzz::{arbitrary, assert_same_paths};
use multihop_radio::mobility::bonnmotion;

pub fn fuzz(data: &[u8]) {
    let Some(text) = arbitrary::<&str>(data) else { return };
    let Ok(paths) = bonnmotion::read(text) else { return };
    let mut written = Vec::new();
    bonnmotion::write(&paths, &mut written).expect("writing to a Vec cannot fail");
    let written = String::from_utf8(written).expect("the output is ASCII");
    assert_same_paths(&paths, &bonnmotion::read(&written).expect("the output can be read"));
}
