//! Movements read from an ns-2 file can be written, and read back unchanged.

use multihop_fuzz::{arbitrary, assert_same_paths};
use multihop_radio::mobility::ns2;

pub fn fuzz(data: &[u8]) {
    let Some(text) = arbitrary::<&str>(data) else { return };
    let Ok(paths) = ns2::read(text) else { return };
    let mut written = Vec::new();
    ns2::write(&paths, &mut written).expect("writing to a Vec cannot fail");
    let written = String::from_utf8(written).expect("the output is ASCII");
    assert_same_paths(&paths, &ns2::read(&written).expect("the output can be read"));
}
