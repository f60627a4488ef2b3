//! `multihop send`, `multihop recv`, `multihop keygen`.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use multihop_testkit::impaired::{Relay, Settings};

use super::*;
use crate::{code, multihop, stderr, stdout};

/// A receiver into `inbox` that gives up soon.
fn recv(folder: &Folder, more: &[&str]) -> Running {
    let usual = ["recv", "--to", "inbox", "--plain", "--listen", "127.0.0.1:0", "--patience", "3"];
    Running::new(folder, &[&usual[..], more].concat())
}

fn send(folder: &Folder, path: &str, to: &str) -> Running {
    Running::new(folder, &["send", path, to, "--plain", "--patience", "3"])
}

/// A file that takes a while.
fn large(folder: &Folder) {
    let mut file = File::create(folder.path().join("large")).unwrap();
    (0..LARGE).step_by(1 << 16).for_each(|n| file.write_all(&[n.to_le_bytes(); 1 << 13].concat()).unwrap());
}

/// The unfinished file in `inbox`, and its length.
fn unfinished(folder: &Folder) -> Option<(PathBuf, u64)> {
    let names = fs::read_dir(folder.path().join("inbox")).ok()?;
    let mut paths = names.map(|name| name.unwrap().path());
    let path = paths.find(|path| path.extension().is_some_and(|end| end == "part"))?;
    let length = fs::metadata(&path).ok()?.len();
    Some((path, length))
}

fn is_whole(folder: &Folder) -> bool {
    let read = |name| fs::read(folder.path().join(name)).unwrap();
    read("large") == read("inbox/large")
}

#[test]
fn send_and_recv_transfer_a_file() {
    let folder = Folder::new("arrives").with("note", "hello\n");
    let mut receiver = recv(&folder, &["--once"]);
    let to = receiver.address();
    let sent = send(&folder, "note", &to).succeeds();
    assert!(sent.stdout.starts_with("sent 1 file, 6 B in "), "{sent:?}");
    assert_eq!(sent.stderr, UNPROTECTED);
    let received = receiver.succeeds();
    assert!(received.stdout.contains("\nreceived 1 file, 6 B in "), "{received:?}");
    assert_eq!(received.stderr, UNPROTECTED);
    assert_eq!(folder.read("inbox/note"), "hello\n");
}

#[test]
fn a_killed_sender_leaves_no_file_that_looks_complete_and_can_resume() {
    let folder = Folder::new("kill-sender");
    large(&folder);
    let mut receiver = recv(&folder, &["--once"]);
    let to = receiver.address();
    let mut sender = send(&folder, "large", &to);
    until(|| unfinished(&folder).is_some_and(|(_, length)| length > 1_000_000));
    sender.kill();
    assert!(!folder.path().join("inbox/large").exists());
    let said = send(&folder, "large", &to).succeeds();
    assert!(said.stdout.ends_with(" already present\n"), "{said:?}");
    receiver.succeeds();
    assert!(is_whole(&folder) && unfinished(&folder).is_none());
}

/// A receiver with a token and the usual patience; its address and its token.
fn recv_with_token(folder: &Folder, more: &[&str]) -> (Running, String, String) {
    let usual = ["recv", "--to", "inbox", "--listen", "127.0.0.1:0"];
    let mut receiver = Running::new(folder, &[&usual[..], more].concat());
    let to = receiver.address();
    let token = receiver.line().strip_prefix("token: ").unwrap().to_owned();
    (receiver, to, token)
}

#[test]
fn the_same_command_succeeds_at_once_after_its_sender_vanished() {
    let folder = Folder::new("again");
    large(&folder);
    let (_receiver, to, token) = recv_with_token(&folder, &[]);
    let send = || Running::new(&folder, &["send", "large", &to, "--token", &token]);
    let mut sender = send();
    until(|| unfinished(&folder).is_some_and(|(_, length)| length > 1_000_000));
    // The sender cannot handle this signal: it sends nothing more, not even a reset.
    sender.kill();
    let said = send().succeeds();
    assert!(said.stdout.ends_with(" already present\n"), "{said:?}");
    assert!(is_whole(&folder) && unfinished(&folder).is_none());
}

