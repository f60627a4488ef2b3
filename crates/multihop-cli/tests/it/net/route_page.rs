//! `multihop route status --page` in a network namespace. How the page works is tested in `web/test`.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use multihop_linux::netns::Namespace;
use serde_json::Value;

/// A process that is killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn multihop(namespace: &Namespace, args: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
    command.arg("-q").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running(namespace.spawn(&mut command).unwrap())
}

/// The status line and the content of an answer.
fn answer(namespace: &Namespace, address: &str, request: &str) -> (String, String) {
    let mut stream = namespace.run(|| TcpStream::connect(address)).unwrap().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, content) = text.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), content.to_owned())
}

#[test]
fn the_page_of_a_daemon_shows_its_state_and_changes_nothing() {
    let Ok(host) = Namespace::new().and_then(|made| made.ip("link set lo up").map(|()| made)) else {
        println!("skipped: network namespaces need root and the command ip");
        return;
    };
    let mut server = multihop(&host, &["route", "status", "--page", "127.0.0.1:0"]);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        let mut error = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert!(error.contains("built without its pages"), "{error}");
        println!("skipped: the command was built without its pages");
        return;
    }
    let address = line.strip_prefix("open http://").and_then(|rest| rest.split_once('/')).unwrap().0;
    let get = |path: &str| answer(&host, address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let (status, text) = get("/status");
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert!(text.starts_with("no multihop route for IPv4 answers in this network namespace"), "{text}");

    let _daemon = multihop(&host, &["route", "none"]);
    let begun = Instant::now();
    let shown = loop {
        let (status, text) = get("/status");
        if status == "HTTP/1.1 200 OK" {
            break serde_json::from_str::<Value>(&text).unwrap();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {status}");
        thread::sleep(Duration::from_millis(50));
    };
    assert_eq!((&shown["protocol"], &shown["interfaces"][0]["name"]), (&"olsr".into(), &"none".into()));
    let (status, page) = get("/");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(page.contains("connect-src 'self'") && page.contains("</html>"));

    assert_eq!(get("/../etc/passwd").0, "HTTP/1.1 404 Not Found");
    let post = format!("POST /status HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(answer(&host, address, &post), ("HTTP/1.1 404 Not Found".to_owned(), String::new()));
    let (status, text) = answer(&host, address, "GET /status HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_eq!(
        (&*status, &*text),
        ("HTTP/1.1 403 Forbidden", "open this page at its IP address or at localhost")
    );

    // Clients that send nothing are many more than the server has places for.
    let silent: Vec<_> =
        (0..200).map(|_| host.run(|| TcpStream::connect(address)).unwrap().unwrap()).collect();
    assert_eq!(get("/").0, "HTTP/1.1 200 OK");
    drop(silent);
}
