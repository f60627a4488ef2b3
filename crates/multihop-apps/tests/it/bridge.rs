//! Streams as file descriptors, for programs in other languages.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use multihop_apps::bridge::{Bridge, BridgeListener};
use multihop_net::{Config, Listener, Security, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::run;

const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn plain() -> Config {
    Config::new(Security::Plain)
}

/// A bridged caller, its descriptor, and the listener's stream.
async fn bridged() -> (Bridge, UnixStream, Stream) {
    let config = plain();
    let listener = Listener::bind(LOCAL, config.clone()).await.expect("a free port");
    let (caller, answerer) = tokio::join!(Stream::connect(listener.local_addr(), &config), listener.accept());
    let (bridge, descriptor) = Bridge::new(caller.expect("connects")).expect("descriptors are left");
    (bridge, descriptor.into(), answerer.expect("is accepted"))
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| u8::try_from((i * 31 + i / 251) % 256).expect("below 256")).collect()
}

#[test]
fn a_program_writes_shuts_down_and_reads() {
    run(async {
        let (bridge, mut program, mut answerer) = bridged().await;
        let there = pattern(300_000);
        let data = there.clone();
        let program = tokio::task::spawn_blocking(move || {
            program.write_all(&data).unwrap();
            program.shutdown(Shutdown::Write).unwrap();
            let mut back = Vec::new();
            program.read_to_end(&mut back).unwrap();
            back
        });
        let mut all = Vec::new();
        answerer.read_to_end(&mut all).await.unwrap();
        assert!(all == there);
        answerer.write_all(b"thanks").await.unwrap();
        answerer.shutdown().await.unwrap();
        assert_eq!(program.await.unwrap(), b"thanks");
        bridge.closed().await.unwrap();
        assert!(bridge.error().is_none());
    });
}

#[test]
fn data_written_before_the_descriptor_was_closed_arrives() {
    run(async {
        let (bridge, mut program, mut answerer) = bridged().await;
        program.write_all(&pattern(100_000)).unwrap();
        drop(program);
        let mut all = vec![0; 100_000];
        answerer.read_exact(&mut all).await.unwrap();
        assert!(all == pattern(100_000));
        bridge.closed().await.unwrap();
    });
}

#[test]
fn a_reset_is_reported_before_the_descriptor_closes() {
    run(async {
        let (bridge, mut program, answerer) = bridged().await;
        answerer.abort();
        let end = tokio::task::spawn_blocking(move || program.read(&mut [0; 10]).unwrap()).await.unwrap();
        assert_eq!(end, 0);
        assert_eq!(bridge.error().expect("a reason").kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_program_that_does_not_read_stops_the_sender() {
    run(async {
        let (_bridge, program, mut answerer) = bridged().await;
        let flood = vec![0; 4_000_000];
        let sending = tokio::time::timeout(Duration::from_millis(500), answerer.write_all(&flood)).await;
        assert!(sending.is_err(), "4 MB went to a program that reads nothing");
        drop(program);
    });
}

#[test]
fn threads_without_tokio_connect_and_accept() {
    let listener = BridgeListener::bind(LOCAL, plain()).unwrap();
    assert_eq!(listener.try_accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (caller, program) = Bridge::connect(listener.local_addr(), &plain()).unwrap();
            let mut program = UnixStream::from(program);
            program.write_all(b"hello").unwrap();
            assert_eq!(caller.stream().peer_addr(), listener.local_addr());
        });
        let (_answerer, program) = listener.accept().unwrap();
        let mut all = String::new();
        UnixStream::from(program).read_to_string(&mut all).unwrap();
        assert_eq!(all, "hello");
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            listener.close();
        });
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}