#[test]
fn a_transfer_with_signs_of_life_is_not_taken_over() {
    let folder = Folder::new("alive");
    let (_receiver, to, token) = recv_with_token(&folder, &[]);
    let send = || Running::new(&folder, &["send", "-", &to, "--token", &token]);
    let mut first = send();
    let mut input = first.child.stdin.take().unwrap();
    input.write_all(b"first").unwrap();
    until(|| unfinished(&folder).is_some_and(|(_, length)| length == 5));
    let said = send().end(SOON);
    assert!(said.stderr.ends_with("cannot write 'stdin': another transfer is writing it\n"), "{said:?}");
    drop(input);
    first.succeeds();
    assert_eq!(folder.read("inbox/stdin"), "first");
}

#[test]
fn a_patience_shorter_than_a_pause_of_the_input_is_no_failure() {
    let folder = Folder::new("pause");
    let mut receiver = recv(&folder, &["--once"]);
    let mut sender = send(&folder, "-", &receiver.address());
    let mut input = sender.child.stdin.take().unwrap();
    input.write_all(b"a pause ").unwrap();
    thread::sleep(Duration::from_secs(6));
    input.write_all(b"and the end").unwrap();
    drop(input);
    sender.succeeds();
    receiver.succeeds();
    assert_eq!(folder.read("inbox/stdin"), "a pause and the end");
}

#[test]
fn the_patience_limits_connecting() {
    let folder = Folder::new("absent").with("note", "hello\n");
    // Nobody reads from this port.
    let absent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = absent.local_addr().unwrap().to_string();
    let output = multihop(&folder, &["send", "note", &to, "--plain", "--patience", "0.5"]);
    assert_eq!(code(&output), 1);
    let text = format!("cannot connect to {to}: the peer did not answer within 0.5 s\n");
    assert!(stderr(&output).ends_with(&text), "{}", stderr(&output));
}

#[test]
fn a_transfer_that_leaves_something_out_ends_with_code_3() {
    let folder = Folder::new("left-out").with("note", "hello\n");
    fs::create_dir(folder.path().join("dir")).unwrap();
    std::os::unix::fs::symlink("../note", folder.path().join("dir/link")).unwrap();
    let mut receiver = recv(&folder, &[]);
    let to = receiver.address();
    let send = |more: &[&str]| {
        let usual = ["send", "dir", &to, "--plain", "--patience", "3"];
        Running::new(&folder, &[&usual[..], more].concat()).end(SOON)
    };
    let said = send(&[]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stdout.starts_with("sent 0 files, "), "{said:?}");
    let text = "skipped: dir/link is a link; --links sends it\nmultihop: 1 entry was left out\n";
    assert!(said.stderr.ends_with(text), "{said:?}");
    assert_eq!(send(&["--links", "skip"]).code, Some(0));
    assert_eq!(send(&["--links", "keep"]).code, Some(3));
    assert_eq!(send(&["--links", "follow"]).code, Some(0));
    assert_eq!(folder.read("inbox/dir/link"), "hello\n");
}

#[test]
fn recv_prints_a_command_that_sends_to_it() {
    let folder = Folder::new("command").with("note", "hello\n");
    let (mut receiver, to, token) = recv_with_token(&folder, &["--once"]);
    let command = receiver.advice();
    assert_eq!(command, format!("multihop send PATH... {to} --token {token}"));
    let args: Vec<_> = command.split_whitespace().skip(1).collect();
    let args: Vec<_> = args.into_iter().map(|arg| if arg == "PATH..." { "note" } else { arg }).collect();
    Running::new(&folder, &args).succeeds();
    receiver.succeeds();
    assert_eq!(folder.read("inbox/note"), "hello\n");
}

