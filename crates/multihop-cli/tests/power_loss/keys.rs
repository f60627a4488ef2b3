//! Private keys, known peers and authorised keys.

use multihop_net::{AuthorizedKeys, Identity, KnownPeers, SecretFile, SharedKey};
use multihop_testkit::disk::{Image, Trace};

use super::{EXIT, Lab, mounted};

/// Checks that a private key in an image is whole, or that a new one can be made; `load` reads it.
fn try_keygen(program: &str, trace: &Trace, load: fn(&std::path::Path) -> Result<String, String>) {
    let last = mounted(&trace.complete(), |folder| load(&folder.join("my.key"))).unwrap();
    let check = |image: &Image| {
        mounted(image, |folder| {
            let path = folder.join("my.key");
            if path.exists() {
                return if load(&path)? == last { Ok(()) } else { Err("another key".to_owned()) };
            }
            if image.outputs().contains(EXIT) {
                return Err("the key is lost".to_owned());
            }
            let new = Identity::generate().unwrap().save(&path);
            new.map_err(|error| error.to_string())?;
            Identity::load(&path).map(drop).map_err(|error| error.to_string())
        })
    };
    trace.try_cuts(program, check).assert_none_is_violated();
}

#[test]
fn a_new_private_key_is_absent_or_whole() {
    let lab = Lab::new("keygen");
    let Some(trace) = lab.record("multihop keygen my.key") else { return };
    try_keygen("multihop keygen", &trace, |path| {
        Identity::load(path).map(|key| key.public().to_string()).map_err(|error| error.to_string())
    });
}

#[test]
fn a_new_shared_key_is_absent_or_whole() {
    let lab = Lab::new("shared");
    let Some(trace) = lab.record("multihop keygen --shared my.key") else { return };
    try_keygen("multihop keygen --shared", &trace, |path| {
        SharedKey::load(path).map(|key| format!("{:?}", *key.psk())).map_err(|error| error.to_string())
    });
}

/// A script that adds keys one after another, then removes some of them. It prints each change when it is
/// done.
fn changes(kind: &str, names: &[&str], removed: &[&str]) -> String {
    let key = |n: usize| multihop_net::PublicKey::from_bytes([u8::try_from(n + 1).unwrap(); 32]);
    let add = |(n, name): (usize, &&str)| match kind {
        "known" => format!("multihop keys add known {name} {}; echo change; ", key(n)),
        _ => format!("multihop keys add authorized {} {name}; echo change; ", key(n)),
    };
    let remove = |name: &&str| format!("multihop keys remove {kind} {name}; echo change; ");
    names.iter().enumerate().map(add).chain(removed.iter().map(remove)).collect()
}

/// The entries of the file after each change.
fn histories(names: &[&str], removed: &[&str]) -> Vec<Vec<String>> {
    let mut now: Vec<String> = Vec::new();
    let mut all = vec![now.clone()];
    for name in names {
        now.push((*name).to_owned());
        all.push(now.clone());
    }
    for name in removed {
        now.retain(|other| other != name);
        all.push(now.clone());
    }
    all
}

fn try_changes(kind: &str, trace: &Trace, histories: &[Vec<String>]) {
    let check = |image: &Image| {
        let reported = image.outputs().matches("change").count();
        mounted(image, |folder| {
            let data = folder.join("data/multihop");
            let entries: Vec<String> = match kind {
                "known" => KnownPeers::load(&data.join("known_peers"))
                    .map(|peers| peers.entries().into_iter().map(|(name, _)| name).collect()),
                _ => AuthorizedKeys::load(&data.join("authorized_keys"))
                    .map(|keys| keys.entries().into_iter().map(|(_, note)| note).collect()),
            }
            .map_err(|error| error.to_string())?;
            let allowed = &histories[reported..histories.len().min(reported + 2)];
            if allowed.contains(&entries) {
                Ok(())
            } else {
                Err(format!("{entries:?}, allowed: {allowed:?}"))
            }
        })
    };
    trace.try_cuts(&format!("multihop keys, {kind}"), check).assert_none_is_violated();
}

const NAMES: [&str; 10] = ["a:1", "b:1", "c:1", "d:1", "e:1", "f:1", "g:1", "h:1", "i:1", "j:1"];

#[test]
fn known_peers_are_as_before_or_after_a_change() {
    let lab = Lab::new("known");
    let removed = ["a:1", "d:1"];
    let Some(trace) = lab.record(&changes("known", &NAMES, &removed)) else { return };
    try_changes("known", &trace, &histories(&NAMES, &removed));
}

#[test]
fn authorised_keys_are_as_before_or_after_a_change() {
    let lab = Lab::new("authorized");
    let removed = ["c:1", "b:1"];
    let Some(trace) = lab.record(&changes("authorized", &NAMES, &removed)) else { return };
    try_changes("authorized", &trace, &histories(&NAMES, &removed));
}
