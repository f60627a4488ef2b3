//! Classes of a tunnel: streams in channels of one connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use multihop_apps::tunnel::{Address, Classes, Dialer, Gateway, Gateways, gateway, socks};
use multihop_net::{Config, Listener, Security, Transport, mesh};
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::run;
use crate::tunnel::{LOCAL, ask, v4};

fn config(channels: bool) -> Config {
    let transport = Transport::mesh(mesh::Config::net());
    Config { channels, transport, ..Config::new(Security::Plain) }
}

/// A gateway for all targets of this host; its listener's address.
async fn far_end(config: Config) -> SocketAddr {
    let listener = Listener::bind(LOCAL, config).await.unwrap();
    let addr = listener.local_addr();
    let rules = vec!["localhost:*".parse().unwrap()];
    tokio::spawn(async move { gateway(&listener, rules, None, Classes::default()).await });
    addr
}

/// Address of a SOCKS5 server whose near end has these classes.
async fn proxy(gateway: SocketAddr, classes: &[String]) -> SocketAddr {
    let near = TcpListener::bind(LOCAL).await.unwrap();
    let addr = near.local_addr().unwrap();
    let classes = Classes::new(classes.iter().map(|rule| rule.parse().unwrap()).collect());
    let gateways = Gateways::Listed(vec![Gateway::new(&Address::from_addr(gateway), gateway)]);
    let dialer = Dialer::new(gateways, config(false), false, Some(classes));
    tokio::spawn(socks(near, dialer));
    addr
}

/// Both ends of a new connection through the tunnel.
async fn through(proxy: SocketAddr, target: &TcpListener) -> (TcpStream, TcpStream) {
    let request = v4(target.local_addr().unwrap());
    let (near, far) = tokio::join!(ask(proxy, &request), target.accept());
    assert_eq!(near.1, 0);
    (near.0, far.unwrap().0)
}

/// A relay of datagrams to a gateway, which counts the sources: one for each connection.
async fn counting(gateway: SocketAddr) -> (SocketAddr, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let front = Arc::new(tokio::net::UdpSocket::bind(LOCAL).await.unwrap());
    let addr = front.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        let mut backs: BTreeMap<SocketAddr, Arc<tokio::net::UdpSocket>> = BTreeMap::new();
        let mut buffer = vec![0; 65_536];
        loop {
            let Ok((length, from)) = front.recv_from(&mut buffer).await else { continue };
            if let Entry::Vacant(place) = backs.entry(from) {
                let back = Arc::new(tokio::net::UdpSocket::bind(LOCAL).await.unwrap());
                back.connect(gateway).await.unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
                let (front, reader) = (Arc::clone(&front), Arc::clone(&back));
                tokio::spawn(async move {
                    let mut buffer = vec![0; 65_536];
                    while let Ok(length) = reader.recv(&mut buffer).await {
                        let _ = front.send_to(&buffer[..length], from).await;
                    }
                });
                place.insert(back);
            }
            let _ = backs[&from].send(&buffer[..length]).await;
        }
    });
    (addr, count)
}

#[test]
fn connections_of_all_classes_share_one_connection_and_its_channels_are_used_again() {
    run(async {
        let (gateway, count) = counting(far_end(config(true)).await).await;
        let targets = [TcpListener::bind(LOCAL).await.unwrap(), TcpListener::bind(LOCAL).await.unwrap()];
        let urgent = format!("{}=0", targets[0].local_addr().unwrap().port());
        let proxy = proxy(gateway, &[urgent]).await;
        // More than there are channels, one after another.
        for round in 0..100_u32 {
            let (mut near, mut far) = through(proxy, &targets[round as usize % 2]).await;
            near.write_u32(round).await.unwrap();
            near.shutdown().await.unwrap();
            let mut heard = Vec::new();
            far.read_to_end(&mut heard).await.unwrap();
            assert_eq!(heard, round.to_be_bytes());
            far.write_all(b"answer").await.unwrap();
            drop(far);
            let mut answer = Vec::new();
            near.read_to_end(&mut answer).await.unwrap();
            assert_eq!(answer, b"answer");
        }
        assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 1);
    });
}

#[test]
fn more_connections_than_channels_have_connections_of_their_own() {
    run(async {
        let (gateway, count) = counting(far_end(config(true)).await).await;
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let proxy = proxy(gateway, &["1=0".to_owned()]).await;
        let mut open = Vec::new();
        for byte in 0..50 {
            let (mut near, far) = through(proxy, &target).await;
            near.write_u8(byte).await.unwrap();
            open.push((near, far));
        }
        for (byte, (_, far)) in (0..).zip(&mut open) {
            assert_eq!(far.read_u8().await.unwrap(), byte);
        }
        assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 1 + 2);
    });
}

