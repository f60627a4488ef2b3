//! Many connections over real sockets, in parallel and in turn: in its own process, so that no other test changes
//! its descriptors and memory.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use multihop_net::{Config, Listener, Security, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn a_thousand_connections_at_once_and_ten_thousand_in_turn_leak_nothing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(LIMIT, soak()).await.expect("it hangs, or descriptors leak")
    });
}

async fn soak() {
    let config = config();
    let listener =
        Listener::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0), config.clone()).await.unwrap();
    let to = listener.local_addr();
    let idle = what_there_is().descriptors;
    let server = tokio::spawn(async move {
        loop {
            tokio::spawn(echo(listener.accept().await.unwrap()));
        }
    });
    all_at_once(&config, to, 1000).await;
    in_turn(&config, to, 5000).await;
    let before = settled(idle).await;
    in_turn(&config, to, 10_000).await;
    let after = settled(idle).await;
    // A kilobyte per connection; the allocator keeps less.
    assert!(after.bytes < before.bytes + 10_000_000, "{before:?}, then {after:?}");
    server.abort();
}

/// All are open before any is closed.
async fn all_at_once(config: &Config, to: SocketAddr, count: usize) {
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(Stream::connect(to, config).await.unwrap());
    }
    assert!(what_there_is().descriptors.is_none_or(|n| n > count));
    let talks: Vec<_> = streams.into_iter().map(|stream| tokio::spawn(talk(stream))).collect();
    for talk in talks {
        talk.await.unwrap();
    }
}

/// A few at a time.
async fn in_turn(config: &Config, to: SocketAddr, count: usize) {
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let config = config.clone();
            tokio::spawn(async move {
                for _ in 0..count / CALLERS {
                    talk(Stream::connect(to, &config).await.unwrap()).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

async fn talk(mut stream: Stream) {
    stream.write_all(&[7; 1000]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).await.unwrap();
    assert_eq!(back, [7; 1000]);
}

async fn echo(mut stream: Stream) {
    let mut data = Vec::new();
    stream.read_to_end(&mut data).await.unwrap();
    stream.write_all(&data).await.unwrap();
    stream.shutdown().await.unwrap();
}

fn config() -> Config {
    let mut config = Config::new(Security::Plain);
    config.lifecycle.linger = multihop_core::Duration::from_millis(50);
    config.limits.handshakes = 1_000_000;
    (config.limits.connections, config.limits.backlog) = (2000, 2000);
    config
}

/// Resources that a process can leak; `None` if the system does not report them.
#[derive(Debug)]
struct Left {
    descriptors: Option<usize>,
    bytes: u64,
}

/// The resources after the last connections have ended completely, when only `idle` descriptors are left.
async fn settled(idle: Option<usize>) -> Left {
    while what_there_is().descriptors != idle {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    what_there_is()
}

fn what_there_is() -> Left {
    let descriptors = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    Left { descriptors, bytes: resident * 4096 }
}

const CALLERS: usize = 20;
const LIMIT: Duration = Duration::from_secs(120);
