//! `multihop send` and `multihop recv` with a code.

use std::fs;
use std::io::Write;

use multihop_testkit::impaired::Chain;

use super::*;
use crate::{code, multihop, stderr};

/// Starts a sender, which waits until its code is used; returns it, the code and its address.
fn send(folder: &Folder, args: &[&str]) -> (Running, String, String) {
    let mut sender = Running::new(folder, &[&["send", "--listen", "127.0.0.1:0"], args].concat());
    let code = sender.line().strip_prefix("code: ").unwrap().to_owned();
    let lines: Vec<_> = (0..5).map(|_| sender.line()).collect();
    assert_eq!(lines[1].trim(), format!("multihop recv {code}"));
    let command = lines[3].trim();
    let at = command.strip_prefix(&format!("multihop recv {code} --at ")).unwrap().to_owned();
    (sender, code, at)
}

fn recv(folder: &Folder, words: &str, at: &str, more: &[&str]) -> Said {
    let args: Vec<_> =
        ["recv"].into_iter().chain(words.split('-')).chain(["--at", at, "--to", "inbox"]).collect();
    Running::new(folder, &[&args, more].concat()).end(SOON)
}

/// A code that differs from the given one in its last word.
fn wrong(code: &str) -> String {
    let (front, last) = code.rsplit_once('-').unwrap();
    format!("{front}-{}", if last == "zoo" { "zone" } else { "zoo" })
}

#[test]
fn four_words_transfer_a_folder_once() {
    let folder = Folder::new("code");
    fs::create_dir(folder.path().join("photos")).unwrap();
    fs::write(folder.path().join("photos/one"), "a face\n").unwrap();
    let (mut sender, code, at) = send(&folder, &["photos"]);
    assert_eq!(code.split('-').count(), 4);
    let said = recv(&folder, &code, &at, &[]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.stdout.starts_with("received 1 file, 7 B in "), "{said:?}");
    let sent = sender.succeeds();
    assert!(sent.stdout.contains("sent 1 file, 7 B in ") && sent.stderr.is_empty(), "{sent:?}");
    assert_eq!(folder.read("inbox/photos/one"), "a face\n");
    let again = recv(&folder, &code, &at, &[]);
    assert_eq!(again.code, Some(1), "the code is used up");
    assert!(again.stderr.contains("the peer's port is closed"), "{again:?}");
}

/// A command with a token in its environment.
fn with_token(folder: &Folder, token: &str, args: &[&str]) -> Running {
    let mut command = Command::new("env");
    command.arg(format!("MULTIHOP_TOKEN={token}")).arg(env!("CARGO_BIN_EXE_multihop")).args(args);
    Running::of(&mut command, folder)
}

#[test]
fn with_a_token_in_the_environment_a_path_is_a_path_and_a_host_is_a_host() {
    let folder = Folder::new("inherited").with("note", "hello\n");
    fs::create_dir_all(folder.path().join("src/many")).unwrap();
    let token = "yb7ct-dg6nw-ktjew-np8cf-ar7yk";
    for paths in [&["src/many"][..], &["note", "src/many"], &["note"]] {
        let mut sender = with_token(&folder, token, &[&["send", "--listen", "127.0.0.1:0"], paths].concat());
        assert!(sender.line().starts_with("code: "), "{paths:?}");
        sender.interrupt();
        sender.end(SOON);
    }
    let args = ["recv", "--to", "inbox", "--listen", "127.0.0.1:0", "--once"];
    let mut receiver = with_token(&folder, token, &args);
    let to = receiver.address();
    with_token(&folder, token, &["send", "note", &to]).succeeds();
    receiver.succeeds();
    let said = with_token(&folder, token, &["send", "note", "src/none"]).end(SOON);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("'src/none' is neither a file, a folder nor HOST[:PORT]: "), "{said:?}");
}

#[test]
fn three_wrong_guesses_end_a_code() {
    let folder = Folder::new("guesses").with("note", "hello\n");
    let (mut sender, code, at) = send(&folder, &["note"]);
    for more in [&[][..], &["--quiet"], &["--json"]] {
        let said = recv(&folder, &wrong(&code), &at, more);
        assert_eq!(said.code, Some(1));
        assert!(said.stderr.ends_with(": the other end has another code\n"), "{said:?}");
        assert_eq!(said.stdout.contains("\"event\":\"failed\""), more == ["--json"], "{said:?}");
    }
    let said = sender.end(SOON);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("; 2 more of them end the code\n"), "{said:?}");
    assert!(said.stderr.contains("multihop: the code was guessed wrong three times"), "{said:?}");
    assert_eq!(recv(&folder, &code, &at, &[]).code, Some(1));
    assert!(!folder.path().join("inbox/note").exists());
}

#[test]
fn a_code_expires() {
    let folder = Folder::new("expires").with("note", "hello\n");
    let (mut sender, ..) = send(&folder, &["note", "--expire", "0.3"]);
    let said = sender.end(SOON);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("multihop: the code has expired"), "{said:?}");
}

