//! Peers that are malicious or silent.

use multihop_apps::files::Progress;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// A frame as specified in the documentation.
pub(super) fn frame(kind: u8, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [&[kind][..], &u32::try_from(body.len()).unwrap().to_be_bytes(), &body].concat()
}

pub(super) fn hello() -> Vec<u8> {
    frame(1, &[b"multihop files\x02", &20_000_u32.to_be_bytes()])
}

pub(super) fn entry(kind: u8, size: u64, name: &[u8]) -> Vec<u8> {
    let length = u16::try_from(name.len()).unwrap();
    let (no_time, size) = ([0, u32::MAX.into()].map(u64::to_be_bytes), size.to_be_bytes());
    let mode = 0o640_u16.to_be_bytes();
    frame(2, &[&[kind], &mode, &no_time[0], &no_time[1][4..], &size, &size, &length.to_be_bytes(), name])
}

/// A symbolic link.
fn link(name: &[u8], target: &[u8]) -> Vec<u8> {
    let mut link = entry(2, 0, name);
    link.extend_from_slice(target);
    let length = u32::try_from(link.len() - 5).unwrap();
    link[1..5].copy_from_slice(&length.to_be_bytes());
    link
}

fn ready() -> Vec<u8> {
    frame(5, &[&20_000_u32.to_be_bytes()])
}

pub(super) fn listed(entries: u32) -> Vec<u8> {
    frame(3, &[&entries.to_be_bytes()])
}

pub(super) fn file(index: u32, offset: u64) -> Vec<u8> {
    frame(6, &[&index.to_be_bytes(), &offset.to_be_bytes()])
}

pub(super) fn data(data: &[u8]) -> Vec<u8> {
    frame(7, &[data])
}

fn end(contents: &[u8]) -> Vec<u8> {
    frame(8, &[blake3::hash(contents).as_bytes()])
}

/// Sends these messages to a receiver; returns the receiver's result and the contents of its folder.
fn says(frames: &[Vec<u8>]) -> (Result<Summary, Error>, Tree) {
    let to = TempDir::new().unwrap();
    let inside = to.path().join("inside");
    fs::create_dir(&inside).unwrap();
    let target = Target::Folder(inside);
    let result = run(async {
        let (mut near, far) = duplex(1 << 20);
        near.write_all(&frames.concat()).await.unwrap();
        near.shutdown().await.unwrap();
        receive(far, target, QUICK, &mut |_| ()).await
    });
    let mut there = tree(to.path());
    there.remove(&OsString::from("inside"));
    (result, there)
}

#[test]
fn the_frames_of_the_documentation_make_a_file() {
    let text = b"text";
    let frames =
        [hello(), entry(1, 4, b"a"), listed(1), file(0, 0), data(text), end(text), frame(9, &[]), vec![]];
    let (result, there) = says(&frames);
    assert_eq!(result.unwrap(), Summary { files: 1, moved: 4, ..Summary::default() });
    assert_eq!(there[&OsString::from("inside/a")].0.as_deref(), Some(&text[..]));
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    for name in
        [&b"../a"[..], b"/etc/multihop", b"a/../../b", b"..", b".", b"", b"a//b", b"a\0", &[b'x'; 256]]
    {
        let (result, there) = says(&[hello(), entry(1, 4, name), listed(1), file(0, 0), data(b"text")]);
        let reason = result.unwrap_err().to_string();
        assert!(reason.starts_with("refused: the name '"), "{reason}");
        assert!(there.is_empty());
    }
}

#[test]
fn invalid_lists_are_refused() {
    let attempts: [(&[Vec<u8>], &str); 8] = [
        (&[entry(1, 4, b"a")], "protocol error of the peer: the peer is not multihop send"),
        (&[frame(1, &[b"multihop files\x01"])], "the sender uses version 1, allowed: 2"),
        (&[hello(), entry(1, 4, b"a"), entry(1, 4, b"a"), listed(2)], "refused: the name 'a' occurs twice"),
        (
            &[hello(), entry(1, 4, b"a"), entry(1, 4, b"a/b"), listed(2)],
            "refused: the name 'a/b' is below one that is not a folder",
        ),
        (
            &[hello(), link(b"a", b"b"), entry(0, 0, b"b"), entry(1, 4, b"a/x"), listed(3)],
            "refused: the name 'a/x' is below one that is not a folder",
        ),
        (&[hello(), entry(1, 4, b"a"), listed(2)], "protocol error of the peer: message out of order"),
        (&[hello(), entry(7, 4, b"a")], "protocol error of the peer: invalid message of kind 2"),
        (
            &[hello(), entry(1, u64::MAX - 1, b"a"), listed(1)],
            "not enough space: needed 18446744073709551614 bytes",
        ),
    ];
    for (frames, expected) in attempts {
        let reason = says(frames).0.unwrap_err().to_string();
        assert!(reason.starts_with(expected), "{reason}");
    }
}

#[test]
fn links_that_may_lead_out_of_the_folder_are_refused() {
    for target in [&b"/etc/passwd"[..], b"..", b"../../etc", b"b/../../..", b"", b"a\0", &[b'x'; 5000]] {
        let (result, there) = says(&[hello(), link(b"a", target), listed(1), frame(9, &[])]);
        let reason = result.unwrap_err().to_string();
        assert!(reason.starts_with("refused: the name 'a' is a link "), "{reason}");
        assert!(there.is_empty());
    }
}

