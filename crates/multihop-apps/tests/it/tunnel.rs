//! TCP carried over TPA, all on this host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use multihop_apps::tunnel::{
    Address, Classes, Dialer, Gateway, Gateways, forward, gateway, socks, transparent,
};
use multihop_net::{Config, Listener, Security, Stream};
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::run;

pub(crate) const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A gateway with these rules; its address.
async fn far_end(rules: &[&str]) -> SocketAddr {
    let listener = Listener::bind(LOCAL, Config::new(Security::Plain)).await.unwrap();
    let addr = listener.local_addr();
    let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    tokio::spawn(async move { gateway(&listener, rules, None, Classes::default()).await });
    addr
}

/// These gateways, in this order.
fn listed(gateways: &[SocketAddr]) -> Gateways {
    let gateway = |at: &SocketAddr| Gateway::new(&Address::from_addr(*at), *at);
    Gateways::Listed(gateways.iter().map(gateway).collect())
}

fn dialer(gateway: SocketAddr) -> std::sync::Arc<Dialer> {
    Dialer::new(listed(&[gateway]), Config::new(Security::Plain), false, None)
}

/// A connection through the tunnel, and its other end at the target.
async fn through() -> (TcpStream, TcpStream) {
    let target = TcpListener::bind(LOCAL).await.unwrap();
    let wanted = Address::from_addr(target.local_addr().unwrap());
    let near = TcpListener::bind(LOCAL).await.unwrap();
    let addr = near.local_addr().unwrap();
    tokio::spawn(forward(near, wanted, dialer(far_end(&["localhost:*"]).await)));
    let (near, far) = tokio::join!(TcpStream::connect(addr), target.accept());
    (near.unwrap(), far.unwrap().0)
}

/// The local address of a SOCKS5 server whose gateway has these rules.
async fn proxy(rules: &[&str]) -> SocketAddr {
    let near = TcpListener::bind(LOCAL).await.unwrap();
    let addr = near.local_addr().unwrap();
    tokio::spawn(socks(near, dialer(far_end(rules).await)));
    addr
}

/// A SOCKS5 request with these bytes after the version; returns the connection and the reply code.
pub(crate) async fn ask(proxy: SocketAddr, request: &[u8]) -> (TcpStream, u8) {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    stream.write_all(&[5, 2, 2, 0]).await.unwrap();
    let mut method = [0; 2];
    stream.read_exact(&mut method).await.unwrap();
    assert_eq!(method, [5, 0]);
    stream.write_all(&[&[5], request].concat()).await.unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!((reply[0], reply[2], reply[3]), (5, 0, 1));
    (stream, reply[1])
}

pub(crate) fn v4(addr: SocketAddr) -> Vec<u8> {
    [&[1, 0, 1, 127, 0, 0, 1][..], &addr.port().to_be_bytes()].concat()
}

fn named(name: &[u8], port: u16) -> Vec<u8> {
    [&[1, 0, 3, u8::try_from(name.len()).unwrap()][..], name, &port.to_be_bytes()].concat()
}

#[test]
fn bytes_flow_in_both_directions_and_each_closes_separately() {
    run(async {
        let (mut near, mut far) = through().await;
        let question: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[n as usize % 3]).collect();
        let asked = question.clone();
        let asking = tokio::spawn(async move {
            near.write_all(&asked).await.unwrap();
            near.shutdown().await.unwrap();
            let mut answer = Vec::new();
            near.read_to_end(&mut answer).await.unwrap();
            answer
        });
        let mut heard = Vec::new();
        far.read_to_end(&mut heard).await.unwrap();
        assert!(heard == question);
        // The target answers after it has seen the end.
        far.write_all(b"answer").await.unwrap();
        drop(far);
        assert_eq!(asking.await.unwrap(), b"answer");
    });
}

#[test]
fn a_reset_arrives_as_a_reset() {
    run(async {
        for near_resets in [true, false] {
            let (mut near, mut far) = through().await;
            near.write_all(b"x").await.unwrap();
            assert_eq!(far.read_u8().await.unwrap(), b'x');
            let (quitter, mut other) = if near_resets { (near, far) } else { (far, near) };
            SockRef::from(&quitter).set_linger(Some(Duration::ZERO)).unwrap();
            drop(quitter);
            let error = other.read_u8().await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "near resets: {near_resets}");
        }
    });
}

