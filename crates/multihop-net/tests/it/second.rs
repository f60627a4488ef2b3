//! Interoperability with a second implementation of the encrypted protocol, in Python from docs/wire.md.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use multihop_net::{Config, Identity, Listener, Peers, PublicKey, SecretFile, Security, Token};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::loopback::{LOCAL, pattern};
use crate::run;

#[test]
fn a_second_implementation_can_connect_with_a_token() {
    let token = Token::from_bytes(*b"fifteen letters");
    let secret = token.to_string().to_uppercase();
    talk(Config::new(Security::Token(token)), secret, None);
}

#[test]
fn a_second_implementation_can_connect_with_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (caller, file) = (Identity::generate().unwrap(), folder.path().join("key"));
    caller.save(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let secret = text.lines().nth(1).unwrap().to_owned();
    let (identity, peers) = (Identity::generate().unwrap(), Peers::Exactly(caller.public()));
    talk(Config::new(Security::Keys { identity, peers }), secret, Some(caller.public()));
}

/// Data both ways between a listener and the second implementation.
#[expect(clippy::print_stdout, reason = "a skipped test prints the reason")]
fn talk(config: Config, secret: String, key: Option<PublicKey>) {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3");
        return;
    }
    run(async {
        let listener = Listener::bind(LOCAL, config).await.unwrap();
        let addr = listener.local_addr();
        let caller = tokio::task::spawn_blocking(move || call(addr, &secret));
        let mut stream = listener.accept().await.unwrap();
        assert_eq!(stream.peer_key(), key);
        let mut there = Vec::new();
        stream.read_to_end(&mut there).await.unwrap();
        assert!(there == pattern(20_000));
        stream.write_all(&pattern(10_000)).await.unwrap();
        stream.shutdown().await.unwrap();
        let output = caller.await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(output.stdout == pattern(10_000));
        // The second implementation requests new keys after four datagrams.
        let changes: u64 = said.split(' ').next().unwrap().parse().unwrap();
        assert!(changes >= 4, "{said}");
    });
}

fn call(addr: SocketAddr, secret: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tests/sealed_peer.py");
    let mut caller = Command::new("python3")
        .arg(script)
        .args([&addr.ip().to_string(), &addr.port().to_string(), secret])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    caller.stdin.take().unwrap().write_all(&pattern(20_000)).unwrap();
    caller.wait_with_output().unwrap()
}
