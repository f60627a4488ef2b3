//! File transfers: a parsed message emits the same bytes, and no input breaks either end of a transfer.

use multihop_apps::fuzzing::files;

pub fn fuzz(data: &[u8]) {
    files(data);
}