#[test]
fn socks_by_address_and_by_name() {
    run(async {
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let addr = target.local_addr().unwrap();
        let proxy = proxy(&["localhost:*"]).await;
        for request in [v4(addr), named(b"localhost", addr.port()), named(b"127.0.0.1", addr.port())] {
            let (mut stream, number) = ask(proxy, &request).await;
            assert_eq!(number, 0);
            let (mut far, _) = target.accept().await.unwrap();
            far.write_all(b"hello").await.unwrap();
            drop(far);
            let mut heard = Vec::new();
            stream.read_to_end(&mut heard).await.unwrap();
            assert_eq!(heard, b"hello");
        }
    });
}

#[test]
fn socks_over_ipv6() {
    run(async {
        let Ok(target) = TcpListener::bind("[::1]:0").await else {
            println!("skipped: this host has no IPv6");
            return;
        };
        let port = target.local_addr().unwrap().port().to_be_bytes();
        let proxy = proxy(&["[::1]:*"]).await;
        let loopback = std::net::Ipv6Addr::LOCALHOST.octets();
        let (_stream, number) = ask(proxy, &[&[1, 0, 4][..], &loopback, &port].concat()).await;
        assert_eq!(number, 0);
        target.accept().await.unwrap();
    });
}

#[test]
fn socks_reports_the_reason_of_a_failure() {
    run(async {
        let closed = {
            let listener = TcpListener::bind(LOCAL).await.unwrap();
            listener.local_addr().unwrap()
        };
        let proxy = proxy(&[&format!("localhost:{}", closed.port()), "nowhere.invalid:80"]).await;
        let attempts = [
            (v4(closed), 5, "connection refused"),
            (v4(SocketAddr::new(closed.ip(), 1)), 2, "not allowed"),
            (named(b"nowhere.invalid", 80), 4, "unknown name"),
            (named(b"elsewhere.invalid", 80), 2, "not allowed, and therefore not resolved"),
            (named("nowhere.invalid\u{9b}".as_bytes(), 80), 1, "a control character"),
            (named("nowhere\u{202e}.invalid".as_bytes(), 80), 1, "a bidirectional control"),
            (named(b"a b", 80), 1, "no name"),
            ([&[2, 0, 1, 127, 0, 0, 1][..], &[0, 1]].concat(), 7, "BIND"),
            (vec![3, 0, 9, 0], 8, "UDP ASSOCIATE with an unknown type of address"),
            (vec![1, 0, 9, 0], 8, "unknown type of address"),
        ];
        for (request, expected, what) in attempts {
            assert_eq!(ask(proxy, &request).await.1, expected, "{what}");
        }
        // A client that requires a password.
        let mut stream = TcpStream::connect(proxy).await.unwrap();
        stream.write_all(&[5, 1, 2]).await.unwrap();
        let mut method = [0; 2];
        stream.read_exact(&mut method).await.unwrap();
        assert_eq!(method, [5, 0xff]);
        // SOCKS4.
        let mut stream = TcpStream::connect(proxy).await.unwrap();
        stream.write_all(&[4, 1, 0, 80, 127, 0, 0, 1, 0]).await.unwrap();
        assert!(stream.read_u8().await.is_err());
    });
}

/// The system resolves `127.1` to 127.0.0.1 without a name server.
#[test]
fn a_rule_for_a_name_that_resolves_to_the_gateway_itself_is_not_enough() {
    run(async {
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let port = target.local_addr().unwrap().port();
        let by_name = format!("127.1:{port}");
        for (rules, expected) in [(vec![&by_name[..]], 2), (vec![&by_name, "127.0.0.0/8:*"], 0)] {
            let (_stream, number) = ask(proxy(&rules).await, &named(b"127.1", port)).await;
            assert_eq!(number, expected, "{rules:?}");
        }
    });
}

/// A UDP server that returns what it gets.
async fn echo() -> SocketAddr {
    let socket = UdpSocket::bind(LOCAL).await.unwrap();
    let addr = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2000];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
            socket.send_to(&buffer[..length], from).await.unwrap();
        }
    });
    addr
}

