//! Flows that keep their path while routes change.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use multihop_core::Duration as Time;
use multihop_linux::netlink::{
    FlowRule, Route, SegmentRoute, add_flow_rule, add_route, add_segment_route, flow_rules, interfaces,
    link_addresses, set_host_address,
};
use multihop_route::{Config, PROTOCOL, Routing, segment};
use multihop_routing::{apdr, olsr};

use super::network::{Host, eventually, hosts, quick};

/// Routes of least delay, with reserved paths that are released after three seconds without packets.
fn reserving(interfaces: &[&str]) -> Config {
    let metric = olsr::Metric {
        clocks: olsr::Clocks::Echoed,
        hellos_wait: false,
        weight: 500_000,
        ..olsr::Metric::default()
    };
    let Config { routing: Routing::Olsr(olsr), .. } = quick(interfaces) else {
        panic!("OLSR is the default")
    };
    let reservation = apdr::Reservation { silence: Time::from_secs(3), ..apdr::Reservation::default() };
    Config {
        routing: Routing::Olsr(olsr.with_metric(metric)),
        reservation: Some(reservation),
        reserve: vec![FLOW],
        ..quick(interfaces)
    }
}

/// Whether the kernel of this machine has queues of limited rate and segment routing.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
fn is_possible(host: &Host) -> bool {
    let slow = || {
        let words = "qdisc add dev veth-a root handle 1: tbf rate 2mbit burst 3000 limit 60000";
        Command::new("tc").args(words.split(' ')).output().is_ok_and(|done| done.status.success())
    };
    let fast = || {
        let words = "qdisc add dev veth-a parent 1: pfifo_fast";
        Command::new("tc").args(words.split(' ')).output().is_ok_and(|done| done.status.success())
    };
    let has_segments = std::fs::exists("/proc/sys/net/ipv6/conf/all/seg6_enabled").unwrap_or(false);
    host.namespace.ip("link set veth-a txqueuelen 40").unwrap();
    let is_possible = has_segments && host.namespace.run(|| slow() && fast()).unwrap();
    if !is_possible {
        println!(
            "skipped: it needs tc, the queues tbf and pfifo_fast, and IPv6 segment routing of the kernel"
        );
    }
    is_possible
}

fn bind(host: &Host, address: IpAddr, port: u16) -> UdpSocket {
    let socket = host.namespace.run(|| UdpSocket::bind((address, port)).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket
}

/// Whether a datagram arrives. Each datagram has a number, because earlier ones may arrive late.
fn delivers(sender: &UdpSocket, receiver: &UdpSocket, to: IpAddr) -> bool {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed).to_ne_bytes();
    let _ = sender.send_to(&number, (to, receiver.local_addr().unwrap().port()));
    let mut received = [0; 8];
    while receiver.recv_from(&mut received).is_ok() {
        if received == number {
            return true;
        }
    }
    false
}

fn reserved(host: &Host) -> Vec<(String, Vec<String>)> {
    let status = host.status().unwrap();
    let flows = status["reserved"].as_array().unwrap().iter().map(|one| {
        let routers = one["routers"].as_array().unwrap().iter();
        let routers = routers.map(|router| router.as_str().unwrap().to_owned()).collect();
        (one["flow"].as_str().unwrap().to_owned(), routers)
    });
    flows.collect()
}

fn rules(host: &Host) -> Vec<FlowRule> {
    host.namespace.run(|| flow_rules(PROTOCOL)).unwrap().unwrap()
}

/// Addresses for segments of a host.
fn segments(host: &Host) -> Vec<IpAddr> {
    let all = host.namespace.run(interfaces).unwrap().unwrap();
    let addresses = all.into_iter().flat_map(|one| one.addresses).map(|one| one.address);
    addresses.filter(|address| address.to_string().starts_with("fd9c:7482:121c:")).collect()
}

