//! Internals for fuzz targets. Compiled only with `--cfg fuzzing`, which `tools/fuzz.sh` sets.

use std::fs;
use std::path::PathBuf;

use tokio::io::{join, sink};
use tokio::runtime::{Builder, Runtime};

use crate::files::{self, Options, Sources, Target, receive, send};
use crate::{code, perf, spread, tunnel};

/// Fuzzes a message of a file transfer, and both ends of a transfer with a peer that sends these bytes.
pub fn files(bytes: &[u8]) {
    if let Some((&kind, body)) = bytes.split_first() {
        files::check(kind, body);
    }
    block_on(async {
        let target = Target::Stream(Box::new(sink()));
        let received = receive(join(bytes, sink()), target, Options::default(), &mut |_| ()).await;
        assert!(received.is_err() || bytes.len() > "multihop files".len(), "files without input");
        let mut sources = Sources::new();
        sources.add_stream("a", Box::new(&b"text"[..])).expect("a valid name");
        let sent = send(join(bytes, sink()), sources, Options::default(), &mut |_| ()).await;
        assert!(sent.is_err() || sent.is_ok_and(|sent| sent.moved == 4));
    });
}

/// A message of a measurement.
pub fn perf(bytes: &[u8]) {
    perf::check(bytes);
}

/// Fuzzes the input of both ends of a code.
pub fn code(bytes: &[u8]) {
    block_on(code::check(bytes));
}

/// Reads these bytes as the request of a SOCKS5 client.
pub fn socks(bytes: &[u8]) {
    block_on(tunnel::check_socks(bytes));
}

/// Fuzzes a member of a group with datagrams of other members.
pub fn group(bytes: &[u8]) {
    spread::check(bytes);
}

/// Runs a receiver with a folder against a sender that sends these bytes; nothing outside of the folder may
/// change.
pub fn folder(bytes: &[u8]) {
    let place = scratch("folder");
    let inbox = place.join("inbox");
    fs::create_dir_all(&inbox).expect("room for a folder");
    fs::write(place.join("canary"), "unchanged").expect("room for a file");
    block_on(async {
        let target = Target::Folder(inbox.clone());
        let received = receive(join(bytes, sink()), target, Options::default(), &mut |_| ()).await;
        assert!(received.is_err() || bytes.len() > "multihop files".len(), "files without input");
    });
    let mut names: Vec<_> =
        fs::read_dir(&place).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["canary", "inbox"]);
    assert_eq!(fs::read(place.join("canary")).expect("it is there"), b"unchanged");
    fs::remove_dir_all(&inbox).expect("it is a folder");
}

/// Fuzzes the input of both ends of a tunnel.
pub fn tunnel(bytes: &[u8]) {
    block_on(tunnel::check(bytes));
}

/// Folder of this process for temporary files, in memory if the system has a file system for that.
fn scratch(name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let place = base.join(format!("multihop-fuzz-{}-{name}", std::process::id()));
    fs::create_dir_all(&place).expect("room for a folder");
    place
}

fn block_on(work: impl Future<Output = ()>) {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(work));
}