#[test]
fn a_piped_transfer_shows_its_progress_if_it_is_asked_to() {
    let folder = Folder::new("progress");
    small_files(&folder, 300);
    let mut receiver = recv(&folder, &["--progress"]);
    let to = receiver.address();
    let args = ["send", "small", &to, "--plain", "--progress"];
    let said = Running::new(&folder, &args).succeeds();
    let last = said.stderr.lines().last().unwrap();
    assert!(last.starts_with("300 of 300 files, ") && last.contains(" (100%), "), "{said:?}");
    assert!(last.ends_with("/s, 0 s left"), "{said:?}");
    receiver.complains("300 of 300 files, ");
}

#[test]
fn events_are_lines_of_json() {
    let folder = Folder::new("events");
    small_files(&folder, 300);
    let args = ["recv", "--to", "inbox", "--plain", "--listen", "127.0.0.1:0", "--once", "--json"];
    let mut receiver = Running::new(&folder, &args);
    let parse = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let first = parse(&receiver.line());
    assert_eq!(first["event"], "listening");
    let to = first["address"].as_str().unwrap().to_owned();
    assert_eq!(first["send"][0], format!("multihop send PATH... {to} --plain"));
    let sent = Running::new(&folder, &["send", "small", &to, "--plain", "--json"]).succeeds();
    for said in [sent, receiver.succeeds()] {
        let events: Vec<_> = said.stdout.lines().map(parse).collect();
        assert_eq!((&events[0]["event"], &events[0]["files"]), (&"begin".into(), &300.into()));
        let progress = events.iter().rfind(|event| event["event"] == "progress").unwrap();
        assert_eq!((&progress["files_done"], &progress["percent"]), (&300.into(), &100.0.into()));
        assert_eq!((&progress["bytes_done"], &progress["seconds_left"]), (&progress["bytes"], &0.0.into()));
        let end = events.last().unwrap();
        assert_eq!((&end["event"], &end["files"]), (&"end".into(), &300.into()));
        assert_eq!(end["moved"], events[0]["bytes"]);
        assert!(end["counters"]["acks"].as_u64().unwrap() > 0, "{end}");
    }
}

/// Small files with contents that their names determine.
fn small_files(folder: &Folder, number: u32) {
    fs::create_dir(folder.path().join("small")).unwrap();
    (0..number).for_each(|n| fs::write(folder.path().join(format!("small/{n}")), contents(n)).unwrap());
}

fn contents(n: u32) -> String {
    n.to_string().repeat(100)
}

#[test]
fn a_killed_receiver_leaves_no_wrong_file_of_a_batch() {
    const FILES: u32 = 3000;
    let folder = Folder::new("kill-batch");
    small_files(&folder, FILES);
    let arrived = || {
        let names = fs::read_dir(folder.path().join("inbox/small")).into_iter().flatten();
        let names = names.map(|name| name.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".part")).collect::<Vec<_>>()
    };
    for round in 0..4 {
        let mut receiver = recv(&folder, &[]);
        let to = receiver.address();
        let before = arrived().len();
        let mut sender = send(&folder, "small", &to);
        until(|| arrived().len() > before + 100 * round || sender.child.try_wait().unwrap().is_some());
        receiver.kill();
        sender.kill();
        for name in arrived() {
            assert_eq!(folder.read(&format!("inbox/small/{name}")), contents(name.parse().unwrap()));
        }
    }
    let mut receiver = recv(&folder, &["--once"]);
    let to = receiver.address();
    let said = send(&folder, "small", &to).succeeds();
    assert!(said.stdout.starts_with(&format!("sent {FILES} files, ")), "{said:?}");
    receiver.succeeds();
    assert_eq!(arrived().len(), FILES as usize);
    assert_eq!(fs::read_dir(folder.path().join("inbox/small")).unwrap().count(), FILES as usize);
}

#[test]
fn a_killed_receiver_is_detected_and_leaves_no_file_that_looks_complete() {
    let folder = Folder::new("kill-receiver");
    large(&folder);
    let mut receiver = recv(&folder, &[]);
    let to = receiver.address();
    let mut sender = send(&folder, "large", &to);
    until(|| unfinished(&folder).is_some_and(|(_, length)| length > 1_000_000));
    receiver.kill();
    let said = sender.end(SOON);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("multihop: connection lost: "), "{said:?}");
    assert!(!folder.path().join("inbox/large").exists());
    let mut receiver = recv(&folder, &["--once"]);
    let to = receiver.address();
    let said = send(&folder, "large", &to).succeeds();
    assert!(said.stdout.ends_with(" already present\n"), "{said:?}");
    receiver.succeeds();
    assert!(is_whole(&folder) && unfinished(&folder).is_none());
}