#[test]
fn the_same_code_continues_an_interrupted_transfer() {
    const SIZE: usize = 40_000_000;
    let folder = Folder::new("code-again");
    fs::write(folder.path().join("large"), vec![7; SIZE]).unwrap();
    let (mut sender, code, at) = send(&folder, &["large"]);
    let args = ["recv", &code, "--at", &at, "--to", "inbox"];
    let mut first = Running::new(&folder, &args);
    let arrived = || {
        let names = fs::read_dir(folder.path().join("inbox")).into_iter().flatten();
        names.map(|name| name.unwrap().metadata().map_or(0, |data| data.len())).sum::<u64>()
    };
    until(|| arrived() > 1_000_000);
    first.kill();
    assert!(!folder.path().join("inbox/large").exists());
    let said = recv(&folder, &code, &at, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains(" already present"), "{said:?}");
    sender.succeeds();
    assert!(fs::read(folder.path().join("inbox/large")).unwrap() == vec![7; SIZE]);
}

#[test]
fn a_code_carries_standard_input_to_standard_output_and_events() {
    let folder = Folder::new("code-pipe");
    let mut sender = Running::new(&folder, &["send", "-", "--json", "--listen", "127.0.0.1:0"]);
    let event: serde_json::Value = serde_json::from_str(&sender.line()).unwrap();
    assert_eq!(event["event"], "code");
    let [code, at] = ["code", "address"].map(|key| event[key].as_str().unwrap().to_owned());
    assert_eq!(event["recv_at"][0], format!("multihop recv {code} --at {at}"));
    let mut input = sender.child.stdin.take().unwrap();
    input.write_all(b"from a pipe").unwrap();
    drop(input);
    let said = Running::new(&folder, &["recv", &code, "--at", &at, "--to", "-"]).succeeds();
    assert_eq!(said.stdout, "from a pipe");
    assert!(said.stderr.starts_with("received 1 file, 11 B in "), "{said:?}");
    let said = sender.succeeds();
    let last: serde_json::Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["moved"]), (&"end".into(), &11.into()));
}

#[test]
fn a_code_is_found_in_the_local_network() {
    let chain = match Chain::new(1) {
        Ok(chain) => chain,
        Err(error) => return println!("skipped: network namespaces need root and the command ip: {error}"),
    };
    let folder = Folder::new("code-found").with("note", "hello\n");
    let start = |host: usize, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
        chain.hosts[host].run(|| Running::of(command.args(args), &folder)).unwrap()
    };
    let mut sender = start(0, &["send", "note"]);
    let code = sender.line().strip_prefix("code: ").unwrap().to_owned();
    // The receiver finds the sender's host at two addresses; a wrong code still costs only one guess.
    assert_eq!(start(0, &["recv", &wrong(&code), "--to", "inbox"]).end(SOON).code, Some(1));
    // Another sender in the network does not lose a guess.
    let mut other = start(0, &["send", "note"]);
    let said = start(1, &["recv", &code, "--to", "inbox"]).succeeds();
    assert!(said.stdout.contains(" from 10.0.0.1:7453\n"), "{said:?}");
    let sent = sender.succeeds();
    assert!(sent.stderr.contains("; 2 more of them") && !sent.stderr.contains("; 1 more"), "{sent:?}");
    assert_eq!(folder.read("inbox/note"), "hello\n");
    let absent = if code.starts_with("zoo-") { "zone zoo zoo zoo" } else { "zoo zoo zoo zoo" };
    let args: Vec<_> = ["recv"].into_iter().chain(absent.split(' ')).collect();
    let said = start(1, &args).end(SOON);
    assert!(said.stderr.contains("no sender in the local network has this code"), "{said:?}");
    other.interrupt();
    assert!(!other.end(SOON).stderr.contains("wrong code"));
}

#[test]
fn wrong_words_and_wrong_combinations_are_rejected_before_anything_is_sent() {
    let folder = Folder::new("code-arguments").with("note", "hello\n");
    let attempts: [(&[&str], &str); 7] = [
        (
            &["recv", "kitten", "rivr", "zoo", "zoo"],
            "invalid code: 'rivr' is not a word of a code, did you mean 'river'?",
        ),
        (&["recv", "kitten", "river"], "invalid code: 2 words, allowed: 4"),
        (&["recv", "zoo", "zoo", "zoo", "zoo", "--plain"], "cannot be used with"),
        (&["recv", "--at", "host", "--to", "inbox"], "WORDS"),
        (&["recv"], "--to <DIR>"),
        (
            &["send", "note", "host"],
            "'host' is not a file or folder; to send to a host, pass --token, --key or --plain",
        ),
        (&["send", "host", "--plain"], "nothing to send: pass PATH before the host host:7450"),
    ];
    for (args, expected) in attempts {
        let output = multihop(&folder, args);
        assert_eq!(code(&output), 2, "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{args:?}: {}", stderr(&output));
    }
}
