//! Internals for fuzz targets. Compiled only with `--cfg fuzzing`, which `tools/fuzz.sh` sets.

use std::fs;
use std::path::PathBuf;

use crate::keys::{AuthorizedKeys, KeyCheck, KnownPeers, PublicKey};

/// Checks that a new peer can be added to and removed from the two files of keys with these contents, and that nothing
/// else changes.
pub fn known_peers(bytes: &[u8]) {
    let path = scratch("keys").join("known_peers");
    fs::write(&path, bytes).expect("room for a file");
    let _ = AuthorizedKeys::load(&path);
    let Ok(known) = KnownPeers::load(&path) else { return };
    let (before, name) = (known.entries(), "new.example:7450");
    let key = PublicKey::from_bytes([7; 32]);
    if known.check(name, key) != KeyCheck::New {
        return;
    }
    known.remember(name, key).expect("it is new");
    let after = KnownPeers::load(&path).expect("a line was added").entries();
    assert_eq!(after.split_last(), Some((&(name.to_owned(), key), &before[..])));
    assert_eq!(known.forget(name).expect("the file is there"), 1);
    assert_eq!(KnownPeers::load(&path).expect("a line was removed").entries(), before);
}

/// A folder of this process, in memory if the system has such a place.
fn scratch(name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let place = base.join(format!("multihop-fuzz-{}-{name}", std::process::id()));
    fs::create_dir_all(&place).expect("room for a folder");
    place
}
