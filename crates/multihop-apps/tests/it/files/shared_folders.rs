//! Receivers into folders to which other users may write.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::PathBuf;

use tokio::io::AsyncWriteExt;

use super::*;

/// Where the receiver stores a file while it is incomplete.
fn part(pair: &Pair, name: &str) -> PathBuf {
    let hash = blake3::hash(OsStr::new(name).as_bytes()).to_hex();
    pair.to.path().join(format!(".multihop-{}.part", &hash[..32]))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn an_incomplete_file_of_another_user_is_refused() {
    let pair = Pair::new();
    pair.write("small", "secret");
    pair.write("large", noise(200_000, 1));
    for name in ["small", "large"] {
        let part = part(&pair, name);
        for contents in ["", "text"] {
            fs::write(&part, contents).unwrap();
            if chown(&part, Some(OTHER_USER), None).is_err() {
                println!("skipped: only root can give files away");
                return;
            }
            let file_name = part.file_name().unwrap().to_str().unwrap();
            let expected = format!("cannot write '{name}': {file_name} belongs to another user");
            assert_eq!(pair.refused(&[name]), expected);
            assert_eq!(fs::read_to_string(&part).unwrap(), contents);
            assert_eq!(fs::metadata(&part).unwrap().uid(), OTHER_USER);
        }
    }
}

#[test]
fn an_incomplete_file_that_others_could_open_is_replaced() {
    let pair = Pair::new();
    let part = part(&pair, "a");
    pair.write("a", noise(200_000, 1));
    for (length, mode) in [(50_000, 0o644), (50_000, 0o620), (0, 0o604), (200_000, 0o755)] {
        let old = noise(length, 2);
        fs::write(&part, &old).unwrap();
        set_mode(&part, mode);
        let mut opened_before = File::open(&part).unwrap();
        let [sent, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
        assert_eq!((sent.had, sent.moved), (0, 200_000));
        let mut seen = Vec::new();
        std::io::Read::read_to_end(&mut opened_before, &mut seen).unwrap();
        assert!(seen == old, "mode {mode:o}: another user could read {} bytes", seen.len());
        assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
        fs::remove_file(pair.to.path().join("a")).unwrap();
    }
}

#[test]
fn an_incomplete_file_that_its_owner_cannot_open_is_replaced() {
    let pair = Pair::new();
    pair.write("a", noise(200_000, 1));
    fs::write(part(&pair, "a"), noise(200_000, 1)).unwrap();
    set_mode(&part(&pair, "a"), 0);
    let [_, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
}

#[test]
fn a_whole_file_without_its_name_is_not_sent_again() {
    let pair = Pair::new();
    pair.write("a", noise(200_000, 1));
    let [_, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    fs::rename(pair.to.path().join("a"), part(&pair, "a")).unwrap();
    set_mode(&part(&pair, "a"), 0o644);
    let [sent, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    assert_eq!((sent.had, sent.moved), (200_000, 0));
    assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
}

#[test]
fn a_complete_file_is_for_its_owner_only_until_it_gets_its_name() {
    let pair = Pair::new();
    pair.write("a", noise(200_000, 1));
    set_mode(&pair.from.path().join("a"), 0o644);
    run(async {
        let (near, far) = duplex(BUFFER);
        let target = pair.target();
        let receiver = tokio::spawn(async move { receive(far, target, QUICK, &mut |_| ()).await });
        let (mut feed, stream) = duplex(BUFFER);
        let mut sources = pair.sources(&["a"]);
        sources.add_stream("b", Box::new(stream)).unwrap();
        let sender = tokio::spawn(async move { send(near, sources, QUICK, &mut |_| ()).await });
        feed.write_all(b"text").await.unwrap();
        until_there_is(pair.to.path(), "text").await;
        if let Ok(found) = fs::metadata(part(&pair, "a")) {
            assert_eq!(found.mode() & 0o777, 0o600);
        }
        drop(feed);
        sender.await.unwrap().unwrap();
        receiver.await.unwrap().unwrap();
    });
    let umask = 0o755 & !fs::metadata(pair.to.path().join("b")).unwrap().mode() & 0o077;
    assert_eq!(fs::metadata(pair.to.path().join("a")).unwrap().mode() & 0o777, 0o644 & !umask);
}

const OTHER_USER: u32 = 12_345;
