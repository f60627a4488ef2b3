//! How signals end the programs, and how they make listeners read their keys again.

use std::io::Write;

use super::super::{multihop, stdout};
use super::*;

fn signal(running: &Running, name: &str) {
    let id = running.child.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

fn services(folder: &Folder) -> [Running; 4] {
    let start = |args: &[&str]| Running::new(folder, &[args, &["--plain"]].concat());
    let mut gateway = start(&["tunnel", "--listen", "127.0.0.1:0", "--allow", "localhost:9"]);
    let at = gateway.address();
    let mut near = start(&["tunnel", &at, "--forward", "127.0.0.1:0:localhost:9"]);
    assert!(near.line().contains(" -> "));
    let mut receiver = start(&["recv", "--to", "inbox", "--listen", "127.0.0.1:0"]);
    let mut perf = start(&["perf", "--listen", "127.0.0.1:0"]);
    receiver.address();
    perf.address();
    [gateway, near, receiver, perf]
}

#[test]
fn services_exit_with_0_after_sigterm_and_with_130_after_an_interrupt() {
    let folder = Folder::new("services");
    for mut service in services(&folder) {
        signal(&service, "-TERM");
        let said = service.end(SOON);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), UNPROTECTED), "{said:?}");
    }
    for mut service in services(&folder) {
        service.interrupt();
        let said = service.end(SOON);
        assert!(said.code == Some(130) && said.stderr.ends_with("multihop: interrupted\n"), "{said:?}");
    }
}

#[test]
fn unfinished_work_that_sigterm_ends_is_no_success() {
    let folder = Folder::new("unfinished");
    let usual = ["recv", "--listen", "127.0.0.1:0", "--plain"];
    for more in [&["--to", "inbox", "--once"][..], &["--to", "-"]] {
        let mut receiver = Running::new(&folder, &[&usual[..], more].concat());
        receiver.complains("--plain: no protection");
        if more.contains(&"--once") {
            receiver.address();
        } else {
            receiver.complains("listening on ");
        }
        signal(&receiver, "-TERM");
        assert_eq!(receiver.end(SOON).code, Some(143), "{more:?}");
    }
}

/// A receiver with a key, and two callers with authorised keys.
fn with_keys(folder: &Folder) -> (Running, String) {
    for name in ["alice", "bob", "carol"] {
        let key = stdout(&multihop(folder, &["keygen", name])).trim().to_owned();
        if name != "alice" {
            Running::new(folder, &["keys", "add", "authorized", &key, name]).succeeds();
        }
    }
    let args = ["recv", "-v", "--to", "inbox", "--listen", "127.0.0.1:0", "--key", "alice"];
    let mut receiver = Running::new(folder, &args);
    let to = receiver.address();
    (receiver, to)
}

#[test]
fn a_listener_reads_its_keys_again_and_ends_the_connections_of_keys_that_are_gone() {
    let folder = Folder::new("reload").with("note", "hello\n");
    let (receiver, to) = with_keys(&folder);
    let stream = |name: &str| {
        let args = ["send", "-", &to, "--key", name, "--name", name];
        let mut sender = Running::new(&folder, &args);
        let mut input = sender.child.stdin.take().unwrap();
        input.write_all(b"one ").unwrap();
        (sender, input)
    };
    let begun = |count: usize| {
        until(|| {
            let parts = std::fs::read_dir(folder.path().join("inbox")).into_iter().flatten();
            let full =
                |part: std::io::Result<std::fs::DirEntry>| part.unwrap().metadata().unwrap().len() == 4;
            parts.filter(|_| true).map(full).filter(|is| *is).count() == count
        });
    };
    let (mut bob, _bobs) = stream("bob");
    begun(1);
    let (mut carol, mut carols) = stream("carol");
    begun(2);
    Running::new(&folder, &["keys", "remove", "authorized", "bob"]).succeeds();
    signal(&receiver, "-HUP");
    receiver.complains("keys reloaded connections_ended=1");
    let said = bob.end(SOON);
    assert!(said.code == Some(1) && said.stderr.contains("connection reset by the peer"), "{said:?}");
    let again = Running::new(&folder, &["send", "note", &to, "--key", "bob"]).end(SOON);
    assert!(again.stderr.contains("the listener does not accept this end's key"), "{again:?}");
    carols.write_all(b"and all").unwrap();
    drop(carols);
    carol.succeeds();
    assert_eq!(folder.read("inbox/carol"), "one and all");
    // A file that cannot be read changes nothing.
    std::fs::write(folder.path().join("data/multihop/authorized_keys"), "no key\n").unwrap();
    signal(&receiver, "-HUP");
    receiver.complains("keys not reloaded");
    Running::new(&folder, &["send", "note", &to, "--key", "carol"]).succeeds();
}

#[test]
fn sigterm_during_a_transfer_tells_the_sender_and_keeps_what_has_arrived() {
    let folder = Folder::new("term");
    let args = ["recv", "--to", "inbox", "--listen", "127.0.0.1:0", "--plain"];
    let mut receiver = Running::new(&folder, &args);
    let to = receiver.address();
    std::fs::write(folder.path().join("large"), vec![7; 200_000_000]).unwrap();
    let mut sender = Running::new(&folder, &["send", "large", &to, "--plain", "--patience", "5"]);
    let has_part = || {
        let parts = std::fs::read_dir(folder.path().join("inbox")).into_iter().flatten();
        parts.filter_map(|part| part.ok()?.metadata().ok()).any(|part| part.len() > 1_000_000)
    };
    until(has_part);
    signal(&receiver, "-TERM");
    assert_eq!(receiver.end(SOON).code, Some(0));
    // The sender dials again until its patience is exhausted.
    assert_eq!(sender.end(SOON).code, Some(1));
    assert!(has_part(), "the next transfer continues it");
}
