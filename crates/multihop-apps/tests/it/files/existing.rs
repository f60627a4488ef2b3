//! Files that the receiver has before a transfer, and whether the transfer replaces them.

use std::fs::FileType;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;

use multihop_apps::files::SymbolicLinks;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;
use tokio::io::AsyncWriteExt;

use super::*;

/// Sends `a` with `--overwrite`; if `a` is a link, it is sent as a link.
fn transfer(pair: &Pair) -> [Result<Summary, Error>; 2] {
    let mut sources = Sources::new().links(SymbolicLinks::Keep);
    sources.add(&pair.from.path().join("top")).unwrap();
    let (near, far) = duplex(BUFFER);
    both(near, far, sources, pair.target(), OVERWRITE)
}

/// A sender's folder with an entry `a` of each kind that can be sent, and the name of the kind.
fn senders() -> Vec<(&'static str, Pair)> {
    ["file", "large file", "link", "folder"]
        .map(|kind| (kind, Pair::new()))
        .into_iter()
        .map(prepare)
        .collect()
}

fn prepare((kind, pair): (&'static str, Pair)) -> (&'static str, Pair) {
    pair.write("top/other", "text");
    let a = pair.from.path().join("top/a");
    match kind {
        "file" => fs::write(&a, "new").unwrap(),
        "large file" => fs::write(&a, noise(100_000, 1)).unwrap(),
        "link" => symlink("other", &a).unwrap(),
        _ => fs::create_dir(&a).unwrap(),
    }
    fs::create_dir(pair.to.path().join("top")).unwrap();
    (kind, pair)
}

fn kind_of(path: &Path) -> FileType {
    fs::symlink_metadata(path).unwrap().file_type()
}

#[test]
fn pipes_sockets_devices_and_folders_are_never_replaced() {
    let make_device = |at: &Path| mknod(at, SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, 3)).is_ok();
    let makes: [fn(&Path) -> bool; 4] = [
        |at| mkfifo(at, Mode::S_IRWXU).is_ok(),
        |at| UnixListener::bind(at).is_ok(),
        |at| mknod(at, SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, 3)).is_ok(),
        |at| fs::create_dir(at).is_ok(),
    ];
    let folder = TempDir::new().unwrap();
    if !make_device(&folder.path().join("null")) {
        println!("skipped: only root can make devices");
        return;
    }
    for make in makes {
        for (kind, pair) in senders() {
            let at = pair.to.path().join("top/a");
            assert!(make(&at));
            let before = kind_of(&at);
            if before.is_dir() && kind == "folder" {
                continue;
            }
            let [sent, received] = transfer(&pair);
            assert!(matches!(sent, Err(Error::There(_))), "a {kind} over {before:?}: {sent:?}");
            let reason = received.unwrap_err().to_string();
            assert!(reason.starts_with("cannot write 'top/a': it exists and is n"), "{reason}");
            assert_eq!(kind_of(&at), before, "a {kind}");
        }
    }
}

#[test]
fn overwrite_replaces_links_but_not_what_they_point_to() {
    for target in ["precious", "nowhere", "precious-folder"] {
        for (kind, pair) in senders() {
            let outside = TempDir::new().unwrap();
            let (file, folder) = (outside.path().join("precious"), outside.path().join("precious-folder"));
            fs::write(&file, "precious").unwrap();
            fs::create_dir(&folder).unwrap();
            let at = pair.to.path().join("top/a");
            symlink(outside.path().join(target), &at).unwrap();
            let [sent, received] = transfer(&pair);
            if kind == "folder" {
                let reason = received.unwrap_err().to_string();
                assert_eq!(reason, "cannot write 'top/a': it exists and is not a folder");
                assert!(kind_of(&at).is_symlink());
            } else {
                assert_eq!(sent.unwrap(), received.unwrap());
                assert_eq!(tree(pair.from.path()), tree(pair.to.path()), "a {kind}");
            }
            assert_eq!(fs::read(&file).unwrap(), b"precious");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        }
    }
}

#[test]
fn overwrite_replaces_one_name_of_a_file_with_several() {
    for (kind, pair) in senders().into_iter().filter(|(kind, _)| *kind != "folder") {
        let outside = TempDir::new().unwrap();
        let other = outside.path().join("other-name");
        fs::write(&other, "old").unwrap();
        fs::hard_link(&other, pair.to.path().join("top/a")).unwrap();
        let [_, _] = transfer(&pair).map(Result::unwrap);
        assert_eq!(tree(pair.from.path()), tree(pair.to.path()), "a {kind}");
        assert_eq!(fs::read(&other).unwrap(), b"old");
    }
}

#[test]
fn a_link_takes_the_place_of_an_incomplete_file() {
    let (_, pair) = prepare(("large file", Pair::new()));
    let [_, _] = pair.transfer_cut(&["top"], OVERWRITE, 50_000);
    assert_eq!(unfinished(pair.to.path()).len(), 1);
    fs::write(pair.to.path().join("top/a"), "old").unwrap();
    fs::remove_file(pair.from.path().join("top/a")).unwrap();
    symlink("other", pair.from.path().join("top/a")).unwrap();
    let [_, _] = transfer(&pair).map(Result::unwrap);
    assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
}

#[test]
fn a_pipe_that_appears_during_the_transfer_is_not_replaced() {
    let pair = Pair::new();
    let at = pair.to.path().join("a");
    let received = run(async {
        let (near, far) = duplex(BUFFER);
        let target = pair.target();
        let receiver = tokio::spawn(async move { receive(far, target, OVERWRITE, &mut |_| ()).await });
        let (mut feed, stream) = duplex(BUFFER);
        let mut sources = Sources::new();
        sources.add_stream("a", Box::new(stream)).unwrap();
        let sender = tokio::spawn(async move { send(near, sources, OVERWRITE, &mut |_| ()).await });
        feed.write_all(b"text").await.unwrap();
        until_there_is(pair.to.path(), "text").await;
        mkfifo(&at, Mode::S_IRWXU).unwrap();
        drop(feed);
        sender.await.unwrap().unwrap_err();
        receiver.await.unwrap()
    });
    let reason = received.unwrap_err().to_string();
    assert_eq!(reason, "cannot write 'a': it exists and is neither a file nor a link");
    assert!(kind_of(&at).is_fifo());
}
