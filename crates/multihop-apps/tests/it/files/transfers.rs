//! Transfers between two correct ends.

use std::ffi::OsStr;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::time::SystemTime;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

#[test]
fn a_folder_arrives_unchanged() {
    let pair = Pair::new();
    pair.write("a/empty", "");
    pair.write("a/small", "one line\n");
    pair.write("a/b/c/large", noise(300_000, 1));
    pair.write("a/run", "#!/bin/sh\n");
    fs::create_dir(pair.from.path().join("a/nothing")).unwrap();
    fs::write(pair.from.path().join("a").join(OsStr::from_bytes(b"\xff\x01 x")), "odd").unwrap();
    let script = pair.from.path().join("a/run");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    pair.write("z", "beside");
    let [sent, received] = pair.transfer(&["a", "z"], QUICK).map(Result::unwrap);
    assert_eq!(sent, received);
    assert_eq!((sent.files, sent.moved, sent.had), (6, 300_000 + 9 + 10 + 3 + 6, 0));
    assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
}

#[test]
fn an_interrupted_transfer_resumes_and_partial_files_do_not_look_complete() {
    let mut pair = Pair::new();
    pair.write("a/1", noise(50_000, 1));
    pair.write("a/2", noise(150_000, 2));
    let whole = tree(pair.from.path());
    for cut in [0, 10, 100, 30_000, 51_000, 120_000, 200_200] {
        pair.to = TempDir::new().unwrap();
        let [sent, received] = pair.transfer_cut(&["a"], QUICK, cut);
        assert!(matches!(sent, Err(Error::Stream(_))), "{cut}: {sent:?}");
        assert!(matches!(received, Err(Error::Stream(_))), "{cut}: {received:?}");
        let mut there = tree(pair.to.path());
        let bytes = |(contents, _): &(Option<Vec<u8>>, bool)| contents.as_ref().map_or(0, Vec::len) as u64;
        let had: u64 = there.values().map(bytes).sum();
        assert!(had <= cut as u64 && (cut < 40_000 || had > 0), "{cut}: {had}");
        unfinished(pair.to.path()).iter().for_each(|part| drop(there.remove(part)));
        assert!(there.iter().all(|(name, contents)| whole[name] == *contents), "{cut}");
        assert!(there.len() < whole.len(), "{cut}");

        let [sent, received] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
        assert_eq!((sent.had, sent.moved), (had, 200_000 - had), "{cut}");
        assert_eq!(sent, received);
        assert_eq!(tree(pair.to.path()), whole);
    }
}

