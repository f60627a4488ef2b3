//! Routes of least delay over links with queues.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use multihop_linux::netlink::{LinkAddress, find_link_address, link_addresses};
use multihop_route::{Config, Routing};
use multihop_routing::olsr;
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};

use super::network::{Host, eventually, hosts, quick};

/// Rules of a queue of 2 Mb/s that sends routing packets first.
const SLOW: [&str; 2] = [
    "qdisc add dev veth-a root handle 1: tbf rate 2mbit burst 3000 limit 60000",
    "qdisc add dev veth-a parent 1: pfifo_fast",
];

fn by_delay(interfaces: &[&str]) -> Config {
    let metric = olsr::Metric {
        clocks: olsr::Clocks::Echoed,
        hellos_wait: false,
        weight: 500_000,
        ..olsr::Metric::default()
    };
    with_metric(interfaces, metric)
}

fn with_metric(interfaces: &[&str], metric: olsr::Metric) -> Config {
    let Config { routing: Routing::Olsr(olsr), .. } = quick(interfaces) else {
        panic!("OLSR is the default")
    };
    Config { routing: Routing::Olsr(olsr.with_metric(metric)), ..quick(interfaces) }
}

/// Slows down a link; false if the kernel does not have the kinds of queues.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn slow_down(host: &Host) -> bool {
    // Packets that fit into the queue: a quarter of a second.
    host.namespace.ip("link set veth-a txqueuelen 40").unwrap();
    let change = |change: &str| {
        let run = || Command::new("tc").args(change.split(' ')).output();
        host.namespace.run(run).unwrap().is_ok_and(|done| done.status.success())
    };
    let done = SLOW.into_iter().all(change);
    if !done {
        println!("skipped: it needs the command tc, and the queues tbf and pfifo_fast of the kernel");
    }
    done
}

/// The status of the only neighbour behind an interface, and that of the queue there.
fn told(host: &Host, interface: &str) -> (Value, Value) {
    let status = host.status().unwrap();
    let of = |list: &str, key: &str| {
        let mut all = status[list].as_array().unwrap().iter();
        all.find(|one| one[key] == interface).cloned().unwrap_or_default()
    };
    (of("neighbours", "interface")["delay"].clone(), of("interfaces", "name")["queue"].clone())
}

#[test]
fn a_queue_that_hellos_overtake_is_left_for_another_path() {
    let Some([mut left, mut upper, mut lower, mut right]) = hosts() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &upper, ("veth-b", "10.0.1.2/24"));
    upper.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.4/24"));
    left.join(("veth-e", "10.0.3.1/24"), &lower, ("veth-f", "10.0.3.3/24"));
    lower.join(("veth-g", "10.0.4.3/24"), &right, ("veth-h", "10.0.4.4/24"));
    if !slow_down(&left) {
        return;
    }
    left.start(by_delay(&["veth-a", "veth-e"]));
    upper.start(by_delay(&["veth-b", "veth-c"]));
    right.start(by_delay(&["veth-d", "veth-h"]));
    let [to, above, below] = [[10, 0, 2, 4], [10, 0, 1, 2], [10, 0, 3, 3]].map(IpAddr::from);
    eventually("a route by the upper side", || {
        left.via(to) == Some(above) && told(&left, "veth-a").0["hellos"].is_f64()
    });
    // The packets go to the upper neighbour itself, so that the queue at the left host does not depend on its
    // route to the right one.
    let sender = left.namespace.run(|| UdpSocket::bind((Ipv4Addr::new(10, 0, 1, 1), 0)).unwrap()).unwrap();
    left.namespace.ip(&format!("route add {above} dev veth-a metric 1")).unwrap();
    sender.set_nonblocking(true).unwrap();
    let fill = || {
        for _ in 0..10 {
            let _ = sender.send_to(&[0; 1400], (above, 9));
        }
    };
    eventually("a queue that is part of the cost", || {
        fill();
        let (delay, queue) = told(&left, "veth-a");
        let waits = delay["queue"].as_f64() > Some(0.1) && delay["hellos"].as_f64() < Some(0.1);
        // The cost is in microseconds.
        let cost = left.status().unwrap()["routes"]["10.0.2.4/32"]["cost"].as_u64();
        waits && cost > Some(100_000) && queue["kind"] == "tbf" && queue["hellos_wait"] == false
    });
    lower.start(by_delay(&["veth-f", "veth-g"]));
    eventually("the path without a queue", || {
        fill();
        left.via(to) == Some(below)
    });
    assert_eq!(told(&left, "veth-e").0["queue"], Value::Null, "a cable without a queue");
    eventually("the queue is empty", || told(&left, "veth-a").0["queue"].as_f64() < Some(0.01));
}

#[test]
fn messages_begin_to_wait_when_a_reloaded_configuration_says_so() {
    let Some([mut left, right]) = hosts() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24"));
    let hears = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap();
    let mut hears = right.namespace.run(hears).unwrap();
    hears.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The type of service of the next packet is the second byte of its header.
    let mut type_of_service = || {
        let mut packet = [0; 2000];
        let length = hears.read(&mut packet).expect("a packet within a minute");
        packet[..length][1]
    };
    let waiting = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
    let stop = left.start_with(quick(&["veth-a"]), vec![with_metric(&["veth-a"], waiting)]);
    assert_eq!(type_of_service(), 0xc0);
    stop.reload();
    // Packets that were sent before arrive first.
    assert!((0..100).any(|_| type_of_service() == 0));
}

#[test]
fn the_kernel_looks_for_the_link_address_of_a_neighbour_that_nobody_talks_to() {
    let Some([left, right]) = hosts() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24"));
    left.namespace.ip("addr add fd00::1/64 dev veth-a nodad").unwrap();
    right.namespace.ip("addr add fd00::2/64 dev veth-b nodad").unwrap();
    right.namespace.ip("link set veth-b address 02:00:00:00:00:05").unwrap();
    let interface = left.namespace.run(|| nix::net::if_::if_nametoindex("veth-a")).unwrap().unwrap();
    let four = IpAddr::from([10, 0, 1, 2]);
    for address in [four, Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2).into()] {
        let known = || left.namespace.run(link_addresses).unwrap().unwrap();
        assert!(known().iter().all(|one| one.address != address));
        let wanted = LinkAddress { interface, address, link: [2, 0, 0, 0, 0, 5] };
        eventually("the link address", || {
            // The kernel soon gives up the resolution, and must be asked again.
            left.namespace.run(|| find_link_address(interface, address)).unwrap().unwrap();
            known().contains(&wanted)
        });
    }
}
