use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use multihop_testkit::impaired::{Relay, Settings};

const LOOPBACK: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// A busy machine may do nothing for a second.
const LIMIT: Duration = Duration::from_secs(30);

/// A client, a relay with these faults and a target.
#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn start(settings: Settings) -> (UdpSocket, Relay, UdpSocket) {
    let target = UdpSocket::bind(LOOPBACK).unwrap();
    let relay = Relay::start(LOOPBACK.into(), target.local_addr().unwrap(), settings, 1).unwrap();
    let client = UdpSocket::bind(LOOPBACK).unwrap();
    client.connect(relay.address()).unwrap();
    for socket in [&client, &target] {
        socket.set_read_timeout(Some(LIMIT)).unwrap();
    }
    (client, relay, target)
}

fn receive(socket: &UdpSocket) -> Option<(Vec<u8>, SocketAddr)> {
    let mut buffer = [0; 2000];
    let (length, from) = socket.recv_from(&mut buffer).ok()?;
    Some((buffer[..length].to_vec(), from))
}

#[test]
fn a_perfect_relay_forwards_everything_in_both_directions() {
    let (client, _relay, target) = start(Settings::default());
    for number in 0..100 {
        client.send(&[number]).unwrap();
        let (datagram, from) = receive(&target).unwrap();
        assert_eq!(datagram, [number]);
        target.send_to(&[number, number], from).unwrap();
        assert_eq!(receive(&client).unwrap().0, [number, number]);
    }
}

#[test]
fn faults_have_the_configured_frequencies() {
    let settings = Settings { loss: 0.2, duplicate: 0.05, corrupt: 0.01, ..Settings::default() };
    let (client, relay, target) = start(settings);
    let mut arrived = 0;
    // A batch has no more datagrams than a socket's buffer holds.
    for batch in 1..=100 {
        for _ in 0..20 {
            client.send(&[0; 100]).unwrap();
        }
        let begun = Instant::now();
        while relay.counters()[0].packets < 20 * batch {
            assert!(begun.elapsed() < LIMIT, "{:?}", relay.counters());
            std::thread::sleep(Duration::from_millis(1));
        }
        let there = relay.counters()[0];
        while arrived < there.packets - there.lost + there.duplicated {
            receive(&target).expect("what is not lost arrives");
            arrived += 1;
        }
    }
    target.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert_eq!(receive(&target), None, "nothing else");
    let there = relay.counters()[0];
    assert_eq!(there.packets, 2000);
    assert!((330..470).contains(&there.lost) && there.corrupted > 5, "{there:?}");
}

#[test]
fn silence_ends() {
    let (client, relay, target) = start(Settings::default());
    client.send(b"before").unwrap();
    assert!(receive(&target).is_some());
    let (begun, length) = (Instant::now(), Duration::from_millis(500));
    relay.silence(length);
    std::thread::sleep(Duration::from_millis(50));
    client.send(b"during").unwrap();
    target.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let next = std::iter::repeat_with(|| {
        client.send(b"after").unwrap();
        receive(&target)
    });
    let (datagram, _) = next.take_while(|_| begun.elapsed() < LIMIT).flatten().next().unwrap();
    assert_eq!(datagram, b"after");
    assert!(begun.elapsed() >= length);
}

#[test]
fn a_rebound_client_comes_from_another_port() {
    let (client, relay, target) = start(Settings::default());
    client.send(b"one").unwrap();
    let before = receive(&target).unwrap().1;
    relay.rebind();
    std::thread::sleep(Duration::from_millis(50));
    client.send(b"two").unwrap();
    let after = receive(&target).unwrap().1;
    assert_ne!(before, after);
    target.send_to(b"answer", after).unwrap();
    assert_eq!(receive(&client).unwrap().0, b"answer");
}
