//! Tests of daemons that install and remove routes of their hosts.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use multihop_core::Duration as Time;
use multihop_linux::netlink::{Route, add_route};
use multihop_route::{Config, Family, PROTOCOL, RouteError, Routing, Stop, run};
use multihop_routing::olsr;

use super::network::{Host, eventually, hosts, quick};

const fn address(network: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, network, host))
}

/// 10.0.1.1 - 10.0.1.2, 10.0.2.2 - 10.0.2.3.
fn line() -> Option<[Host; 3]> {
    let [left, middle, right] = hosts()?;
    left.join(("veth-a", "10.0.1.1/24"), &middle, ("veth-b", "10.0.1.2/24"));
    middle.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.3/24"));
    Some([left, middle, right])
}

/// Starts the daemons of a line of hosts and waits until they have found each other.
fn running_line() -> Option<[Host; 3]> {
    let mut line = line()?;
    line[0].start(quick(&["veth-a"]));
    line[1].start(quick(&["veth-b", "veth-c"]));
    line[2].start(quick(&["veth-d"]));
    // The routes to a router's second interface come later than those to and through it.
    eventually("all routes", || {
        let left = [address(1, 2), address(2, 2), address(2, 3)];
        let right = [address(2, 2), address(1, 2), address(1, 1)];
        left.map(|to| line[0].via(to)) == [Some(address(1, 2)); 3]
            && right.map(|to| line[2].via(to)) == [Some(address(2, 2)); 3]
    });
    Some(line)
}

#[test]
fn hosts_in_a_line_reach_each_other_until_their_daemons_end() {
    let Some(mut line) = line() else { return };
    assert!(!line[0].reaches(&line[2], address(2, 3)), "before the daemons start");
    let forwarded = line[1].parameter("ipv4/ip_forward");
    line[0].start(quick(&["veth-a"]));
    line[1].start(quick(&["veth-b", "veth-c"]));
    line[2].start(quick(&["veth-d"]));
    eventually("the ends reach each other", || line[0].reaches(&line[2], address(2, 3)));
    eventually("both addresses of the router", || {
        line[0].via(address(2, 2)) == Some(address(1, 2)) && line[2].via(address(1, 2)) == Some(address(2, 2))
    });
    assert_eq!(line[1].parameter("ipv4/ip_forward"), "1");
    for host in &mut line {
        host.end().unwrap();
        assert_eq!(host.routes(), []);
    }
    assert_eq!(line[1].parameter("ipv4/ip_forward"), forwarded);
}

#[test]
fn a_link_that_breaks_is_routed_around_until_it_is_back() {
    let Some([mut left, mut upper, mut lower, mut right]) = hosts() else { return };
    left.join(("veth-a", "10.0.1.1/24"), &upper, ("veth-b", "10.0.1.2/24"));
    upper.join(("veth-c", "10.0.2.2/24"), &right, ("veth-d", "10.0.2.4/24"));
    left.join(("veth-e", "10.0.3.1/24"), &lower, ("veth-f", "10.0.3.3/24"));
    lower.join(("veth-g", "10.0.4.3/24"), &right, ("veth-h", "10.0.4.4/24"));
    left.start(quick(&["veth-a", "veth-e"]));
    upper.start(quick(&["veth-b", "veth-c"]));
    lower.start(quick(&["veth-f", "veth-g"]));
    right.start(quick(&["veth-d", "veth-h"]));
    eventually("a route by either side", || left.reaches(&right, address(2, 4)));
    upper.namespace.ip("link set veth-c down").unwrap();
    eventually("a route by the lower side", || left.via(address(4, 4)) == Some(address(3, 3)));
    eventually("packets by the lower side", || left.reaches(&right, address(4, 4)));
    upper.namespace.ip("link set veth-c up").unwrap();
    lower.namespace.ip("link set veth-f down").unwrap();
    eventually("a route by the upper side", || left.via(address(2, 4)) == Some(address(1, 2)));
    eventually("packets by the upper side", || left.reaches(&right, address(2, 4)));
}

#[test]
fn neighbours_hear_at_once_of_an_address_that_is_replaced_and_of_a_daemon_that_ends() {
    let Some([mut left, mut middle, mut right]) = hosts() else { return };
    left.join(("one", "10.0.1.1/24"), &middle, ("two", "10.0.1.2/24"));
    middle.join(("three", "10.0.2.2/24"), &right, ("four", "10.0.2.3/24"));
    // Missing HELLOs must not end a link while the test runs.
    let patient = |interfaces: &[&str]| {
        let config = quick(interfaces);
        let Routing::Olsr(olsr) = config.routing else { unreachable!("quick is OLSR") };
        let olsr = olsr::Config { neighbour_hold: Time::from_secs(600), ..olsr };
        Config { routing: Routing::Olsr(olsr), ..config }
    };
    left.start(patient(&["one"]));
    middle.start(patient(&["two", "three"]));
    right.start(patient(&["four"]));
    eventually("a route over two hops", || left.reaches(&right, address(2, 3)));
    right.namespace.ip("addr del 10.0.2.3/24 dev four").unwrap();
    right.namespace.ip("addr add 10.0.2.9/24 dev four").unwrap();
    eventually("a route to the new address", || left.reaches(&right, address(2, 9)));
    eventually("no route to the old address", || middle.via(address(2, 3)).is_none());
    assert!(middle.via(address(2, 9)).is_some());
    right.end().unwrap();
    eventually("no route to a host without a daemon", || middle.via(address(2, 9)).is_none());
}