#[test]
fn a_flow_keeps_its_path_until_it_is_silent() {
    let Some([mut left, mut upper, mut lower, mut right]) = hosts() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &upper, ("veth-b", "10.0.1.2/24"));
    upper.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.4/24"));
    left.join(("veth-e", "10.0.3.1/24"), &lower, ("veth-f", "10.0.3.3/24"));
    lower.join(("veth-g", "10.0.4.3/24"), &right, ("veth-h", "10.0.4.4/24"));
    if !is_possible(&left) {
        return;
    }
    left.start(reserving(&["veth-a", "veth-e"]));
    upper.start(reserving(&["veth-b", "veth-c"]));
    right.start(reserving(&["veth-d", "veth-h"]));
    let [own, to, above, below] =
        [[10, 0, 1, 1], [10, 0, 2, 4], [10, 0, 1, 2], [10, 0, 3, 3]].map(IpAddr::from);
    eventually("a route by the upper side", || left.via(to) == Some(above));
    eventually("the link address of the neighbour, before a packet needs it", || {
        let known = left.namespace.run(link_addresses).unwrap().unwrap();
        known.iter().any(|one| one.address == segment(Ipv4Addr::new(10, 0, 1, 2)))
    });
    let (sender, receiver) = (bind(&left, own, 0), bind(&right, to, FLOW));
    let (other, others) = (bind(&left, own, 0), bind(&right, to, FLOW + 1));
    let name = format!("udp 10.0.1.1:{} > 10.0.2.4:{FLOW}", sender.local_addr().unwrap().port());
    let path = (name, vec!["10.0.1.2".to_owned(), "10.0.2.4".to_owned()]);
    eventually("a flow with a path", || {
        delivers(&sender, &receiver, to)
            && reserved(&left) == std::slice::from_ref(&path)
            && rules(&left).len() == 1
    });
    eventually("a flow of another port", || delivers(&other, &others, to));
    lower.start(reserving(&["veth-f", "veth-g"]));
    // A queue at the upper side moves the routes to the lower side.
    left.namespace.ip(&format!("route add {above} dev veth-a metric 1")).unwrap();
    let fill = || {
        for _ in 0..10 {
            let _ = other.send_to(&[0; 1400], (above, 9));
        }
    };
    eventually("routes by the lower side", || {
        fill();
        let _ = delivers(&sender, &receiver, to);
        left.via(to) == Some(below)
    });
    lower.namespace.set("net/ipv4/ip_forward", "0").unwrap();
    lower.namespace.set("net/ipv6/conf/all/forwarding", "0").unwrap();
    // The flow of the other port has no path of its own.
    eventually("the flow on its path", || {
        fill();
        let is_lower = left.via(to) == Some(below);
        let arrives = delivers(&sender, &receiver, to) && is_lower && left.via(to) == Some(below);
        arrives && reserved(&left) == std::slice::from_ref(&path) && rules(&left).len() == 1
    });
    eventually("the end of the flow", || reserved(&left).is_empty() && rules(&left).is_empty());
    for host in [&mut left, &mut upper, &mut lower, &mut right] {
        assert_eq!(segments(host).len(), 2);
        host.end().unwrap();
        assert_eq!((host.routes(), segments(host)), (vec![], vec![]));
        assert_eq!(host.parameter("ipv6/conf/all/seg6_enabled"), "0");
    }
}

#[test]
fn a_daemon_survives_more_flows_than_the_kernel_has_memory_for() {
    let Some([mut left, mut right]) = hosts() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24"));
    if !is_possible(&left) {
        return;
    }
    left.start(reserving(&["veth-a"]));
    right.start(reserving(&["veth-b"]));
    eventually("a daemon", || left.status().is_some());
    // Kernels before 6.8 have one limit for all namespaces.
    let _ = left.namespace.set("net/core/optmem_max", "6000");
    let [own, to] = [[10, 0, 1, 1], [10, 0, 1, 2]].map(IpAddr::from);
    let senders: Vec<_> = (0..64).map(|_| bind(&left, own, 0)).collect();
    let name = |sender: &UdpSocket| {
        format!("udp 10.0.1.1:{} > 10.0.1.2:{FLOW}", sender.local_addr().unwrap().port())
    };
    let mut waiting: Vec<_> = senders.iter().collect();
    // Each interval shows some of the flows.
    while !waiting.is_empty() {
        eventually("a path of a further flow", || {
            for sender in &waiting {
                let _ = sender.send_to(&[0; 8], (to, FLOW));
            }
            reserved(&left).iter().any(|(flow, _)| waiting.iter().any(|sender| name(sender) == *flow))
        });
        let found = reserved(&left);
        waiting.retain(|sender| !found.iter().any(|(flow, _)| name(sender) == *flow));
    }
    left.end().unwrap();
}

