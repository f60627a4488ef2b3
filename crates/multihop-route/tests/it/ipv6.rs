//! Daemons with routes of IPv6.

use std::fs;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use multihop_linux::netlink::{Route, add_route};
use multihop_route::{Config, Family, PROTOCOL, RouteError, Stop, run};

use super::network::{Host, eventually, hosts, quick};

const fn address(network: u16, host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, network, 0, 0, 0, host))
}

fn quick6(interfaces: &[&str]) -> Config {
    Config { family: Family::Ipv6, ..quick(interfaces) }
}

/// Interfaces with addresses of both families; those of IPv6 are fd00:0:0:network::host.
fn join(one: &Host, mine: &str, other: &Host, theirs: &str, (network, a, b): (u16, u16, u16)) {
    let four = |host: u16| format!("10.0.{network}.{host}/24");
    one.join((mine, &four(a)), other, (theirs, &four(b)));
    for (end, name, host) in [(one, mine, a), (other, theirs, b)] {
        end.namespace.ip(&format!("addr add {}/64 dev {name} nodad", address(network, host))).unwrap();
    }
}

/// fd00:0:0:1::1 - fd00:0:0:1::2, fd00:0:0:2::2 - fd00:0:0:2::3.
fn line() -> Option<[Host; 3]> {
    let [left, middle, right] = hosts()?;
    join(&left, "veth-a", &middle, "veth-b", (1, 1, 2));
    join(&middle, "veth-c", &right, "veth-d", (2, 2, 3));
    Some([left, middle, right])
}

fn start(line: &mut [Host; 3]) {
    line[0].start(quick6(&["veth-a"]));
    line[1].start(quick6(&["veth-b", "veth-c"]));
    line[2].start(quick6(&["veth-d"]));
}

#[test]
fn hosts_in_a_line_reach_each_other_until_their_daemons_end() {
    let Some(mut line) = line() else { return };
    assert!(!line[0].reaches(&line[2], address(2, 3)), "before the daemons start");
    let forwarded = line[1].parameter("ipv6/conf/all/forwarding");
    start(&mut line);
    eventually("the ends reach each other", || line[0].reaches(&line[2], address(2, 3)));
    eventually("both addresses of the router", || {
        line[0].via(address(2, 2)) == Some(address(1, 2)) && line[2].via(address(1, 2)) == Some(address(2, 2))
    });
    assert_eq!(line[1].parameter("ipv6/conf/all/forwarding"), "1");
    assert!(line[0].routes().iter().all(|route| route.destination.0.is_ipv6()));
    eventually("the status", || {
        let status = line[0].status_of(Family::Ipv6).unwrap();
        status["main_address"] == "fd00:0:0:1::1"
            && status["routes"]["fd00:0:0:2::3/128"]["via"] == "fd00:0:0:1::2"
            && status["neighbours"][0]["symmetric"] == true
    });
    assert!(line[0].status().is_none(), "there is no daemon of IPv4");
    for host in &mut line {
        host.end().unwrap();
        assert_eq!(host.routes(), []);
    }
    assert_eq!(line[1].parameter("ipv6/conf/all/forwarding"), forwarded);
}

#[test]
fn a_link_that_breaks_is_routed_around() {
    let Some([mut left, mut upper, mut lower, mut right]) = hosts() else { return };
    join(&left, "veth-a", &upper, "veth-b", (1, 1, 2));
    join(&upper, "veth-c", &right, "veth-d", (2, 2, 4));
    join(&left, "veth-e", &lower, "veth-f", (3, 1, 3));
    join(&lower, "veth-g", &right, "veth-h", (4, 3, 4));
    // This address is on no link, so that it remains when a link goes down.
    right.namespace.ip("addr add fd00:0:0:9::4/128 dev lo").unwrap();
    left.start(quick6(&["veth-a", "veth-e"]));
    upper.start(quick6(&["veth-b", "veth-c"]));
    lower.start(quick6(&["veth-f", "veth-g"]));
    let announce = vec!["fd00:0:0:9::/64".parse().unwrap()];
    right.start(Config { announce, ..quick6(&["veth-d", "veth-h"]) });
    eventually("a route by either side", || left.reaches(&right, address(9, 4)));
    upper.namespace.ip("link set veth-c down").unwrap();
    eventually("a route by the lower side", || left.via(address(4, 4)) == Some(address(3, 3)));
    eventually("packets by the lower side", || left.reaches(&right, address(9, 4)));
}

