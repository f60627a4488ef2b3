//! Messages of `perf`: a parsed message emits the same bytes.

use multihop_apps::fuzzing::perf;

pub fn fuzz(data: &[u8]) {
    perf(data);
}
