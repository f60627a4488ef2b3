//! One connection over two veth pairs between network namespaces, whose kernels choose the routes.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use multihop_linux::netns::Namespace;
use multihop_net::{Config, Listener, Security, Stream, Token, Transport, TransportName, mesh};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::chain::{block_on, possible, until_dropped};

/// The caller's addresses, and the address of the listener, which only the first path has a route to.
const CALLER: [[u8; 4]; 2] = [[10, 82, 1, 1], [10, 82, 2, 1]];
const LISTENER: [u8; 4] = [10, 82, 1, 2];

fn config() -> Config {
    let name = TransportName::new("mesh/3").expect("short");
    let transport = Transport { name, config: Arc::new(mesh::Config::net()) };
    let security = Security::Token(Token::from_bytes([1; 15]));
    Config { transport, or_tpa: None, ..Config::new(security) }
}

/// A caller and a listener, joined by two veth pairs of 8 Mb/s; `None` without namespaces or token buckets.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn hosts() -> Option<[Namespace; 2]> {
    let [near, far] = [possible(Namespace::new())?, possible(Namespace::new())?];
    for path in 1..=2 {
        let (name, ends) = (format!("path{path}"), [1, 2].map(|end| format!("10.82.{path}.{end}/24")));
        near.join((&name, &ends[0]), &far, (&name, &ends[1])).unwrap();
        let words = format!("qdisc add dev {name} root tbf rate 8mbit burst 8k limit 40k");
        let shaped = near.run(|| Command::new("tc").args(words.split_whitespace()).output()).unwrap();
        if !shaped.is_ok_and(|shaped| shaped.status.success()) {
            println!("skipped: tc cannot shape a link (tbf)");
            return None;
        }
    }
    Some([near, far])
}

/// Bytes that have left a namespace by each path.
fn sent(namespace: &Namespace) -> [u64; 2] {
    let table = namespace.run(|| fs::read_to_string("/proc/thread-self/net/dev")).unwrap().unwrap();
    ["path1:", "path2:"].map(|path| {
        let line = table.lines().find_map(|line| line.trim().strip_prefix(path)).expect("an interface");
        line.split_whitespace().nth(8).expect("sixteen numbers").parse().expect("a number")
    })
}

/// Waits until a number of bytes has arrived, as long as the writer lives.
async fn wait_for(arrived: &AtomicU64, bytes: u64) {
    while arrived.load(Ordering::Relaxed) < bytes {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn a_stream_uses_two_local_addresses_and_survives_the_loss_of_either() {
    let Some([near, far]) = hosts() else { return };
    let address = SocketAddr::new(LISTENER.into(), 7000);
    let arrived = AtomicU64::new(0);
    let (listens, listening) = std::sync::mpsc::channel();
    let (held, end) = until_dropped();
    let read = || {
        block_on(async {
            let listener = Listener::bind(address, config()).await.unwrap();
            listens.send(()).unwrap();
            let mut stream = listener.accept().await.unwrap();
            let mut sink = vec![0; 65536];
            loop {
                let n = stream.read(&mut sink).await.unwrap();
                arrived.fetch_add(n as u64, Ordering::Relaxed);
                if n == 0 {
                    break;
                }
            }
            end.await;
        });
    };
    let write = || {
        let _held = held;
        block_on(async {
            let local = CALLER.map(IpAddr::from).to_vec();
            let stream = Stream::connect(address, &Config { local, ..config() }).await.unwrap();
            let (_reader, mut writer) = tokio::io::split(stream);
            let (stops, mut stop) = tokio::sync::oneshot::channel::<()>();
            let data = tokio::spawn(async move {
                while stop.try_recv().is_err() {
                    writer.write_all(&[7; 16384]).await.unwrap();
                }
                writer.shutdown().await.unwrap();
            });
            wait_for(&arrived, 1_000_000).await;
            while sent(&near)[1] < 1_000_000 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // All packets on the path go to a station that does not exist.
            for (path, peer) in [(1, "10.82.1.2"), (2, "10.82.1.2")] {
                let (link, other) = (format!("path{path}"), 2 - path);
                near.ip(&format!("neigh replace {peer} lladdr 02:00:00:00:00:99 dev {link}")).unwrap();
                let before = (arrived.load(Ordering::Relaxed), sent(&near)[other]);
                wait_for(&arrived, before.0 + 1_500_000).await;
                assert!(sent(&near)[other] >= before.1 + 1_000_000, "by the other path");
                near.ip(&format!("neigh del {peer} dev {link}")).unwrap();
                let before = sent(&near)[path - 1];
                while sent(&near)[path - 1] < before + 500_000 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            stops.send(()).unwrap();
            data.await.unwrap();
        });
    };
    thread::scope(|scope| {
        scope.spawn(|| far.run(read).unwrap());
        listening.recv().unwrap();
        near.run(write).unwrap();
    });
}

#[test]
fn local_addresses_that_cannot_work_are_refused() {
    let refused = |local: &[&str], security: Security, peer: &str| {
        let local = local.iter().map(|address| address.parse().unwrap()).collect();
        let config = Config { local, security, ..config() };
        let error: io::Error = block_on(Stream::connect(peer.parse().unwrap(), &config)).unwrap_err();
        error.to_string()
    };
    let token = || Security::Token(Token::from_bytes([1; 15]));
    let cases = [
        (&["10.0.0.1", "10.0.0.2", "10.0.0.3"][..], token(), "127.0.0.1:1", "3 local addresses, allowed: 2"),
        (
            &["10.0.0.1", "10.0.0.1"],
            token(),
            "127.0.0.1:1",
            "two paths need two local addresses, and both are 10.0.0.1",
        ),
        (
            &["10.0.0.1", "10.0.0.2"],
            Security::Plain,
            "127.0.0.1:1",
            "two local addresses need a token or keys: a plain connection has one path",
        ),
        (&["10.0.0.1"], token(), "[::1]:1", "10.0.0.1 and [::1]:1 are addresses of different IP versions"),
        (&["203.0.113.9"], token(), "127.0.0.1:1", "no interface of this host has the address 203.0.113.9"),
    ];
    for (local, security, peer, text) in cases {
        assert_eq!(refused(local, security, peer), text);
    }
}
