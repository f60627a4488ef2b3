//! `--metrics`, read by a Prometheus server, which also evaluates the queries of the dashboard.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use multihop_linux::netns::Namespace;
use serde_json::Value;

use super::*;

/// Program of Prometheus 2.
const PROMETHEUS: &str = "/usr/bin/prometheus";
const CONFIGURATION: &str = "\
global: { scrape_interval: 500ms }
scrape_configs:
  - job_name: multihop
    static_configs: [ { targets: ['127.0.0.1:9461', '127.0.0.1:9462', '127.0.0.1:9463', '127.0.0.1:9464'] } ]
";

/// Starts a command in a namespace.
fn start(namespace: &Namespace, folder: &Folder, program: &str, args: &[&str]) -> Running {
    let mut command = Command::new(program);
    command.args(args);
    namespace.run(|| Running::of(&mut command, folder)).unwrap()
}

fn multihop_in(namespace: &Namespace, folder: &Folder, args: &[&str]) -> Running {
    start(namespace, folder, env!("CARGO_BIN_EXE_multihop"), args)
}

/// Content of an answer by HTTP; `None` while nothing answers.
fn get(namespace: &Namespace, address: &str, path: &str) -> Option<String> {
    let mut stream = namespace.run(|| TcpStream::connect(address)).unwrap().ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

/// The answer of an interface of Prometheus.
fn ask(namespace: &Namespace, path: &str) -> Option<Value> {
    let answer: Value = serde_json::from_str(&get(namespace, "127.0.0.1:9090", path)?).ok()?;
    assert_eq!(answer["status"], "success", "{path}: {answer}");
    Some(answer["data"].clone())
}

/// The queries of the dashboard, with a range for rates.
fn queries() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/grafana/multihop.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let query = |target: &Value| target["expr"].as_str().unwrap().replace("$__rate_interval", "1m");
    targets.map(query).collect()
}

fn encoded(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Two hosts: a router with all services, and its neighbour.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn hosts() -> Option<[Namespace; 2]> {
    let make = || Namespace::new().and_then(|made| made.ip("link set lo up").map(|()| made));
    let (Ok(host), Ok(other)) = (make(), make()) else {
        println!("skipped: network namespaces need root and the command ip");
        return None;
    };
    host.join(("veth-a", "10.0.1.1/24"), &other, ("veth-b", "10.0.1.2/24")).unwrap();
    Some([host, other])
}

/// Answers each connection with the bytes that it sent.
fn echo(namespace: &Namespace) -> String {
    let listener = namespace.run(|| TcpListener::bind("127.0.0.1:0")).unwrap().unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 5];
            let _ = stream.read_exact(&mut bytes).and_then(|()| stream.write_all(&bytes));
        }
    });
    address
}

#[test]
fn prometheus_reads_all_metrics_and_the_dashboard_shows_them() {
    let Some([host, other]) = hosts() else { return };
    if !PathBuf::from(PROMETHEUS).exists() {
        println!("skipped: {PROMETHEUS} is not installed");
        return;
    }
    let folder = Folder::new("metrics").with("prometheus.yml", CONFIGURATION).with("file", "hello");
    let apdr = ["--set", "routing.protocol=apdr", "--set", "routing.hello_interval=0.5"];
    let run = |host, args: &[&str]| multihop_in(host, &folder, args);
    let _router = run(&host, &[&["route", "veth-a", "--metrics", "127.0.0.1:9461"], &apdr[..]].concat());
    let _neighbour = run(&other, &[&["route", "veth-b"], &apdr[..]].concat());
    let recv = ["recv", "--to", "in", "--listen", "127.0.0.1", "--metrics", "127.0.0.1:9462"];
    let mut receiver = run(&host, &recv);
    receiver.address();
    let token = receiver.line().strip_prefix("token: ").unwrap().to_owned();
    let target = echo(&host);
    let gateway = ["tunnel", "--listen", "127.0.0.1", "--allow", &target, "--metrics", "127.0.0.1:9463"];
    let mut gateway = run(&host, &gateway);
    gateway.address();
    let other_token = gateway.line().strip_prefix("token: ").unwrap().to_owned();
    let forward = format!("127.0.0.1:8080:{target}");
    let near = [
        "tunnel",
        "127.0.0.1",
        "--token",
        &other_token,
        "--forward",
        &forward,
        "--metrics",
        "127.0.0.1:9464",
    ];
    let mut near = run(&host, &near);
    assert!(near.line().starts_with("127.0.0.1:8080 -> "));
    run(&host, &["send", "file", "127.0.0.1", "--token", &token]).succeeds();
    let mut refused = run(&host, &["send", "file", "127.0.0.1", "--token", &other_token, "--patience", "1"]);
    assert_ne!(refused.end(SOON).code, Some(0));
    let mut stream = host.run(|| TcpStream::connect("127.0.0.1:8080")).unwrap().unwrap();
    stream.write_all(b"hello").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    drop(stream);
    assert_eq!(answer, "hello");

    let options =
        ["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:9090"];
    let _prometheus = start(&host, &folder, PROMETHEUS, &options);
    for query in queries() {
        let path = format!("/api/v1/query?query={}", encoded(&query));
        let mut last = None;
        let is_shown = || {
            last = ask(&host, &path);
            last.as_ref().is_some_and(|data| data["result"] != Value::Array(Vec::new()))
        };
        assert!(within(is_shown), "{query}: {last:?}");
    }
    let metadata = ask(&host, "/api/v1/metadata").unwrap();
    let ours = metadata.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("multihop_"));
    let mut count = 0;
    for (name, described) in ours {
        for part in ["type", "help", "unit"] {
            assert_ne!(described[0][part].as_str(), Some(""), "{name} has no {part}");
        }
        count += 1;
    }
    assert!(count >= 34, "{count} metrics");
    let moved =
        ask(&host, &format!("/api/v1/query?query={}", encoded("multihop_recv_moved_bytes_total"))).unwrap();
    assert_eq!(moved["result"][0]["value"][1], "5");
    assert_eq!(get(&host, "127.0.0.1:9461", "/other").unwrap(), "");
}

/// Whether a condition holds within a minute.
fn within(mut holds: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        if holds() {
            return true;
        }
        thread::sleep(Duration::from_millis(100));
    }
    false
}
