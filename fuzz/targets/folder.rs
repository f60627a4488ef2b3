//! A transfer into a folder, with a sender that sends any bytes: nothing outside of the folder changes.

use multihop_apps::fuzzing::folder;

pub fn fuzz(data: &[u8]) {
    folder(data);
}