/// A SOCKS5 client's UDP socket, the address to which it sends, and the connection that keeps it open.
async fn associate(proxy: SocketAddr) -> (UdpSocket, TcpStream) {
    let mut control = TcpStream::connect(proxy).await.unwrap();
    control.write_all(&[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    let mut reply = [0; 12];
    control.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply[..10], [5, 0, 5, 0, 0, 1, 127, 0, 0, 1]);
    let socket = UdpSocket::bind(LOCAL).await.unwrap();
    let port = u16::from_be_bytes([reply[10], reply[11]]);
    socket.connect(SocketAddr::new(LOCAL.ip(), port)).await.unwrap();
    (socket, control)
}

/// A datagram of a SOCKS5 client to this target.
fn datagram(fragment: u8, target: &[u8], data: &[u8]) -> Vec<u8> {
    // The target without command and reserved byte.
    [&[0, 0, fragment], &target[2..], data].concat()
}

async fn reply(socket: &UdpSocket) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 2000];
    let length = socket.recv(&mut buffer).await?;
    buffer.truncate(length);
    Ok(buffer)
}

#[test]
fn socks_carries_datagrams() {
    run(async {
        let (here, other) = (echo().await, echo().await);
        let proxy = proxy(&[&format!("localhost:{}", here.port())]).await;
        let (socket, control) = associate(proxy).await;
        for (target, data) in [(v4(here), &b"one"[..]), (named(b"localhost", here.port()), b"two")] {
            socket.send(&datagram(0, &target, data)).await.unwrap();
            assert_eq!(reply(&socket).await.unwrap(), datagram(0, &v4(here), data));
        }
        for (wrong, what) in [
            (datagram(0, &v4(other), b"x"), "a target that no rule allows"),
            (datagram(1, &v4(here), b"x"), "a fragment"),
            (vec![0, 0, 0, 9, 1, 2, 3], "an unknown type of address"),
            (vec![0], "too short"),
        ] {
            socket.send(&wrong).await.unwrap();
            let right = datagram(0, &v4(here), what.as_bytes());
            socket.send(&right).await.unwrap();
            assert_eq!(reply(&socket).await.unwrap(), right, "{what}");
        }
        // Another program of this host cannot use it after the client has closed its connection.
        drop(control);
        let is_served = async || {
            let _ = socket.send(&datagram(0, &v4(here), b"late")).await;
            matches!(tokio::time::timeout(Duration::from_millis(500), reply(&socket)).await, Ok(Ok(_)))
        };
        while is_served().await {}
    });
}

#[test]
fn a_gateway_without_an_interface_refuses_packets_and_one_without_rules_datagrams() {
    run(async {
        for (rules, kind, expected) in [(&["localhost:*"][..], 0x81, 2), (&[], 0x80, 2), (&["*:*"], 0x80, 0)]
        {
            let mut stream =
                Stream::connect(far_end(rules).await, &Config::new(Security::Plain)).await.unwrap();
            stream.write_all(&[&b"multihop tunnel\x01"[..], &[kind]].concat()).await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), expected, "{rules:?} {kind}");
        }
    });
}

#[test]
fn garbage_at_the_gateway_affects_no_other_connection() {
    run(async {
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let wanted = Address::from_addr(target.local_addr().unwrap());
        let gateway = far_end(&["localhost:*"]).await;
        for noise in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"multihop tunnel\x02\x01", b"multihop tunnel\x01\xff"]
        {
            let mut stream = Stream::connect(gateway, &Config::new(Security::Plain)).await.unwrap();
            stream.write_all(noise).await.unwrap();
            let mut answer = Vec::new();
            // A refusal, or a reset.
            let _ = stream.read_to_end(&mut answer).await;
            assert!(answer != [0]);
        }
        let near = TcpListener::bind(LOCAL).await.unwrap();
        let addr = near.local_addr().unwrap();
        tokio::spawn(forward(near, wanted, dialer(gateway)));
        let (near, far) = tokio::join!(TcpStream::connect(addr), target.accept());
        far.unwrap().0.write_all(b"x").await.unwrap();
        assert_eq!(near.unwrap().read_u8().await.unwrap(), b'x');
    });
}

