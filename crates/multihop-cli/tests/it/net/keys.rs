//! Keys of other hosts: whom a user knows, and who may connect.

use std::fs;

use super::super::{multihop, stdout};
use super::*;

/// Creates a key in a file; returns its public key.
fn keygen(folder: &Folder, name: &str) -> String {
    stdout(&multihop(folder, &["keygen", name])).trim().to_owned()
}

fn run(folder: &Folder, args: &[&str]) -> Said {
    Running::new(folder, args).end(SOON)
}

fn recv(folder: &Folder, to: &str, key: &str, more: &[&str]) -> (Running, String) {
    let args = ["recv", "--to", to, "--listen", "127.0.0.1:0", "--key", key];
    let mut receiver = Running::new(folder, &[&args, more].concat());
    let address = receiver.address();
    (receiver, address)
}

#[test]
fn a_listener_that_was_visited_may_not_connect() {
    let folder = Folder::new("visited").with("note", "hello\n");
    let [alice, mallory] = ["alice", "mallory"].map(|name| keygen(&folder, name));
    let (_mallorys, at_mallory) = recv(&folder, "hers", "mallory", &["--peer", &alice]);
    assert_eq!(run(&folder, &["send", "note", &at_mallory, "--key", "alice"]).code, Some(0));
    assert!(folder.read("data/multihop/known_peers").contains(&mallory), "the first contact is stored");
    let (_alices, at_alice) = recv(&folder, "mine", "alice", &[]);
    let attack = ["send", "note", &at_alice, "--key", "mallory", "--peer", &alice, "--patience", "5"];
    let said = run(&folder, &attack);
    assert_eq!(said.code, Some(1), "the listener that was visited is authorised: {said:?}");
    assert!(!folder.path().join("mine/note").exists());
}

#[test]
fn keys_are_listed_added_and_removed() {
    let folder = Folder::new("lists").with("note", "hello\n");
    let [alice, bob] = ["alice", "bob"].map(|name| keygen(&folder, name));
    let keys = |args: &[&str]| run(&folder, &[&["keys"], args].concat());
    assert_eq!(keys(&["add", "authorized", &bob, "bob's laptop"]).code, Some(0));
    let (_receiver, to) = recv(&folder, "inbox", "alice", &[]);
    assert_eq!(keys(&["add", "known", &to, &alice]).code, Some(0));
    let listed = keys(&["list"]).stdout;
    let lines: Vec<_> = listed.lines().collect();
    assert!(lines[0].starts_with("known listeners, in ") && lines[0].ends_with("data/multihop/known_peers:"));
    assert_eq!(lines[1], format!("  {alice}  {to}"));
    assert!(lines[2].ends_with("data/multihop/authorized_keys:"), "{listed}");
    assert_eq!(lines[3], format!("  {bob}  bob's laptop"));
    assert_eq!(run(&folder, &["send", "note", &to, "--key", "bob"]).code, Some(0));
    assert_eq!(keys(&["remove", "known", &to]).code, Some(0));
    assert_eq!(keys(&["remove", "authorized", "bob's laptop"]).code, Some(0));
    assert_eq!(keys(&["list"]).stdout.lines().count(), 2);
    let said = keys(&["remove", "authorized", &bob]);
    assert!(said.code == Some(1) && said.stderr.contains("is not in "), "{said:?}");
    assert_eq!(keys(&["add", "authorized", "tpa-public-x"]).code, Some(2));
}

#[test]
fn a_first_contact_is_reported_under_the_name_as_typed_and_a_changed_key_is_refused() {
    let folder = Folder::new("names").with("note", "hello\n");
    let [alice, bob, eve] = ["alice", "bob", "eve"].map(|name| keygen(&folder, name));
    let (mut receiver, to) = recv(&folder, "inbox", "alice", &["--peer", &bob]);
    assert_eq!(receiver.line(), format!("key: {alice}"));
    let name = to.replace("127.0.0.1", "localhost");
    let send = |more: &[&str]| run(&folder, &[&["send", "note", &name, "--key", "bob", "-q"], more].concat());
    let said = send(&[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let first = format!("first contact with {name}: its key, {alice}");
    assert!(said.stderr.contains(&first), "{said:?}");
    assert_eq!(folder.read("data/multihop/known_peers"), format!("{name} {alice}\n"));
    let said = send(&["--strict"]);
    assert!(said.code == Some(0) && said.stderr.is_empty(), "the second contact is silent: {said:?}");
    fs::write(folder.path().join("data/multihop/known_peers"), format!("{name} {eve}\n")).unwrap();
    let said = send(&[]);
    assert!(
        said.code == Some(1) && said.stderr.contains(&format!("THE KEY OF {name} HAS CHANGED")),
        "{said:?}"
    );
}

#[test]
fn a_strict_caller_refuses_an_unknown_listener() {
    let folder = Folder::new("strict").with("note", "hello\n");
    let [alice, bob] = ["alice", "bob"].map(|name| keygen(&folder, name));
    let (_receiver, to) = recv(&folder, "inbox", "alice", &["--peer", &bob]);
    let send = || run(&folder, &["send", "note", &to, "--key", "bob", "--strict"]);
    let said = send();
    assert!(said.code == Some(1) && said.stderr.contains("is not known"), "{said:?}");
    assert!(!folder.path().join("data/multihop/known_peers").exists());
    assert_eq!(run(&folder, &["keys", "add", "known", &to, &alice]).code, Some(0));
    assert_eq!(send().code, Some(0));
}

#[test]
fn both_ends_need_the_same_shared_key() {
    let folder = Folder::new("shared").with("note", "hello\n");
    let [alice, bob] = ["alice", "bob"].map(|name| keygen(&folder, name));
    for name in ["one", "two"] {
        assert_eq!(run(&folder, &["keygen", "--shared", name]).code, Some(0));
    }
    let (_receiver, to) = recv(&folder, "inbox", "alice", &["--peer", &bob, "--shared-key", "one"]);
    let send = |more: &[&str]| {
        run(&folder, &[&["send", "note", &to, "--key", "bob", "--peer", &alice], more].concat())
    };
    let said = send(&[]);
    assert!(said.code == Some(1) && said.stderr.contains("also requires a shared key"), "{said:?}");
    let said = send(&["--shared-key", "two"]);
    assert!(said.code == Some(1) && said.stderr.contains("has another shared key"), "{said:?}");
    assert_eq!(send(&["--shared-key", "one"]).code, Some(0));
}

#[test]
fn each_end_has_its_own_file_of_keys() {
    let folder = Folder::new("ends").with("note", "hello\n");
    keygen(&folder, "key");
    let said = run(&folder, &["recv", "--to", "inbox", "--key", "key", "--known-peers", "file"]);
    assert!(said.code == Some(2) && said.stderr.contains("pass --authorized-keys to listen"), "{said:?}");
    let said = run(&folder, &["send", "note", "127.0.0.1:9", "--key", "key", "--authorized-keys", "file"]);
    assert!(said.code == Some(2) && said.stderr.contains("pass --known-peers to connect"), "{said:?}");
}
