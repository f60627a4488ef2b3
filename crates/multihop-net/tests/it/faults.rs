//! Streams over networks that lose, duplicate, reorder and damage datagrams. A longer study: `python3 tools/net_study.py`.

use std::net::SocketAddr;

use multihop_core::Duration;
use multihop_net::{Config, Listener, Security, Stream, Token, Transport, tpa};
use multihop_testkit::impaired::{Relay, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::loopback::{LOCAL, pattern};
use crate::run;

const BYTES: usize = 150_000;

fn faults() -> Settings {
    // A fifth of the datagrams is lost or damaged, so some of the two hundred of a stream are certainly damaged.
    Settings { loss: 0.15, duplicate: 0.05, reorder: 0.1, corrupt: 0.05, ..Settings::default() }
}

fn config(security: Security) -> Config {
    let mut config = Config::new(security);
    let rto = tpa::RtoConfig { max: Duration::from_secs(1), ..tpa::Config::net().rto };
    config.transport = Transport::tpa(tpa::Config { cwnd_max: 12, rto, ..tpa::Config::net() });
    // Five SYNs, the default, fail in 6 of 100 such networks, because two answers must arrive.
    config.lifecycle.syn_retries = None;
    config.lifecycle.syn_wait = Duration::from_millis(100);
    config.lifecycle.syn_wait_max = Some(Duration::from_secs(1));
    config
}

async fn send(to: SocketAddr, config: &Config) {
    let mut stream = Stream::connect(to, config).await.unwrap();
    stream.write_all(&pattern(BYTES)).await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
}

async fn receive(listener: Listener) {
    let mut stream = listener.accept().await.unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.unwrap();
    assert!(all == pattern(BYTES), "{} bytes arrived", all.len());
    stream.shutdown().await.unwrap();
}

#[test]
fn a_bad_relay_only_delays_an_encrypted_stream() {
    run(async {
        let config = config(Security::Token(Token::generate().unwrap()));
        let listener = Listener::bind(LOCAL, config.clone()).await.unwrap();
        let relay = Relay::start(LOCAL, listener.local_addr(), faults(), 1).unwrap();
        tokio::join!(send(relay.address(), &config), receive(listener));
        let [there, back] = relay.counters();
        assert!(there.corrupted + back.corrupted > 0, "{there:?}, {back:?}");
    });
}

/// A damaged datagram keeps its UDP checksum, as on a real link. The relay cannot do that, and the plain
/// protocol has no other checksum.
#[cfg(target_os = "linux")]
#[test]
fn a_bad_link_only_delays_a_plain_stream() {
    let Some(path) = crate::chain::possible(multihop_testkit::impaired::Path::start(&faults(), 1500, 2))
    else {
        return;
    };
    let address: SocketAddr = "10.77.0.2:7000".parse().unwrap();
    let config = config(Security::Plain);
    let (listens, listening) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            path.far.run(|| {
                run(async {
                    let listener = Listener::bind(address, config.clone()).await.unwrap();
                    listens.send(()).unwrap();
                    receive(listener).await;
                })
            })
        });
        listening.recv().unwrap();
        path.near.run(|| run(send(address, &config))).unwrap();
    });
    let [there, back] = path.counters();
    assert!(there.corrupted + back.corrupted > 0, "{there:?}, {back:?}");
}