#[test]
fn networks_behind_a_gateway_are_reached_through_it() {
    let Some(mut line) = line() else { return };
    line[2].namespace.ip("addr add 192.168.7.1/32 dev lo").unwrap();
    line[2].namespace.ip("addr add 8.8.8.8/32 dev lo").unwrap();
    line[0].start(quick(&["veth-a"]));
    line[1].start(quick(&["veth-b", "veth-c"]));
    let announce = vec!["192.168.7.0/24".parse().unwrap(), "0.0.0.0/0".parse().unwrap()];
    line[2].start(Config { announce, ..quick(&["veth-d"]) });
    for to in [[192, 168, 7, 1], [8, 8, 8, 8]] {
        eventually("an address behind the gateway", || line[0].reaches(&line[2], to.into()));
    }
    let networks = |host: &Host| {
        let routes = host.routes().into_iter().map(|route| (route.destination, route.via));
        routes.filter(|((_, bits), _)| *bits < 32).collect::<Vec<_>>()
    };
    let through = Some(address(1, 2));
    let mut found = networks(&line[0]);
    found.sort_unstable();
    assert_eq!(
        found,
        [((Ipv4Addr::UNSPECIFIED.into(), 0), through), (([192, 168, 7, 0].into(), 24), through)]
    );
    assert_eq!(networks(&line[2]), [], "the gateway has no routes to what it announces");
}

#[test]
fn routes_of_a_killed_daemon_are_removed_at_the_next_start() {
    let Some([mut host]) = hosts() else { return };
    host.namespace.ip("link add d0 type veth peer name d1").unwrap();
    host.namespace.ip("addr add 10.0.1.1/24 dev d0").unwrap();
    host.namespace.ip("link set d1 up").unwrap();
    host.namespace.ip("link set d0 up").unwrap();
    host.namespace.ip("route add 10.9.9.9/32 via 10.0.1.8").unwrap();
    let interface = host.namespace.run(|| nix::net::if_::if_nametoindex("d0")).unwrap().unwrap();
    let left = Route {
        destination: (address(9, 9), 32),
        via: Some(address(1, 7)),
        interface,
        table: 254,
        priority: 698,
        source: None,
    };
    host.namespace.run(|| add_route(&left, PROTOCOL)).unwrap().unwrap();
    assert_eq!(host.routes(), [left]);
    host.start(quick(&["d0"]));
    eventually("a daemon", || host.status().is_some());
    assert_eq!(host.routes(), []);
    let others = host.namespace.run(|| multihop_linux::netlink::routes(3)).unwrap().unwrap();
    assert_eq!(others.len(), 1, "the route of `ip` stays");
}

#[test]
fn a_namespace_has_one_daemon() {
    let Some([mut host]) = hosts() else { return };
    host.start(quick(&["none"]));
    eventually("a daemon", || host.status().is_some());
    let stop = Stop::new().unwrap();
    let second = || run(quick(&["none"]), &stop, &mut || Err(String::new()));
    assert!(matches!(host.namespace.run(second).unwrap(), Err(RouteError::Runs(Family::Ipv4))));
}

#[test]
fn nonsense_changes_no_route() {
    let Some(line) = running_line() else { return };
    let before = line[0].routes();
    let send = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        for length in 0..2000_u32 {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 7 + length).to_le_bytes()[0]).collect();
            let _ = socket.send_to(&bytes, "10.0.1.255:698");
        }
    };
    line[1].namespace.run(send).unwrap();
    eventually("datagrams that are counted", || {
        let status = line[0].status().unwrap();
        status["datagrams"]["malformed"].as_u64() > Some(100)
    });
    assert_eq!(line[0].routes(), before);
    eventually("an answer", || line[0].reaches(&line[2], address(2, 3)));
}

#[test]
fn a_reload_keeps_routes() {
    let Some(mut line) = line() else { return };
    line[1].start(quick(&["veth-b", "veth-c"]));
    line[2].start(quick(&["veth-d"]));
    let mut other = quick(&["veth-a"]);
    let Routing::Olsr(olsr) = &mut other.routing else { panic!("OLSR is the default") };
    olsr.hello_interval = multihop_core::Duration::from_millis(150);
    let stop = line[0].start_with(quick(&["veth-a"]), vec![other]);
    eventually("a route", || line[0].via(address(2, 3)).is_some());
    stop.reload();
    let began = |host: &Host| host.status().unwrap()["seconds"].as_f64().unwrap();
    eventually("another agent", || {
        assert_eq!(line[0].via(address(2, 3)), Some(address(1, 2)), "while the agent begins anew");
        began(&line[0]) < 0.3
    });
    eventually("an agent that has found the route", || {
        assert_eq!(line[0].via(address(2, 3)), Some(address(1, 2)));
        line[0].status().unwrap()["routes"].get("10.0.2.3/32").is_some()
    });
}
