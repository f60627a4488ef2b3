//! C programs that know only the header, the library and its pkg-config file.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use multihop_net::{Identity, SecretFile, SharedKey};
use tempfile::TempDir;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// The installed library; `None` if a tool for installing or compiling is missing.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn installed() -> Option<TempDir> {
    for tool in ["cc", "pkg-config", "python3"] {
        if Command::new(tool).arg("--version").output().is_err() {
            println!("skipped: {tool} not found");
            return None;
        }
    }
    let prefix = tempfile::tempdir().unwrap();
    let built = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut install = Command::new("python3");
    install.arg(Path::new(CRATE).join("../../tools/install_libtpa.py"));
    assert!(install.arg(prefix.path()).arg("--built").arg(built).status().unwrap().success());
    Some(prefix)
}

/// Compiles a program as the manual describes.
fn compile(prefix: &Path, source: &Path, how: &str) -> PathBuf {
    let program = prefix.join(source.file_stem().unwrap());
    let script =
        "cc -std=gnu11 -Wall -Wextra -Werror -pthread -o \"$1\" \"$2\" $(pkg-config --cflags --libs $3 tpa)";
    let mut cc = Command::new("sh");
    cc.args(["-c", script, "sh"]).arg(&program).arg(source).arg(how);
    let done = cc.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

fn start(prefix: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    command
}

fn test_source(name: &str) -> PathBuf {
    Path::new(CRATE).join("tests/it/c").join(name)
}

fn example(name: &str) -> PathBuf {
    Path::new(CRATE).join("../../examples/c").join(name)
}

/// Runs a test program, which checks everything itself.
fn check(name: &str) {
    let Some(prefix) = installed() else { return };
    let program = compile(prefix.path(), &test_source(name), "");
    let done = start(prefix.path(), &program).output().unwrap();
    assert!(done.status.success(), "{}: {}", done.status, String::from_utf8_lossy(&done.stderr));
}

#[test]
fn calls_behave_like_those_of_sockets() {
    check("calls.c");
}

#[test]
fn messages_arrive_with_their_options_gaps_and_errors() {
    check("messages.c");
}

#[test]
fn an_operator_sends_a_command_to_a_vehicle() {
    let Some(prefix) = installed() else { return };
    let program = compile(prefix.path(), &example("messages.c"), "");
    let token = multihop_net::Token::generate().unwrap().to_string();
    let mut vehicle = start(prefix.path(), &program).arg(&token).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(vehicle.stdout.take().unwrap()).lines().map(Result::unwrap);
    let port = lines.next().unwrap().strip_prefix("port ").unwrap().to_owned();
    let operator = start(prefix.path(), &program).args([&token, &port]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&operator.stdout), "arm ok\n");
    assert!(operator.status.success() && vehicle.wait().unwrap().success());
    assert_eq!(lines.next().unwrap(), "command of 3 bytes");
}

#[test]
fn signals_interrupt_calls_like_those_of_sockets() {
    check("signals.c");
}

#[test]
fn a_child_of_fork_gets_errors_and_does_not_hang() {
    check("fork.c");
}

#[test]
fn a_program_can_link_the_static_library() {
    let Some(prefix) = installed() else { return };
    fs::remove_file(prefix.path().join("lib/libtpa.so")).unwrap();
    let program = compile(prefix.path(), &test_source("abi.c"), "--static");
    assert!(Command::new(program).status().unwrap().success());
}

#[test]
fn the_header_has_the_numbers_of_the_library() {
    let Some(prefix) = installed() else { return };
    let program = compile(prefix.path(), &test_source("abi.c"), "");
    let done = start(prefix.path(), &program).output().unwrap();
    let options = fs::read_to_string(Path::new(CRATE).join("src/sockopt.rs")).unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(said.lines().count(), 20);
    for line in said.lines() {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let expected = match name.strip_prefix("TPA_") {
            Some(name) => format!("const {name}: i32 = {value};"),
            None => {
                assert_eq!(value, (13 * 8 + 4 * 4).to_string(), "RawStats");
                continue;
            }
        };
        assert!(options.contains(&expected), "{expected}");
    }
}

#[test]
fn a_strict_caller_a_shared_key_and_a_silent_listener() {
    let Some(prefix) = installed() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let [listener, caller, stranger] = [1, 2, 3].map(|n| Identity::from_secret([n; 32]));
    for (identity, name) in [(&listener, "listener"), (&caller, "caller"), (&stranger, "stranger")] {
        identity.save(&file(name)).unwrap();
    }
    SharedKey::generate().unwrap().save(&file("shared")).unwrap();
    SharedKey::generate().unwrap().save(&file("other")).unwrap();
    fs::write(file("authorized_keys"), format!("{}\n", caller.public())).unwrap();
    let program = compile(prefix.path(), &test_source("security.c"), "");
    let done =
        start(prefix.path(), &program).current_dir(&folder).arg(listener.public().to_string()).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}: {}", done.status, String::from_utf8_lossy(&done.stderr));
}

#[test]
fn an_echo_server_and_a_client_that_polls() {
    echo(None);
}

#[test]
fn a_token_authenticates_client_and_server() {
    echo(Some(multihop_net::Token::generate().unwrap().to_string()));
}

fn echo(token: Option<String>) {
    let Some(prefix) = installed() else { return };
    let server = compile(prefix.path(), &example("echo_server.c"), "");
    let client = compile(prefix.path(), &example("echo_client.c"), "");
    let mut server =
        start(prefix.path(), &server).arg("0").args(&token).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().strip_prefix("port ").unwrap();

    let mut client = start(prefix.path(), &client)
        .args(["127.0.0.1", port])
        .args(&token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let data: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_be_bytes).take(1_000_000).collect();
    let mut input = client.stdin.take().unwrap();
    let sent = data.clone();
    let writer = std::thread::spawn(move || input.write_all(&sent).unwrap());
    let back = client.wait_with_output().unwrap();
    writer.join().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(back.status.success());
    assert!(back.stdout == data, "{} bytes came back", back.stdout.len());
}
