//! The files of keys, which users edit: any contents are read or refused, and lines are added and removed one by one.

use multihop_net::fuzzing::known_peers;

pub fn fuzz(data: &[u8]) {
    known_peers(data);
}