#[test]
fn a_stream_that_nobody_reads_stops_no_other() {
    run(async {
        let gateway = far_end(config(true)).await;
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let proxy = proxy(gateway, &["1=0".to_owned()]).await;
        let (mut full, _unread) = through(proxy, &target).await;
        let fill = tokio::spawn(async move {
            let block = vec![7; 1 << 20];
            while full.write_all(&block).await.is_ok() {}
        });
        for byte in 0..20 {
            let (mut near, mut far) = through(proxy, &target).await;
            near.write_u8(byte).await.unwrap();
            assert_eq!(far.read_u8().await.unwrap(), byte);
        }
        fill.abort();
    });
}

#[test]
fn large_data_arrives_in_both_directions() {
    run(async {
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let proxy = proxy(far_end(config(true)).await, &["1=0".to_owned()]).await;
        let (mut near, mut far) = through(proxy, &target).await;
        let data: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[n as usize % 3]).collect();
        let copy = data.clone();
        let sending = tokio::spawn(async move {
            far.write_all(&copy).await.unwrap();
            let mut heard = vec![0; copy.len()];
            far.read_exact(&mut heard).await.unwrap();
            assert!(heard == copy);
        });
        let mut heard = vec![0; data.len()];
        near.read_exact(&mut heard).await.unwrap();
        assert!(heard == data);
        near.write_all(&data).await.unwrap();
        sending.await.unwrap();
    });
}

#[test]
fn a_reset_arrives_as_a_reset_and_frees_the_channel() {
    run(async {
        let (gateway, count) = counting(far_end(config(true)).await).await;
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let proxy = proxy(gateway, &["1=0".to_owned()]).await;
        for round in 0..60 {
            let (mut near, mut far) = through(proxy, &target).await;
            near.write_all(b"x").await.unwrap();
            assert_eq!(far.read_u8().await.unwrap(), b'x');
            let (quitter, mut other) = if round % 2 == 0 { (near, far) } else { (far, near) };
            SockRef::from(&quitter).set_linger(Some(Duration::ZERO)).unwrap();
            drop(quitter);
            let error = other.read_u8().await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "round {round}");
        }
        assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 1);
    });
}

/// After the end of its own data, a client resets: the target, which still writes, learns of it.
#[test]
fn a_reset_after_the_end_of_the_data_stops_the_other_direction() {
    run(async {
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let proxy = proxy(far_end(config(true)).await, &["1=0".to_owned()]).await;
        let (mut near, mut far) = through(proxy, &target).await;
        near.shutdown().await.unwrap();
        assert_eq!(far.read(&mut [0]).await.unwrap(), 0);
        SockRef::from(&near).set_linger(Some(Duration::ZERO)).unwrap();
        drop(near);
        let block = vec![7; 1 << 16];
        while far.write_all(&block).await.is_ok() {}
    });
}

#[test]
fn a_gateway_without_channels_serves_connections_of_their_own() {
    run(async {
        for config in [config(false), Config::new(Security::Plain)] {
            let gateway = far_end(config.clone()).await;
            let near = TcpListener::bind(LOCAL).await.unwrap();
            let entry = near.local_addr().unwrap();
            let gateways = Gateways::Listed(vec![Gateway::new(&Address::from_addr(gateway), gateway)]);
            let classes = Classes::new(vec!["1=0".parse().unwrap()]);
            tokio::spawn(socks(near, Dialer::new(gateways, config, false, Some(classes))));
            let target = TcpListener::bind(LOCAL).await.unwrap();
            for byte in 0..3 {
                let (mut near, mut far) = through(entry, &target).await;
                near.write_u8(byte).await.unwrap();
                assert_eq!(far.read_u8().await.unwrap(), byte);
            }
        }
    });
}

#[test]
fn a_refusal_of_the_gateway_reaches_the_client_and_frees_the_channel() {
    run(async {
        let (gateway, count) = counting(far_end(config(true)).await).await;
        let closed = {
            let listener = TcpListener::bind(LOCAL).await.unwrap();
            listener.local_addr().unwrap()
        };
        let proxy = proxy(gateway, &["1=0".to_owned()]).await;
        for _ in 0..60 {
            assert_eq!(ask(proxy, &v4(closed)).await.1, 5, "connection refused");
            assert_eq!(ask(proxy, &v4("127.0.0.1:1".parse().unwrap())).await.1, 5);
        }
        assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 1);
    });
}