#[test]
fn a_hole_is_not_longer_than_its_file() {
    let hole = |length: u32| frame(13, &[&length.to_be_bytes()]);
    let zeros = [0; 100_000];
    let list = [hello(), entry(1, 100_000, b"a"), listed(1), file(0, 0)].concat();
    let (result, there) = says(&[list.clone(), hole(100_000), end(&zeros), frame(9, &[])]);
    assert_eq!(result.unwrap().moved, 0);
    assert_eq!(there[&OsString::from("inside/a")].0.as_deref(), Some(&zeros[..]));
    for length in [100_001, u32::MAX, 0] {
        let (result, there) = says(&[list.clone(), hole(length), end(&zeros)]);
        assert!(matches!(result, Err(Error::Protocol(_))), "{result:?}");
        assert!(!there.contains_key(&OsString::from("inside/a")));
    }
}

#[test]
fn a_file_with_a_wrong_hash_or_size_is_not_kept() {
    let list = [hello(), entry(1, 4, b"a"), listed(1), file(0, 0)].concat();
    let wrong = [
        [data(b"text"), end(b"test")].concat(),
        [data(b"tex"), end(b"tex")].concat(),
        [data(b"text"), data(b"s"), end(b"texts")].concat(),
        [end(b"")].concat(),
    ];
    for rest in wrong {
        let (result, there) = says(&[list.clone(), rest]);
        assert!(result.is_err());
        assert!(!there.contains_key(&OsString::from("inside/a")));
    }
}

#[test]
fn a_truncated_file_does_not_look_complete() {
    let list = [hello(), entry(1, 4, b"a"), listed(1), file(0, 0), data(b"text")];
    let (result, there) = says(&list);
    assert!(matches!(result, Err(Error::Stream(_))));
    assert!(!there.contains_key(&OsString::from("inside/a")));
}

#[test]
fn offsets_that_were_not_offered_are_refused() {
    let (result, there) =
        says(&[hello(), entry(1, 4, b"a"), listed(1), file(0, 2), data(b"xt"), end(b"text")]);
    assert!(matches!(result, Err(Error::Protocol(_))));
    assert!(there.is_empty());
}

#[test]
fn a_message_that_is_too_long_ends_the_transfer() {
    let mut long = data(b"");
    long[1..5].copy_from_slice(&u32::MAX.to_be_bytes());
    let reason = says(&[hello(), long]).0.unwrap_err().to_string();
    assert_eq!(reason, "connection lost: received a message of 4294967295 bytes, allowed: 32768");
}

#[test]
fn a_transfer_with_a_silent_peer_fails() {
    let pair = Pair::new();
    pair.write("a", noise(100_000, 5));
    let options = Options { patience: Duration::from_millis(200), ..QUICK };
    let reason = "connection lost: nothing received from the peer for 0.2 s";
    run(async {
        let (near, _far) = duplex(BUFFER);
        let error = send(near, pair.sources(&["a"]), options, &mut |_| ()).await.unwrap_err();
        assert_eq!(error.to_string(), format!("{reason}, before it was ready to receive"));
        let (mut near, far) = duplex(BUFFER);
        near.write_all(&hello()).await.unwrap();
        let error = receive(far, pair.target(), options, &mut |_| ()).await.unwrap_err();
        assert_eq!(error.to_string(), reason);
        // The peer is a receiver that is ready and then stops reading.
        let (near, mut far) = duplex(BUFFER);
        far.write_all(&ready()).await.unwrap();
        let error = send(near, pair.sources(&["a"]), options, &mut |_| ()).await.unwrap_err();
        assert_eq!(error.to_string(), reason);
    });
}

#[test]
fn text_from_the_peer_cannot_control_the_terminal() {
    let pair = Pair::new();
    pair.write("a", "text");
    run(async {
        let (near, mut far) = duplex(BUFFER);
        far.write_all(&frame(11, &[b"\x1b[2Jgone\n"])).await.unwrap();
        let mut silent = |_| ();
        let sent = send(near, pair.sources(&["a"]), QUICK, &mut silent);
        let rest = async move {
            far.read_to_end(&mut Vec::new()).await.unwrap();
        };
        let error = tokio::join!(sent, rest).0.unwrap_err().to_string();
        assert_eq!(error, "the peer gave up: \\u{1b}[2Jgone\\u{a}");
    });
    let mut shown = String::new();
    run(async {
        let (mut near, far) = duplex(1 << 16);
        let frames = [hello(), entry(1, 4, b"\x1b[2J"), listed(1), file(0, 0)].concat();
        near.write_all(&frames).await.unwrap();
        near.shutdown().await.unwrap();
        let mut report = |progress| {
            if let Progress::File(name) = progress {
                shown = name;
            }
        };
        let _ = receive(far, pair.target(), QUICK, &mut report).await;
    });
    assert_eq!(shown, "\\u{1b}[2J");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_end_a_transfer_and_nothing_else(
        frames in proptest::collection::vec((0u8..14, proptest::collection::vec(any::<u8>(), 0..60)), 0..12),
        greeted: bool,
    ) {
        let begin = if greeted { [hello(), entry(1, 4, b"a"), listed(1)].concat() } else { Vec::new() };
        let noise = frames.iter().flat_map(|(kind, body)| frame(*kind, &[body])).collect();
        let (result, there) = says(&[begin, noise]);
        prop_assert!(result.is_err());
        prop_assert!(!there.contains_key(&OsString::from("inside/a")));
    }
}