#[test]
fn a_transfer_goes_on_when_the_receiver_is_back() {
    let folder = Folder::new("receiver-restarts");
    large(&folder);
    let mut receiver = recv(&folder, &[]);
    let to = receiver.address();
    let mut sender = send(&folder, "large", &to);
    until(|| unfinished(&folder).is_some_and(|(_, length)| length > 1_000_000));
    receiver.kill();
    receiver.child.wait().unwrap();
    let again = ["recv", "--to", "inbox", "--plain", "--listen", &to, "--once"];
    let mut receiver = Running::new(&folder, &again);
    assert_eq!(receiver.address(), to);
    let said = sender.succeeds();
    receiver.succeeds();
    assert!(is_whole(&folder) && unfinished(&folder).is_none());
    assert!(said.stderr.contains("; trying again for up to "), "{said:?}");
    // Bytes that the same command moved before are not counted as present.
    assert!(!said.stdout.contains("already present"), "{said:?}");
}

#[test]
fn a_sender_waits_for_its_receiver() {
    let folder = Folder::new("wait").with("note", "hello\n");
    let mut earlier = recv(&folder, &[]);
    let to = earlier.address();
    earlier.kill();
    earlier.child.wait().unwrap();
    let output = multihop(&folder, &["send", "note", &to, "--plain"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let output = multihop(&folder, &["send", "note", "--wait"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let output = multihop(&folder, &["send", "note", &to, "--plain", "--wait", "--patience", "1"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let mut sender = Running::new(&folder, &["send", "note", &to, "--plain", "--wait"]);
    let again = ["recv", "--to", "inbox", "--plain", "--listen", &to, "--once"];
    let mut receiver = Running::new(&folder, &again);
    sender.succeeds();
    receiver.succeeds();
    assert_eq!(folder.read("inbox/note"), "hello\n");
}

#[test]
fn an_interruption_ends_both_ends_at_once() {
    let folder = Folder::new("interrupt");
    large(&folder);
    let mut receiver = recv(&folder, &[]);
    let mut sender = send(&folder, "large", &receiver.address());
    until(|| unfinished(&folder).is_some_and(|(_, length)| length > 1_000_000));
    sender.interrupt();
    let said = sender.end(SOON);
    assert_eq!((said.code, said.stdout.as_str()), (Some(130), ""));
    assert!(said.stderr.ends_with("multihop: interrupted\n"), "{said:?}");
    // The receiver has noticed, and serves the next sender.
    receiver.complains("connection lost: connection reset by the peer");
    let (part, _) = unfinished(&folder).unwrap();
    until(|| File::open(&part).unwrap().try_lock().is_ok());
    receiver.interrupt();
    assert_eq!(receiver.end(SOON).code, Some(130));
}

/// Sends a large file through a relay that is silent for a while; returns the output of both ends.
fn with_silence(name: &str, silence: Duration, patience: &str) -> (Folder, [Said; 2]) {
    let folder = Folder::new(name);
    large(&folder);
    let listening = ["recv", "--to", "inbox", "--once", "--listen", "127.0.0.1:0", "--patience", patience];
    let mut receiver = Running::new(&folder, &listening);
    let (any, target) = ("127.0.0.1:0".parse().unwrap(), receiver.address().parse().unwrap());
    let token = receiver.line().strip_prefix("token: ").unwrap().to_owned();
    // Slow enough to be cut in the middle.
    let settings = Settings { rate: Some(160_000_000), ..Settings::default() };
    let relay = Relay::start(any, target, settings, 1).unwrap();
    let to = relay.address().to_string();
    let args = ["send", "large", &to, "--token", &token, "--patience", patience];
    let mut sender = Running::new(&folder, &args);
    until(|| unfinished(&folder).is_some_and(|(_, length)| length > 1_000_000));
    relay.silence(silence);
    let sent = sender.end(SOON + silence);
    if sent.code != Some(0) {
        // The receiver waits for another attempt of the sender, which does not happen.
        receiver.complains("connection lost: ");
        receiver.interrupt();
    }
    let received = receiver.end(SOON);
    (folder, [sent, received])
}

#[test]
fn a_transfer_survives_a_short_path_failure() {
    let (folder, [sent, received]) = with_silence("silence", Duration::from_secs(2), "20");
    assert_eq!((sent.code, received.code), (Some(0), Some(0)), "{sent:?} {received:?}");
    assert!(is_whole(&folder));
}

#[test]
#[ignore = "takes a minute: cargo test -p multihop-cli -- --ignored --nocapture minute"]
fn a_transfer_survives_a_path_failure_of_a_minute() {
    let begin = Instant::now();
    let (folder, [sent, received]) = with_silence("minute", Duration::from_secs(60), "120");
    assert_eq!((sent.code, received.code), (Some(0), Some(0)), "{sent:?} {received:?}");
    assert!(is_whole(&folder));
    println!("40 MB, 60 s of them without a path, took {:.1?}", begin.elapsed());
}

#[test]
fn a_longer_path_failure_ends_both_ends_in_time() {
    let begin = Instant::now();
    let (folder, [sent, received]) = with_silence("long-silence", Duration::from_secs(1000), "2");
    assert!(begin.elapsed() < SOON);
    assert_eq!(sent.code, Some(1));
    assert!(sent.stderr.starts_with("multihop: connection lost: "), "{sent:?}");
    assert!(received.stderr.contains("connection lost: "), "{received:?}");
    assert!(!folder.path().join("inbox/large").exists());
}

#[test]
fn only_a_peer_with_the_token_can_send() {
    let folder = Folder::new("token").with("note", "hello\n");
    let mut receiver = Running::new(&folder, &["recv", "--to", "inbox", "--once", "--listen", "127.0.0.1:0"]);
    let to = receiver.address();
    let token = receiver.line().strip_prefix("token: ").unwrap().to_owned();
    let refused = |args: &[&str], expected: &str| {
        let output = multihop(&folder, &[&["send", "note", &to], args].concat());
        assert_eq!((code(&output), stdout(&output)), (1, ""));
        assert!(stderr(&output).trim_end().ends_with(expected), "{}", stderr(&output));
    };
    refused(&["--token", "gfw06-sfgfd-tdvxj-48mw9-befah"], "the listener has another token");
    refused(&["--plain"], "it may require a token or a key");
    assert!(!folder.path().join("inbox/note").exists());
    let said = Running::new(&folder, &["send", "note", &to, "--token", &token]).succeeds();
    assert_eq!(said.stderr, "");
    receiver.succeeds();
    assert_eq!(folder.read("inbox/note"), "hello\n");
}

#[test]
fn only_a_peer_with_a_known_key_can_send() {
    let folder = Folder::new("keys").with("note", "hello\n");
    let key = |name| stdout(&multihop(&folder, &["keygen", name])).trim().to_owned();
    let (ours, theirs, others) = (key("ours"), key("theirs"), key("others"));
    fs::write(folder.path().join("allowed"), format!("{theirs} them\n")).unwrap();
    let args = [
        "recv",
        "--to",
        "inbox",
        "--listen",
        "127.0.0.1:0",
        "--key",
        "ours",
        "--authorized-keys",
        "allowed",
        "-v",
    ];
    let mut receiver = Running::new(&folder, &args);
    let to = receiver.address();
    let send = |key, more: &[&str]| {
        let args = ["send", "note", &to, "--patience", "5", "--key", key];
        Running::new(&folder, &[&args, more].concat()).end(SOON)
    };
    let said = send("others", &["--known-peers", "seen"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("the listener does not accept this end's key"), "{said:?}");
    assert!(!folder.path().join("inbox/note").exists());
    assert_eq!(send("theirs", &["--known-peers", "seen"]).code, Some(0));
    assert_eq!(folder.read("inbox/note"), "hello\n");
    // The first contact is remembered, another key is refused later.
    assert!(folder.read("seen").contains(&ours));
    assert_eq!(send("theirs", &["--peer", &ours]).code, Some(0));
    assert_eq!(send("theirs", &["--peer", &theirs]).code, Some(1));
    fs::write(folder.path().join("seen"), format!("{to} {theirs}\n")).unwrap();
    let said = send("theirs", &["--known-peers", "seen"]);
    assert!(said.stderr.contains(&format!("THE KEY OF {to} HAS CHANGED")), "{said:?}");
    receiver.complains(&format!("key={others}"));
}

#[test]
fn a_listener_that_would_refuse_every_peer_prints_a_warning() {
    let folder = Folder::new("nobody");
    let key = stdout(&multihop(&folder, &["keygen", "ours"])).trim().to_owned();
    let said = |who: [&str; 2]| {
        let args = ["recv", "--to", "inbox", "--listen", "127.0.0.1:0", "--key", "ours", who[0], who[1]];
        let mut receiver = Running::new(&folder, &args);
        receiver.address();
        receiver.interrupt();
        receiver.end(SOON).stderr
    };
    let text = "--key: empty has no key, so every connection is refused: pass --peer KEY, or run multihop keys add authorized KEY\n";
    assert!(said(["--authorized-keys", "empty"]).starts_with(text));
    assert_eq!(said(["--peer", &key]), "multihop: interrupted\n");
}

#[test]
fn a_full_disk_is_reported_at_both_ends() {
    let folder = Folder::new("full");
    large(&folder);
    // To the receiver, a limit on the size of files is like a full disk if its signal is ignored.
    let script = format!(
        "trap '' XFSZ; ulimit -f 1000; exec {} recv --to inbox --plain --listen 127.0.0.1:0",
        env!("CARGO_BIN_EXE_multihop")
    );
    let mut receiver = Running::of(Command::new("sh").args(["-c", &script]), &folder);
    let said = send(&folder, "large", &receiver.address()).end(SOON);
    assert_eq!(said.code, Some(1));
    let reason = "cannot write 'large': File too large (os error 27)\n";
    assert!(said.stderr.ends_with(&format!("multihop: the peer gave up: {reason}")), "{said:?}");
    receiver.complains(reason.trim_end());
    assert!(!folder.path().join("inbox/large").exists());

    let full = File::options().write(true).open("/dev/full").unwrap();
    let (mut receiver, to) = writes_to(full.into(), &folder);
    let said = send(&folder, "large", &to).end(SOON);
    assert!(said.stderr.ends_with("No space left on device (os error 28)\n"), "{said:?}");
    assert_eq!(receiver.wait().unwrap().code(), Some(1));
}

/// Starts a receiver with this standard output; returns it and its address.
fn writes_to(stdout: Stdio, folder: &Folder) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
    command.args(["recv", "--to", "-", "--plain", "--listen", "127.0.0.1:0", "--quiet"]);
    command.current_dir(folder.path());
    let errors = File::create(folder.path().join("errors")).unwrap();
    let receiver = command.stdout(stdout).stderr(errors).spawn().unwrap();
    until(|| folder.read("errors").matches('\n').count() == 2);
    let said = folder.read("errors");
    let to = said.strip_prefix(UNPROTECTED).unwrap().trim().strip_prefix("listening on ").unwrap();
    (receiver, to.to_owned())
}

#[test]
fn from_a_pipe_into_a_pipe() {
    let folder = Folder::new("pipe");
    let (mut receiver, to) = writes_to(Stdio::piped(), &folder);
    let mut sender = send(&folder, "-", &to);
    let text = "a line\n".repeat(50_000);
    sender.child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let mut arrived = String::new();
    receiver.stdout.take().unwrap().read_to_string(&mut arrived).unwrap();
    assert!(arrived == text);
    sender.succeeds();
    assert!(receiver.wait().unwrap().success());
}

#[test]
fn errors_name_the_problem() {
    let folder = Folder::new("cannot").with("note", "");
    let said = |args: &[&str], expected: i32| {
        let output = multihop(&folder, args);
        assert_eq!((code(&output), stdout(&output)), (expected, ""), "{args:?}");
        stderr(&output).to_owned()
    };
    let text = said(&["send", "nothing", "127.0.0.1", "--plain"], 1);
    assert!(text.ends_with("cannot read nothing: No such file or directory (os error 2)\n"), "{text}");
    let text = said(&["perf", "127.0.0.1"], 2);
    assert!(text.starts_with("multihop: no security mode: pass --token, --key or --plain"), "{text}");
    let text = said(&["send", "note", "127.0.0.1", "--token", "abc"], 2);
    assert!(text.starts_with("multihop: invalid token: length is 3"), "{text}");
    let text = said(&["send", "note", "::1:80:", "--plain"], 2);
    assert!(text.contains("an IPv6 address needs brackets"), "{text}");
    let text = said(&["send", "note", "127.0.0.1", "--plain", "--set", "cwnd_max=13"], 2);
    assert!(text.contains("cwnd_max: found 13, allowed: a whole number from 1 to 12"), "{text}");
    let text = said(&["send", "note", "127.0.0.1", "--key", "none"], 1);
    assert!(text.contains("(multihop keygen creates one): none: No such file or directory"), "{text}");
    let text = said(&["send", "note", "nobody.invalid", "--plain"], 1);
    assert!(text.contains("cannot connect to nobody.invalid:7450: "), "{text}");
    let text = said(&["recv", "--to", "a/b/c", "--plain"], 1);
    assert!(text.starts_with("multihop: cannot create the folder a/b/c: "), "{text}");
    let text = said(&["recv", "--to", "note", "--plain"], 1);
    assert!(text.ends_with("the name exists and is not a folder\n"), "{text}");
    let text = said(&["recv", "--to", "inbox", "--listen", "7450"], 2);
    assert!(text.contains("'7450' for '--listen <HOST[:PORT]>': allowed: HOST:PORT"), "{text}");
    let text = said(&["recv", "--to", "inbox", "--listen", ":7450"], 2);
    assert!(text.contains("the host is missing"), "{text}");
    let text = said(&["send", "note", "http://127.0.0.1:7450", "--plain"], 2);
    assert!(text.contains("'http://127.0.0.1' is not a host"), "{text}");
    for wrong in [["--patience", "-3"], ["--patience", "soon"]] {
        let text = said(&["recv", "--to", "inbox", wrong[0], wrong[1]], 2);
        assert!(text.contains("for '--patience <S>': allowed: a number above 0"), "{text}");
    }
    let text = said(&["send", "note", "127.0.0.1", "--plain", "--token", "x"], 2);
    assert!(text.contains("cannot be used with"), "{text}");
}

#[test]
fn a_port_that_is_taken() {
    let folder = Folder::new("taken");
    let mut receiver = recv(&folder, &[]);
    let address = receiver.address();
    let output = multihop(&folder, &["recv", "--to", "inbox", "--plain", "--listen", &address]);
    assert_eq!((code(&output), stdout(&output)), (1, ""));
    assert!(stderr(&output).contains(&format!("cannot listen on {address}: Address already in use")));
}

#[test]
fn a_private_key_file_is_private_and_never_overwritten() {
    let folder = Folder::new("keygen");
    let output = multihop(&folder, &["keygen", "key"]);
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    assert!(stdout(&output).starts_with("tpa-public-"));
    let before = folder.read("key");
    assert_eq!(fs::metadata(folder.path().join("key")).unwrap().permissions().mode() & 0o777, 0o600);
    let output = multihop(&folder, &["keygen", "key"]);
    assert_eq!((code(&output), stdout(&output)), (1, ""));
    let text = "multihop: key exists already and is not overwritten\n";
    assert_eq!(stderr(&output), text);
    assert_eq!(folder.read("key"), before);
}

const LARGE: usize = 40_000_000;