#[test]
fn both_directions_of_tcp_have_paths_of_their_own() {
    let Some([mut left, mut middle, mut right]) = hosts() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &middle, ("veth-b", "10.0.1.2/24"));
    middle.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.3/24"));
    if !is_possible(&left) {
        return;
    }
    for (host, interfaces) in
        [(&mut left, &["veth-a"][..]), (&mut middle, &["veth-b", "veth-c"]), (&mut right, &["veth-d"])]
    {
        host.start(Config { reserve: Vec::new(), ..reserving(interfaces) });
    }
    let [own, to] = [[10, 0, 1, 1], [10, 0, 2, 3]].map(IpAddr::from);
    let (sender, receiver) = (bind(&left, own, 0), bind(&right, to, FLOW));
    eventually("a route", || delivers(&sender, &receiver, to) && right.via(own).is_some());
    let listener = right.namespace.run(|| TcpListener::bind((to, FLOW))).unwrap().unwrap();
    let here = left.namespace.run(|| TcpStream::connect((to, FLOW))).unwrap().unwrap();
    let (there, from) = listener.accept().unwrap();
    let port = from.port();
    let there_and_back = [
        (
            &left,
            (
                format!("tcp 10.0.1.1:{port} > 10.0.2.3:{FLOW}"),
                vec!["10.0.1.2".to_owned(), "10.0.2.3".to_owned()],
            ),
        ),
        (
            &right,
            (
                format!("tcp 10.0.2.3:{FLOW} > 10.0.1.1:{port}"),
                vec!["10.0.1.2".to_owned(), "10.0.1.1".to_owned()],
            ),
        ),
    ];
    for (host, path) in &there_and_back {
        eventually("a path, and none for UDP", || {
            (&here).write_all(&[7; 20_000]).unwrap();
            (&there).read_exact(&mut [0; 20_000]).unwrap();
            reserved(host) == std::slice::from_ref(path)
        });
    }
    // Segments became shorter when they were put into other packets.
    (&here).write_all(&[7; 100_000]).unwrap();
    (&there).read_exact(&mut [0; 100_000]).unwrap();
}

#[test]
fn paths_of_a_killed_daemon_are_removed_at_the_next_start() {
    let Some([mut host]) = hosts() else { return };
    for words in [
        "link add d0 type veth peer name d1",
        "addr add 10.0.1.1/24 dev d0",
        "link set d1 up",
        "link set d0 up",
    ] {
        host.namespace.ip(words).unwrap();
    }
    let leave = || -> std::io::Result<()> {
        let interface = nix::net::if_::if_nametoindex("d0")?;
        let neighbour: Ipv6Addr = segment(Ipv4Addr::new(10, 0, 1, 7));
        set_host_address(interface, segment(Ipv4Addr::new(10, 0, 1, 1)), true)?;
        let (destination, source) = ((neighbour.into(), 128), None);
        add_route(&Route { destination, via: None, interface, table: 254, priority: 698, source }, PROTOCOL)?;
        add_segment_route(&SegmentRoute { table: 77_003, interface, segments: vec![neighbour] }, PROTOCOL)?;
        let (source, destination) = ([10, 0, 1, 1].into(), [10, 0, 1, 7].into());
        let (protocol, ports, table, priority) = (17, (1000, 2000), 77_003, 698);
        add_flow_rule(&FlowRule { source, destination, protocol, ports, table, priority }, PROTOCOL)
    };
    host.namespace.run(leave).unwrap().unwrap();
    assert_eq!((host.routes().len(), rules(&host).len(), segments(&host).len()), (2, 1, 1));
    host.start(quick(&["d0"]));
    eventually("a daemon", || host.status().is_some());
    assert_eq!((host.routes().len(), rules(&host).len(), segments(&host).len()), (0, 0, 0));
}

/// Port of the flows with a reserved path.
const FLOW: u16 = 5001;
