//! `multihop send --to-all` and `multihop recv --group`, on the loopback.

use super::super::{multihop, stdout};
use super::*;

fn keygen(folder: &Folder, name: &str) -> String {
    stdout(&multihop(folder, &["keygen", name])).trim().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn a_group_receives_a_file_from_its_sender_only() {
    let folder =
        Folder::new("group").with("map", &"a map of hills\n".repeat(20_000)).with("other", "false\n");
    let [post, _, _, mallory] = ["post", "one", "two", "mallory"].map(|name| keygen(&folder, name));
    multihop(&folder, &["keygen", "--shared", "group"]);
    let port = 9500 + std::process::id() % 500;
    let [to_all, group] = ["--to-all", "--group"].map(|option| format!("{option}=239.192.74.57:{port}"));
    let common = |key| ["--key", key, "--shared-key", "group", "--interface", "lo"];
    let recv = |key: &'static str, dir: &'static str| {
        let args = ["recv", &group, "--to", dir, "--once", "--json", "--peer", &post];
        let mut running = Running::new(&folder, &[&args[..], &common(key)].concat());
        assert!(running.line().contains("\"listening\""));
        running
    };
    let receivers = [recv("one", "first"), recv("two", "second")];
    // A member whose key is not authorised.
    let mut false_offer = Running::new(
        &folder,
        &[&["send", "other", &to_all, "--patience", "1"][..], &common("mallory")].concat(),
    );
    let said = false_offer.end(SOON);
    assert!(
        said.code == Some(1) && said.stderr.contains("no receiver of the group has answered"),
        "{said:?}"
    );
    let mut sender =
        Running::new(&folder, &[&["send", "map", &to_all, "--expect", "2"][..], &common("post")].concat());
    let said = sender.end(SOON);
    assert_eq!((said.code, said.stdout.trim()), (Some(0), "2 receivers have the file"), "{said:?}");
    for (mut receiver, dir) in receivers.into_iter().zip(["first", "second"]) {
        let said = receiver.end(SOON);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(!said.stdout.contains("\"unauthorized\":0"), "the false offer was not counted: {said:?}");
        assert_eq!(folder.read(&format!("{dir}/map")), folder.read("map"));
        assert!(!folder.path().join(dir).join("other").exists());
    }
    assert_ne!(post, mallory);
}

#[test]
fn a_group_needs_keys_and_one_file() {
    let folder = Folder::new("group-keys").with("map", "hills\n");
    keygen(&folder, "post");
    multihop(&folder, &["keygen", "--shared", "group"]);
    let refused = |args: &[&str], reason: &str| {
        let said = Running::new(&folder, args).end(SOON);
        assert!(said.code == Some(2) && said.stderr.contains(reason), "{said:?}");
    };
    refused(&["send", "map", "--to-all"], "--shared-key");
    let keys = ["--to-all", "--key", "post", "--shared-key", "group"];
    refused(&[&["send", "map", "map"], &keys[..]].concat(), "sends only one file");
    refused(&[&["send", "."], &keys[..]].concat(), "is not a file");
    refused(&["send", "map", "--to-all=10", "--key", "post", "--shared-key", "group"], "allowed: ADDRESS");
}
