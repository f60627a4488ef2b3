//! The sealed protocol a second time: in Python, from its page alone.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use multihop_net::{Config, Security, Token, TpaListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::loopback::{LOCAL, pattern, within};

#[test]
fn whoever_has_read_the_page_can_talk_to_a_listener_with_a_token() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tests/sealed_peer.py");
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3");
        return;
    }
    within(30, async {
        let token = Token::from_bytes(*b"fifteen letters");
        let listener = TpaListener::bind(LOCAL, Config::new(Security::Token(token.clone()))).await.unwrap();
        let addr = listener.local_addr();
        let caller = tokio::task::spawn_blocking(move || {
            let mut caller = Command::new("python3")
                .arg(script)
                .args([addr.ip().to_string(), addr.port().to_string(), token.to_string().to_uppercase()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            caller.stdin.take().unwrap().write_all(&pattern(20_000)).unwrap();
            caller.wait_with_output().unwrap()
        });
        let mut stream = listener.accept().await.unwrap();
        let mut there = Vec::new();
        stream.read_to_end(&mut there).await.unwrap();
        assert!(there == pattern(20_000));
        stream.write_all(&pattern(10_000)).await.unwrap();
        stream.shutdown().await.unwrap();
        let output = caller.await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(output.stdout == pattern(10_000));
        // It changes its key every four datagrams.
        let changes: u64 = said.split(' ').next().unwrap().parse().unwrap();
        assert!(changes >= 4, "{said}");
    });
}