#[test]
fn files_that_exist_already_are_not_transferred_again() {
    let pair = Pair::new();
    pair.write("a/1", noise(50_000, 1));
    pair.write("a/2", "");
    let [_, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    let [sent, received] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    assert_eq!((sent.files, sent.moved, sent.had), (2, 0, 50_000));
    assert_eq!(sent, received);
}

#[test]
fn a_partial_file_that_differs_is_sent_from_the_start() {
    let pair = Pair::new();
    pair.write("a", noise(200_000, 1));
    let [_, _] = pair.transfer_cut(&["a"], QUICK, 120_000);
    let part = pair.to.path().join(&unfinished(pair.to.path())[0]);
    assert!(fs::metadata(&part).unwrap().len() > 50_000);
    pair.write("a", noise(200_000, 2));
    let [sent, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    assert_eq!((sent.had, sent.moved), (0, 200_000));
    assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
}

#[test]
fn an_incomplete_file_that_is_too_long_is_discarded() {
    let pair = Pair::new();
    pair.write("a", noise(200_000, 1));
    let [_, _] = pair.transfer_cut(&["a"], QUICK, 120_000);
    pair.write("a", noise(1_000, 1));
    let [sent, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    assert_eq!((sent.had, sent.moved), (0, 1_000));
    assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
}

#[test]
fn other_contents_are_replaced_only_with_overwrite() {
    let pair = Pair::new();
    pair.write("a", "new and longer");
    fs::write(pair.to.path().join("a"), "old").unwrap();
    let reason = "cannot write 'a': it exists with other contents; recv --overwrite replaces it";
    assert_eq!(pair.refused(&["a"]), reason);
    fs::write(pair.to.path().join("a"), "old and longer").unwrap();
    assert_eq!(pair.refused(&["a"]), reason);
    assert_eq!(fs::read(pair.to.path().join("a")).unwrap(), b"old and longer");
    let [_, _] = pair.transfer(&["a"], OVERWRITE).map(Result::unwrap);
    assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
}

#[test]
fn links_are_neither_followed_nor_replaced() {
    let pair = Pair::new();
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("x"), "precious").unwrap();
    pair.write("a/x", "evil");
    symlink(outside.path(), pair.to.path().join("a")).unwrap();
    assert_eq!(pair.refused(&["a"]), "cannot write 'a': it exists and is not a folder");
    fs::remove_file(pair.to.path().join("a")).unwrap();
    fs::create_dir(pair.to.path().join("a")).unwrap();
    symlink(outside.path().join("x"), pair.to.path().join("a/x")).unwrap();
    let reason = "cannot write 'a/x': it exists and is a link; recv --overwrite replaces the link";
    assert_eq!(pair.refused(&["a"]), reason);
    fs::remove_file(pair.to.path().join("a/x")).unwrap();
    // A link with the name of the unfinished file.
    fs::create_dir(pair.to.path().join("b")).unwrap();
    pair.write("b/x", noise(100_000, 6));
    let [_, _] = pair.transfer_cut(&["b"], QUICK, 50_000);
    let part = pair.to.path().join(&unfinished(pair.to.path())[0]);
    fs::remove_file(&part).unwrap();
    symlink(outside.path().join("x"), &part).unwrap();
    assert!(pair.refused(&["b"]).starts_with("cannot write 'b/x': "));
    fs::remove_file(&part).unwrap();
    fs::hard_link(outside.path().join("x"), &part).unwrap();
    assert!(
        pair.refused(&["b"]).ends_with("is not a regular file, or has several names"),
        "{}",
        pair.refused(&["b"])
    );
    assert_eq!(fs::read(outside.path().join("x")).unwrap(), b"precious");
}

#[test]
fn a_deleted_folder_is_an_error_at_both_ends() {
    let pair = Pair::new();
    pair.write("a", "text");
    fs::remove_dir(pair.to.path()).unwrap();
    assert!(pair.refused(&["a"]).starts_with("cannot open the folder to write to: "));
    fs::create_dir(pair.to.path()).unwrap();

    // During a file: the folder is deleted while the receiver waits for data.
    let [sent, received] = run(async {
        let (near, far) = duplex(BUFFER);
        let (target, folder) = (pair.target(), pair.to.path().to_owned());
        let receiver = tokio::spawn(async move { receive(far, target, QUICK, &mut |_| ()).await });
        let (mut feed, stream) = duplex(BUFFER);
        let mut sources = Sources::new();
        sources.add_stream("a", Box::new(stream)).unwrap();
        let sender = tokio::spawn(async move { send(near, sources, QUICK, &mut |_| ()).await });
        feed.write_all(b"text").await.unwrap();
        until_there_is(&folder, "text").await;
        fs::remove_dir_all(&folder).unwrap();
        drop(feed);
        [sender.await.unwrap(), receiver.await.unwrap()]
    });
    fs::create_dir(pair.to.path()).unwrap();
    let reason = "cannot write 'a': its folder no longer exists";
    assert!(matches!(sent, Err(Error::There(text)) if text == reason));
    assert!(matches!(received, Err(Error::Here(text)) if text == reason));
}

#[test]
fn a_source_that_vanishes_or_changes_is_an_error_at_both_ends() {
    let pair = Pair::new();
    pair.write("a", "text");
    let end = |sources: Sources| {
        let (near, far) = duplex(BUFFER);
        match both(near, far, sources, pair.target(), QUICK) {
            [Err(Error::Here(reason)), Err(Error::There(told))] if told == reason => reason,
            other => panic!("{other:?}"),
        }
    };
    let sources = pair.sources(&["a"]);
    pair.write("a", "longer text");
    assert!(end(sources).ends_with("it changed during the transfer: repeat the transfer"));
    let sources = pair.sources(&["a"]);
    fs::remove_file(pair.from.path().join("a")).unwrap();
    assert!(end(sources).ends_with("No such file or directory (os error 2)"));
    assert!(tree(pair.to.path()).is_empty());
}

#[test]
fn two_writers_of_one_file_do_not_mix() {
    let pair = Pair::new();
    let begin = |text: &'static [u8]| {
        let (near, far) = duplex(BUFFER);
        let (mut feed, stream) = duplex(BUFFER);
        let mut sources = Sources::new();
        sources.add_stream("a", Box::new(stream)).unwrap();
        let target = pair.target();
        let receiver = tokio::spawn(async move { receive(far, target, QUICK, &mut |_| ()).await });
        tokio::spawn(async move { send(near, sources, QUICK, &mut |_| ()).await });
        tokio::spawn(async move {
            // The receiver does not read this text after it has refused the transfer.
            feed.write_all(text).await.ok();
            (feed, receiver)
        })
    };
    run(async {
        let (first, receiver) = begin(b"first").await.unwrap();
        until_there_is(pair.to.path(), "first").await;
        let (_second, other) = begin(b"second").await.unwrap();
        let reason = other.await.unwrap().unwrap_err().to_string();
        assert_eq!(reason, "cannot write 'a': another transfer is writing it");
        drop(first);
        receiver.await.unwrap().unwrap();
    });
    assert_eq!(fs::read(pair.to.path().join("a")).unwrap(), b"first");
}

#[test]
fn a_stream_becomes_a_file_and_a_file_a_stream() {
    let pair = Pair::new();
    let text = noise(100_000, 3);
    let mut sources = Sources::new();
    sources.add_stream("from-a-pipe", Box::new(std::io::Cursor::new(text.clone()))).unwrap();
    let (near, far) = duplex(BUFFER);
    let [_, _] = both(near, far, sources, pair.target(), QUICK).map(Result::unwrap);
    assert_eq!(fs::read(pair.to.path().join("from-a-pipe")).unwrap(), text);

    pair.write("a", &text);
    pair.write("b", "more");
    let into_stream = |names: &[&str]| {
        let (near, far) = duplex(BUFFER);
        let (out, mut end) = duplex(2 * text.len());
        let results = both(near, far, pair.sources(names), Target::Stream(Box::new(out)), QUICK);
        let mut arrived = Vec::new();
        run(end.read_to_end(&mut arrived)).unwrap();
        (results, arrived)
    };
    let ([sent, received], arrived) = into_stream(&["a"]);
    assert_eq!(sent.unwrap(), received.unwrap());
    assert!(arrived == text);
    let ([sent, _], arrived) = into_stream(&["a", "b"]);
    assert!(sent.unwrap_err().to_string().ends_with("only a single file can be written to a stream"));
    assert!(arrived.is_empty());
}

#[test]
fn over_tcp() {
    let pair = Pair::new();
    pair.write("a", noise(2_000_000, 4));
    let [near, far] = run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap().into_std().unwrap();
        [near, listener.accept().await.unwrap().0.into_std().unwrap()]
    });
    let results = run(async {
        let [near, far] = [near, far].map(|stream| TcpStream::from_std(stream).unwrap());
        let target = pair.target();
        let receiver = tokio::spawn(async move { receive(far, target, QUICK, &mut |_| ()).await });
        let sent = send(near, pair.sources(&["a"]), QUICK, &mut |_| ()).await;
        [sent, receiver.await.unwrap()]
    });
    let [_, _] = results.map(Result::unwrap);
    assert_eq!(tree(pair.from.path()), tree(pair.to.path()));
}