#[test]
fn routes_of_a_killed_daemon_are_removed_at_the_next_start_but_not_those_of_the_other_family() {
    let Some([mut host]) = hosts() else { return };
    for words in ["link add d0 type veth peer name d1", "link set d1 up", "link set d0 up"] {
        host.namespace.ip(words).unwrap();
    }
    host.namespace.ip("addr add 10.0.1.1/24 dev d0").unwrap();
    host.namespace.ip("addr add fd00:0:0:1::1/64 dev d0 nodad").unwrap();
    let interface = host.namespace.run(|| nix::net::if_::if_nametoindex("d0")).unwrap().unwrap();
    let left = |destination, via| Route {
        destination,
        via: Some(via),
        interface,
        table: 254,
        priority: 698,
        source: None,
    };
    let four = left(([10, 9, 9, 9].into(), 32), [10, 0, 1, 7].into());
    let six = left((address(9, 9), 128), address(1, 7));
    for route in [four, six] {
        host.namespace.run(|| add_route(&route, PROTOCOL)).unwrap().unwrap();
    }
    let mut routes = host.routes();
    routes.sort_unstable();
    assert_eq!(routes, [four, six]);
    host.start(quick6(&["d0"]));
    eventually("a daemon", || host.status_of(Family::Ipv6).is_some());
    assert_eq!(host.routes(), [four]);
    // One daemon of each family can run, but no second one.
    let stop = Stop::new().unwrap();
    let second = || run(quick6(&["none"]), &stop, &mut || Err(String::new()));
    assert!(matches!(host.namespace.run(second).unwrap(), Err(RouteError::Runs(Family::Ipv6))));
    let mut other = Host::in_same(&host);
    other.start(quick(&["d0"]));
    eventually("a daemon of IPv4", || host.status().is_some());
    assert_eq!(host.routes(), []);
    assert!(host.status_of(Family::Ipv6).is_some(), "both run");
}

#[test]
fn nonsense_changes_no_route() {
    let Some(mut line) = line() else { return };
    start(&mut line);
    let all = [address(1, 2), address(2, 2), address(2, 3)];
    eventually("all routes", || all.iter().all(|to| line[0].via(*to).is_some()));
    eventually("an answer", || line[0].reaches(&line[2], address(2, 3)));
    let before = line[0].routes();
    let send = || {
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).unwrap();
        let interface = nix::net::if_::if_nametoindex("veth-b").unwrap();
        let group = std::net::SocketAddrV6::new(multihop_wire::olsr::GROUP, 698, 0, interface);
        for length in 0..2000_u32 {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 7 + length).to_le_bytes()[0]).collect();
            let _ = socket.send_to(&bytes, group);
        }
    };
    line[1].namespace.run(send).unwrap();
    eventually("datagrams that are counted", || {
        let status = line[0].status_of(Family::Ipv6).unwrap();
        status["datagrams"]["malformed"].as_u64() > Some(100)
    });
    assert_eq!(line[0].routes(), before);
    eventually("an answer", || line[0].reaches(&line[2], address(2, 3)));
}

/// An olsrd that runs on a host.
struct Olsrd(Child);

impl Olsrd {
    fn start(host: &Host, interfaces: &[&str], rest: &str) -> Self {
        let names: String = interfaces.iter().map(|name| format!("\"{name}\" ")).collect();
        let text = format!(
            "IpVersion 6\nUseHysteresis no\nLinkQualityLevel 0\nDebugLevel 0\n{rest}\nInterface {names}{{\n\
             Ip6AddrType global\nHelloInterval 0.5\nHelloValidityTime 4.0\n\
             TcInterval 1.0\nTcValidityTime 8.0\nMidInterval 1.0\nMidValidityTime 8.0\n\
             HnaInterval 1.0\nHnaValidityTime 8.0\n}}\n"
        );
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("olsrd-{}.conf", interfaces[0]));
        fs::write(&path, text).unwrap();
        let mut command = Command::new("olsrd");
        command.arg("-f").arg(path).arg("-nofork").stdout(Stdio::null()).stderr(Stdio::null());
        Self(host.namespace.spawn(&mut command).unwrap())
    }
}

impl Drop for Olsrd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The chain has four hosts: ours, olsrd, ours, olsrd. There are networks behind both ends.
#[test]
fn olsrd_and_our_daemons_find_the_routes_of_a_chain() {
    let Some([mut a, b, mut c, d]) = hosts() else { return };
    if Command::new("olsrd").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        println!("skipped: there is no olsrd");
        return;
    }
    join(&a, "veth-a", &b, "veth-b", (1, 1, 2));
    join(&b, "veth-c", &c, "veth-d", (2, 2, 3));
    join(&c, "veth-e", &d, "veth-f", (3, 3, 4));
    a.namespace.ip("addr add fd00:0:0:8::1/128 dev lo").unwrap();
    d.namespace.ip("addr add fd00:0:0:9::4/128 dev lo").unwrap();
    // This old olsrd cannot use the multicast group of the link.
    let group = "ff0e::1".parse().unwrap();
    let network = |text: &str| vec![text.parse().unwrap()];
    a.start(Config { group, announce: network("fd00:0:0:8::/64"), ..quick6(&["veth-a"]) });
    let _b = Olsrd::start(&b, &["veth-b", "veth-c"], "");
    c.start(Config { group, ..quick6(&["veth-d", "veth-e"]) });
    let _d = Olsrd::start(&d, &["veth-f"], "Hna6 {\nfd00:0:0:9:: 64\n}");
    eventually("the last host's address", || a.reaches(&d, address(3, 4)));
    eventually("the network behind the last host", || a.reaches(&d, address(9, 4)));
    eventually("the network behind the first host", || d.reaches(&a, address(8, 1)));
    for to in [address(2, 3), address(3, 3), address(3, 4)] {
        eventually("a route", || a.via(to) == Some(address(1, 2)));
    }
    eventually("a route back", || c.via(address(1, 1)) == Some(address(2, 2)));
}