#[test]
fn tcp_fallback_needs_the_option_and_a_target_that_is_not_loopback() {
    run(async {
        let Some(own) = own_address().await else {
            println!("skipped: this host has no address but loopback");
            return;
        };
        let target = TcpListener::bind((own, 0)).await.unwrap();
        let addr = target.local_addr().unwrap();
        // No answer comes: the socket is open, but no program reads from it.
        let nobody = UdpSocket::bind(LOCAL).await.unwrap();
        let gateway = nobody.local_addr().unwrap();
        let attempt = async |falls_back: bool, wanted: SocketAddr| {
            let near = TcpListener::bind(LOCAL).await.unwrap();
            let entry = near.local_addr().unwrap();
            let mut config = Config::new(Security::Plain);
            config.lifecycle.syn_retries = Some(0);
            tokio::spawn(forward(
                near,
                Address::from_addr(wanted),
                Dialer::new(listed(&[gateway]), config, falls_back, None),
            ));
            let mut stream = TcpStream::connect(entry).await.unwrap();
            stream.write_all(b"x").await.unwrap();
            stream.read_u8().await
        };
        let answers = tokio::spawn(async move {
            loop {
                let (mut stream, _) = target.accept().await.unwrap();
                let byte = stream.read_u8().await.unwrap();
                stream.write_all(&[byte]).await.unwrap();
            }
        });
        assert_eq!(attempt(true, addr).await.unwrap(), b'x');
        assert!(attempt(false, addr).await.is_err());
        let loopback = TcpListener::bind(LOCAL).await.unwrap();
        assert!(attempt(true, loopback.local_addr().unwrap()).await.is_err());
        answers.abort();
    });
}

#[test]
fn another_gateway_takes_over_from_one_that_does_not_answer() {
    run(async {
        let target = TcpListener::bind(LOCAL).await.unwrap();
        // No answer comes: the socket is open, but no program reads from it.
        let nobody = UdpSocket::bind(LOCAL).await.unwrap();
        let gateways = [nobody.local_addr().unwrap(), far_end(&["localhost:*"]).await];
        let mut config = Config::new(Security::Plain);
        config.lifecycle.syn_retries = Some(0);
        let near = TcpListener::bind(LOCAL).await.unwrap();
        let entry = near.local_addr().unwrap();
        let wanted = Address::from_addr(target.local_addr().unwrap());
        tokio::spawn(forward(near, wanted, Dialer::new(listed(&gateways), config, false, None)));
        let mut stream = TcpStream::connect(entry).await.unwrap();
        stream.write_all(b"x").await.unwrap();
        assert_eq!(target.accept().await.unwrap().0.read_u8().await.unwrap(), b'x');
    });
}

#[test]
fn targets_can_be_their_own_gateways() {
    run(async {
        let target = TcpListener::bind(LOCAL).await.unwrap();
        let gateways = Gateways::OfTargets(far_end(&["localhost:*"]).await.port());
        let near = TcpListener::bind(LOCAL).await.unwrap();
        let entry = near.local_addr().unwrap();
        let wanted = Address::from_addr(target.local_addr().unwrap());
        let dialer = Dialer::new(gateways, Config::new(Security::Plain), false, None);
        tokio::spawn(forward(near, wanted, dialer));
        let mut stream = TcpStream::connect(entry).await.unwrap();
        stream.write_all(b"x").await.unwrap();
        assert_eq!(target.accept().await.unwrap().0.read_u8().await.unwrap(), b'x');
    });
}

#[test]
fn a_connection_that_was_not_redirected_is_reset() {
    run(async {
        for any in [LOCAL, "0.0.0.0:0".parse().unwrap(), "[::1]:0".parse().unwrap()] {
            let Ok(near) = TcpListener::bind(any).await else {
                println!("skipped: this host has no address {any}");
                continue;
            };
            let entry = near.local_addr().unwrap();
            let ip = if any.ip().is_unspecified() { LOCAL.ip() } else { any.ip() };
            tokio::spawn(transparent(near, dialer(far_end(&["*:*"]).await)));
            let met = async { TcpStream::connect((ip, entry.port())).await?.read_u8().await };
            assert_eq!(met.await.unwrap_err().kind(), io::ErrorKind::ConnectionReset, "{any}");
        }
    });
}

/// An address of this host that others could reach.
async fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").await.ok()?;
    // Nothing is sent: the system only looks for a route.
    socket.connect("192.0.2.1:9").await.ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_loopback() && !own.is_unspecified()).then_some(own)
}
