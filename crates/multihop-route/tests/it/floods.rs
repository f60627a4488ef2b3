//! Floods of valid messages from one neighbour.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use multihop_linux::netns::Namespace;
use multihop_wire::olsr::{Body, Hello, HelloLink, LinkCode, Message, PORT, Packet, TimeCode, Willingness};

use super::network::{Host, eventually, hosts, quick};

const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const MIDDLE: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 3);
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 200);

/// The n-th HELLO of the flood: it reports a link to the daemon in the middle, and links to 300 nodes that
/// were in no HELLO before.
fn hello(n: u32) -> Vec<u8> {
    let symmetric = |address| HelloLink { code: LinkCode::Symmetric { mpr: false }, address };
    let others = (0..300).map(|k| symmetric(Ipv4Addr::from_bits(0x0b00_0000 + 300 * n + k)));
    let links = [symmetric(MIDDLE)].into_iter().chain(others).collect();
    let interval = TimeCode::at_least(multihop_core::Duration::from_secs(2));
    let hello = Hello { interval, willingness: Willingness::DEFAULT, links, report: None };
    let [.., a, b] = n.to_be_bytes();
    let sequence = u16::from_be_bytes([a, b]);
    let message = Message {
        validity: TimeCode::at_least(multihop_core::Duration::from_secs(6)),
        originator: SENDER,
        ttl: 1,
        hop_count: 0,
        sequence,
        body: Body::Hello(hello),
    };
    let mut bytes = Vec::new();
    Packet { sequence, messages: vec![message] }.emit(&mut bytes);
    bytes
}

/// Sends 2500 HELLOs within about three seconds.
fn flood(from: &Namespace) {
    let send = || {
        let socket = UdpSocket::bind((SENDER, 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        for n in 0..2_500 {
            let _ = socket.send_to(&hello(n), (Ipv4Addr::new(10, 0, 2, 255), PORT));
            thread::sleep(Duration::from_millis(1));
        }
    };
    from.run(send).unwrap();
}

/// The longest time for which a host did not have this route while something else runs.
fn away(host: &Host, to: Ipv4Addr, via: Ipv4Addr, while_running: impl FnOnce() + Send) -> Duration {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while_running();
            done.store(true, Ordering::Release);
        });
        let (mut there, mut longest) = (Instant::now(), Duration::ZERO);
        while !done.load(Ordering::Acquire) {
            let found = host.via(IpAddr::V4(to)) == Some(IpAddr::V4(via));
            longest = longest.max(if found { Duration::ZERO } else { there.elapsed() });
            if found {
                there = Instant::now();
            }
            thread::sleep(Duration::from_millis(10));
        }
        longest
    })
}

#[test]
fn a_flood_of_one_neighbour_takes_no_route_of_others_and_ends_with_it() {
    let Some([mut left, mut middle, mut right]) = hosts() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &middle, ("veth-b", "10.0.1.2/24"));
    middle.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.3/24"));
    right.namespace.ip("addr add 10.0.2.200/24 dev veth-d").unwrap();
    left.start(quick(&["veth-a"]));
    middle.start(quick(&["veth-b", "veth-c"]));
    right.start(quick(&["veth-d"]));
    let ends = [(&left, RIGHT, Ipv4Addr::new(10, 0, 1, 2)), (&right, LEFT, MIDDLE)];
    for (host, to, via) in ends {
        eventually("a route between the ends", || host.via(to.into()) == Some(via.into()));
    }
    let (host, to, via) = ends[0];
    let longest = away(host, to, via, || flood(&right.namespace));
    let begun = Instant::now();
    // Of a machine that does nothing for a second, three of these are left.
    assert!(longest < Duration::from_secs(3), "away for {longest:?}");
    let heard_ago = || {
        let status = middle.status()?;
        let of = |one: &&serde_json::Value| one["address"] == SENDER.to_string();
        status["neighbours"].as_array()?.iter().find(of)?["heard_ago"].as_f64()
    };
    eventually("an answer of the daemon", || heard_ago().is_some());
    let silent = begun.elapsed().as_secs_f64();
    let heard = heard_ago().unwrap();
    assert!(heard + 0.1 >= silent, "heard {heard} s ago, {silent} s after the last message");
    eventually("no routes of the flood", || middle.status().is_some_and(|status| status["installed"] == 2));
}
