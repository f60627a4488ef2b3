//! Datagrams of a group: a member accepts each datagram of another member once, and counts forged, repeated and
//! malformed ones.

use multihop_apps::fuzzing::group;

pub fn fuzz(data: &[u8]) {
    group(data);
}
