//! AODV with packets of the kernels, in network namespaces.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use multihop_core::Duration as Time;
use multihop_route::{Config, Routing};
use multihop_routing::aodv;
use nix::sys::socket::{setsockopt, sockopt};
use serde_json::Value;

use super::network::{Host, eventually, hosts};

const fn address(network: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, network, host))
}

/// AODV whose routes live for a second after their last use.
fn on_demand(interfaces: &[&str]) -> Config {
    let aodv = aodv::Config {
        active_route_timeout: Time::from_secs(1),
        my_route_timeout: Time::from_secs(1),
        reverse_route_life: Time::from_secs(1),
        hello_interval: Time::from_millis(200),
        neighbour_life: Time::from_millis(800),
        node_traversal: Time::from_millis(10),
        ..aodv::Config::for_hosts()
    };
    let interfaces = interfaces.iter().map(|name| (*name).to_owned()).collect();
    Config { interfaces, protocol: "aodv", routing: Routing::Aodv(aodv), ..Config::default() }
}

/// Hosts, if this machine has the command `ping`, which tests whether they reach each other.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn hosts_with_ping<const N: usize>() -> Option<[Host; N]> {
    if let Err(error) = Command::new("ping").arg("-V").output() {
        println!("skipped: ping is not installed: {error}");
        return None;
    }
    hosts()
}

/// Whether the host answers all of these pings.
fn pings(host: &Host, to: IpAddr, count: u32) -> bool {
    let count = count.to_string();
    let to = to.to_string();
    let ping = || Command::new("ping").args(["-c", &count, "-i", "0.2", "-W", "20", &to]).output();
    let output = host.namespace.run(ping).unwrap().unwrap();
    String::from_utf8_lossy(&output.stdout).contains(&format!(" {count} received"))
}

fn counted(host: &Host, what: &str) -> u64 {
    let status: Value = host.status().unwrap();
    status["messages"][what].as_u64().unwrap()
}

fn hears(host: &Host, neighbours: usize) -> bool {
    host.status().is_some_and(|status| status["neighbours"].as_array().unwrap().len() == neighbours)
}

/// Hosts 10.0.1.1 - 10.0.1.2, 10.0.2.2 - 10.0.2.3, whose daemons have heard each other.
fn line() -> Option<[Host; 3]> {
    let [mut left, mut middle, mut right] = hosts_with_ping()?;
    left.join(("veth-a", "10.0.1.1/24"), &middle, ("veth-b", "10.0.1.2/24"));
    middle.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.3/24"));
    left.start(on_demand(&["veth-a"]));
    middle.start(on_demand(&["veth-b", "veth-c"]));
    right.start(on_demand(&["veth-d"]));
    eventually("neighbours", || hears(&left, 1) && hears(&middle, 2) && hears(&right, 1));
    Some([left, middle, right])
}

#[test]
fn the_first_ping_waits_for_its_route_which_lasts_as_long_as_its_use() {
    let Some(mut line) = line() else { return };
    assert_eq!(line[0].via(address(2, 3)), None, "nobody needs it");
    assert!(pings(&line[0], address(2, 3), 1), "the first ping of all");
    assert_eq!(line[0].via(address(2, 3)), Some(address(1, 2)));
    // The kernels forward these packets, and the daemons see that they do.
    let caught = counted(&line[1], "caught");
    assert!(pings(&line[0], address(2, 3), 15), "for three times the lifetime of a route");
    assert!(counted(&line[1], "caught") - caught <= 1, "the router's routes lived");
    assert!(counted(&line[0], "caught") <= 2, "the source's route lived");
    eventually("an end of the route", || line[0].via(address(2, 3)).is_none());
    assert_eq!(line[0].via(address(1, 2)), Some(address(1, 2)), "the neighbour stays");
    for host in &mut line {
        host.end().unwrap();
        assert_eq!(host.routes(), []);
    }
}

#[test]
fn a_broken_link_is_reported_and_another_path_found() {
    let Some([mut left, mut upper, mut lower, mut right]) = hosts_with_ping() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &upper, ("veth-b", "10.0.1.2/24"));
    upper.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.4/24"));
    left.join(("veth-e", "10.0.3.1/24"), &lower, ("veth-f", "10.0.3.3/24"));
    lower.join(("veth-g", "10.0.4.3/24"), &right, ("veth-h", "10.0.4.4/24"));
    left.start(on_demand(&["veth-a", "veth-e"]));
    upper.start(on_demand(&["veth-b", "veth-c"]));
    lower.start(on_demand(&["veth-f", "veth-g"]));
    // This address belongs to neither link.
    for words in ["link add s0 type veth peer name s1", "addr add 10.0.9.4/32 dev s0"] {
        right.namespace.ip(words).unwrap();
    }
    right.namespace.ip("link set s1 up").unwrap();
    right.namespace.ip("link set s0 up").unwrap();
    right.start(on_demand(&["s0", "veth-d", "veth-h"]));
    eventually("neighbours", || [&left, &upper, &lower, &right].into_iter().all(|host| hears(host, 2)));
    let to = address(9, 4);
    assert!(pings(&left, to, 2));
    let first = left.via(to).unwrap();
    let (relay, link) = if first == address(1, 2) { (&upper, "veth-c") } else { (&lower, "veth-g") };
    // Packets are sent all the time, so that the relay learns that the route is in use.
    let socket = left.namespace.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap()).unwrap();
    let send = || {
        let _ = socket.send_to(b"data", (to, 9));
    };
    send();
    relay.namespace.ip(&format!("link set {link} down")).unwrap();
    eventually("another path", || {
        send();
        left.via(to).is_some_and(|via| via != first)
    });
    eventually("packets over the other path", || pings(&left, to, 2));
    assert!(counted(relay, "errors") > 0, "the relay has told");
}

#[test]
fn a_host_that_nobody_knows_is_reported_to_the_program_that_asks_for_it() {
    let Some(line) = line() else { return };
    let said = line[0].namespace.run(|| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        // Linux tells programs of it that ask for such errors.
        setsockopt(&socket, sockopt::Ipv4RecvErr, &true).unwrap();
        socket.connect((address(9, 9), 9)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.send(b"data").unwrap();
        let begun = Instant::now();
        (socket.recv(&mut [0; 8]).unwrap_err(), begun.elapsed())
    });
    let (error, after) = said.unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::HostUnreachable, "after {after:?}");
    assert!(counted(&line[2], "requests") > 0, "the last host was asked");
}

#[test]
fn hosts_on_one_link_reach_each_other_over_a_third() {
    let Some([mut left, mut middle, mut right]) = hosts_with_ping() else { return };
    // All are in one network, but the ends do not hear each other.
    left.join(("veth-a", "10.0.0.1/24"), &middle, ("veth-b", "10.0.0.2/32"));
    middle.join(("veth-c", "10.0.0.4/32"), &right, ("veth-d", "10.0.0.3/24"));
    left.start(on_demand(&["veth-a"]));
    middle.start(on_demand(&["veth-b", "veth-c"]));
    right.start(on_demand(&["veth-d"]));
    eventually("neighbours", || hears(&left, 1) && hears(&middle, 2) && hears(&right, 1));
    assert!(pings(&left, address(0, 3), 1));
    assert_eq!(left.via(address(0, 3)), Some(address(0, 2)));
}