#[test]
fn sources_that_cannot_be_sent_are_reported_before_the_transfer() {
    let pair = Pair::new();
    let add = |path: &Path| Sources::new().add(path).unwrap_err().to_string();
    assert!(add(&pair.from.path().join("a")).ends_with("No such file or directory (os error 2)"));
    assert!(add(Path::new("/dev/null")).ends_with("neither a file nor a folder; use - for standard input"));
    assert_eq!(add(Path::new("/")), "the root folder has no name");
    pair.write("a/x", "");
    pair.write("b/x", "");
    let mut sources = pair.sources(&["a/x"]);
    let twice = sources.add(&pair.from.path().join("b/x")).unwrap_err().to_string();
    assert_eq!(twice, "two sources have the name 'x': send them separately");
}

#[test]
fn links_in_a_folder_are_skipped_with_a_note() {
    let pair = Pair::new();
    pair.write("a/x", "text");
    symlink("/etc/passwd", pair.from.path().join("a/link")).unwrap();
    let mut notes = Vec::new();
    let (near, far) = duplex(BUFFER);
    run(async {
        let target = pair.target();
        let receiver = tokio::spawn(async move { receive(far, target, QUICK, &mut |_| ()).await });
        let mut report = |progress| {
            if let multihop_apps::files::Progress::Note(note) = progress {
                notes.push(note);
            }
        };
        send(near, pair.sources(&["a"]), QUICK, &mut report).await.unwrap();
        receiver.await.unwrap().unwrap();
    });
    assert_eq!(notes.len(), 1);
    assert!(notes[0].ends_with("a/link is a link; --links sends it"), "{notes:?}");
    assert_eq!(fs::read_dir(pair.to.path().join("a")).unwrap().count(), 1);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn set_modified(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, 123_456_789);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn modes_and_modification_times_are_kept() {
    let pair = Pair::new();
    let names = ["a", "a/secret", "a/shared", "a/run", "a/large", "a/read-only", "a/read-only/x"];
    pair.write("a/secret", "text");
    pair.write("a/shared", "text");
    pair.write("a/run", "#!/bin/sh\n");
    pair.write("a/large", noise(100_000, 1));
    pair.write("a/read-only/x", "text");
    let modes = [0o750, 0o600, 0o644, 0o755, 0o400, 0o555, 0o444];
    for (n, (name, mode)) in (0..7_u32).zip(names.into_iter().zip(modes)).rev() {
        let path = pair.from.path().join(name);
        set_modified(&path, 1_000_000_000 + u64::from(n));
        set_mode(&path, mode);
    }
    let [_, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    let seen = |root: &Path, name| {
        let found = fs::metadata(root.join(name)).unwrap();
        (name, found.mode() & 0o777, found.mtime(), found.mtime_nsec())
    };
    // The umask of the tests leaves at least the modes of the owner.
    let umask = 0o777 & !seen(pair.to.path(), "a/run").1 & 0o077;
    for name in names {
        let (_, mode, seconds, nanoseconds) = seen(pair.from.path(), name);
        assert_eq!(seen(pair.to.path(), name), (name, mode & !umask, seconds, nanoseconds));
    }
    // The mode is changed so that the folders can be deleted.
    [&pair.from, &pair.to].into_iter().for_each(|root| set_mode(&root.path().join("a/read-only"), 0o755));
}

#[test]
fn an_incomplete_file_is_for_its_owner_only() {
    let pair = Pair::new();
    pair.write("a", noise(200_000, 1));
    set_mode(&pair.from.path().join("a"), 0o666);
    let [_, _] = pair.transfer_cut(&["a"], QUICK, 120_000);
    let part = pair.to.path().join(&unfinished(pair.to.path())[0]);
    assert_eq!(fs::metadata(part).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn an_existing_folder_keeps_its_mode() {
    let pair = Pair::new();
    pair.write("a/x", "text");
    set_mode(&pair.from.path().join("a"), 0o755);
    fs::create_dir(pair.to.path().join("a")).unwrap();
    set_mode(&pair.to.path().join("a"), 0o700);
    let [_, _] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
    assert_eq!(fs::metadata(pair.to.path().join("a")).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn holes_of_a_sparse_file_are_neither_transferred_nor_stored() {
    let mut pair = Pair::new();
    let path = pair.from.path().join("a");
    let file = fs::File::create(&path).unwrap();
    file.set_len(64 << 20).unwrap();
    file.write_all_at(&noise(100_000, 1), 10 << 20).unwrap();
    file.write_all_at(&noise(100_000, 2), 40 << 20).unwrap();
    let stored = |path: &Path| fs::metadata(path).unwrap().blocks() * 512;
    if stored(&path) > 1 << 20 {
        println!("skipped: this file system stores holes");
        return;
    }
    for cut in [usize::MAX, 150_000] {
        pair.to = TempDir::new().unwrap();
        let mut moved = 0;
        if cut < usize::MAX {
            let [_, _] = pair.transfer_cut(&["a"], QUICK, cut);
            assert_eq!(unfinished(pair.to.path()).len(), 1);
        } else {
            moved = 200_000;
        }
        let [sent, received] = pair.transfer(&["a"], QUICK).map(Result::unwrap);
        assert_eq!(sent, received);
        assert!((moved..1 << 20).contains(&sent.moved), "{sent:?}");
        let arrived = pair.to.path().join("a");
        assert!(fs::read(&arrived).unwrap() == fs::read(&path).unwrap());
        assert!(stored(&arrived) < 2 << 20, "{} bytes on the disk", stored(&arrived));
    }
}

#[test]
fn links_are_sent_as_the_user_asks() {
    use multihop_apps::files::SymbolicLinks;
    let mut pair = Pair::new();
    pair.write("a/x", "text");
    pair.write("a/b/y", "more");
    pair.write("out", "outside");
    let at = |name: &str| pair.from.path().join(name);
    symlink("../x", at("a/b/to-x")).unwrap();
    symlink("b", at("a/to-b")).unwrap();
    symlink("../out", at("a/leads-out")).unwrap();
    symlink("..", at("a/b/loop")).unwrap();
    let send = |pair: &Pair, links: Option<SymbolicLinks>| {
        let mut sources = Sources::new();
        if let Some(links) = links {
            sources = sources.links(links);
        }
        sources.add(&pair.from.path().join("a")).unwrap();
        let left_out = sources.left_out();
        let (near, far) = duplex(BUFFER);
        let [_, _] = both(near, far, sources, pair.target(), QUICK).map(Result::unwrap);
        left_out
    };
    let target = |pair: &Pair, name: &str| fs::read_link(pair.to.path().join(name)).ok();
    let read = |pair: &Pair, name: &str| fs::read_to_string(pair.to.path().join(name)).ok();
    assert_eq!((send(&pair, None), read(&pair, "a/b/to-x")), (4, None));
    pair.to = TempDir::new().unwrap();
    assert_eq!((send(&pair, Some(SymbolicLinks::Skip)), read(&pair, "a/b/to-x")), (0, None));

    pair.to = TempDir::new().unwrap();
    assert_eq!(send(&pair, Some(SymbolicLinks::Keep)), 1);
    assert_eq!(target(&pair, "a/b/to-x").unwrap(), Path::new("../x"));
    assert_eq!(target(&pair, "a/to-b").unwrap(), Path::new("b"));
    assert_eq!(target(&pair, "a/leads-out"), None);
    assert_eq!(read(&pair, "a/to-b/y").unwrap(), "more");
    // Links that exist already are no conflict.
    assert_eq!(send(&pair, Some(SymbolicLinks::Keep)), 1);

    pair.to = TempDir::new().unwrap();
    assert_eq!(send(&pair, Some(SymbolicLinks::Follow)), 2, "the two ways round the loop");
    assert_eq!(target(&pair, "a/b/to-x"), None);
    assert_eq!(read(&pair, "a/b/to-x").unwrap(), "text");
    assert_eq!(read(&pair, "a/to-b/y").unwrap(), "more");
    assert_eq!(read(&pair, "a/leads-out").unwrap(), "outside");
}

#[test]
fn the_incomplete_file_of_a_stream_is_deleted_when_the_transfer_fails() {
    let pair = Pair::new();
    run(async {
        let (near, far) = duplex(BUFFER);
        let target = pair.target();
        let receiver = tokio::spawn(async move { receive(far, target, QUICK, &mut |_| ()).await });
        let (mut feed, stream) = duplex(BUFFER);
        let mut sources = Sources::new();
        sources.add_stream("a", Box::new(stream)).unwrap();
        let sender = tokio::spawn(async move { send(near, sources, QUICK, &mut |_| ()).await });
        feed.write_all(b"text").await.unwrap();
        until_there_is(pair.to.path(), "text").await;
        sender.abort();
        receiver.await.unwrap().unwrap_err();
    });
    assert!(tree(pair.to.path()).is_empty(), "{:?}", tree(pair.to.path()));
}
