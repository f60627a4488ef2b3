//! Daemons with OLSRv2.

use multihop_core::Duration as Time;
use multihop_route::{Config, Family, HostProtocol, Key};
use multihop_routing_extra::olsrv2;

use super::layouts::{
    chain, diamond, extension, four, heals, join, metric, networks, quick_hosts, reach_each_other, refused,
    six, symmetric_neighbours,
};
use super::network::{Host, eventually};

/// OLSRv2 that needs a second for what takes 15 with the values of the RFC.
fn quick(interfaces: &[&str]) -> Config {
    let olsrv2 = olsrv2::Config {
        hello_interval: Time::from_millis(200),
        tc_interval: Time::from_millis(400),
        neighbour_hold: Time::from_millis(3000),
        topology_hold: Time::from_millis(3000),
        max_jitter: Time::from_millis(50),
        ..olsrv2::Config::default()
    };
    extension("olsrv2", HostProtocol::new(olsrv2).unwrap(), interfaces)
}

/// Cost of a path over lossless cables, each of which costs 2^21 / 100,000 kb/s, rounded up.
fn cables(count: u64) -> Option<u64> {
    Some(21 * count)
}

#[test]
fn olsrv2_finds_routes_of_both_families_along_a_chain() {
    let Some([mut a, mut b, mut c, mut d]) = chain() else { return };
    a.start(Config { announce: networks("1"), ..quick(&["veth-a"]) });
    b.start(quick(&["veth-b", "veth-c"]));
    c.start(quick(&["veth-d", "veth-e"]));
    d.start(Config { announce: networks("4"), ..quick(&["veth-f"]) });
    reach_each_other(&a, &d);
    // A network costs one more than the way to its router.
    eventually("the metric of three cables", || {
        metric(&a, "10.0.3.4/32") == cables(3)
            && metric(&a, "10.0.9.4/32") == cables(3).map(|cost| cost + 1)
            && metric(&a, "fd00:0:0:9::4/128") == cables(3).map(|cost| cost + 1)
    });
    let status = a.status().unwrap();
    assert_eq!((&status["protocol"], &status["main_address"]), (&"olsrv2".into(), &"10.0.1.1".into()));
    assert_eq!(
        (&status["neighbours"][0]["cost"], &status["neighbours"][0]["symmetric"]),
        (&21.into(), &true.into())
    );
    assert!(status["messages"]["hellos"].as_u64() > Some(1));
    assert!(a.status_of(Family::Ipv6).is_some(), "one daemon has the routes of both families");
    d.end().unwrap();
    eventually("the end of the routes", || metric(&a, "10.0.9.4/32").is_none() && a.via(six(3, 4)).is_none());
    a.end().unwrap();
    assert_eq!(a.routes(), []);
}

#[test]
fn a_diamond_with_olsrv2_heals_when_a_link_is_cut() {
    let Some([mut left, mut upper, mut lower, mut right]) = diamond() else { return };
    left.start(quick(&["veth-a", "veth-e"]));
    upper.start(quick(&["veth-b", "veth-c"]));
    lower.start(quick(&["veth-f", "veth-g"]));
    right.start(Config { announce: networks("4"), ..quick(&["veth-d", "veth-h"]) });
    eventually("two cables", || metric(&left, "10.0.9.4/32") == cables(2).map(|cost| cost + 1));
    let both_ways = |host: &Host| symmetric_neighbours(host) == 2;
    eventually("both ways", || both_ways(&left) && both_ways(&right));
    heals([&left, &lower, &right], || both_ways(&right) && both_ways(&lower));
}

#[test]
fn olsrv2_daemons_with_the_same_key_trust_each_other_and_no_other_key() {
    let Some([mut a, mut b]) = quick_hosts() else { return };
    join(&a, "veth-a", &b, "veth-b", (1, 1, 2));
    let with = |key: u8, interface: &str| Config { key: Some(Key::new([key; 32])), ..quick(&[interface]) };
    a.start(with(7, "veth-a"));
    b.start(with(8, "veth-b"));
    eventually("datagrams of another key are counted", || refused(&a, "wrong_key") > 5);
    assert_eq!(a.routes(), []);
    b.end().unwrap();
    b.start(quick(&["veth-b"]));
    eventually("datagrams without a signature are counted", || refused(&a, "unsigned") > 5);
    assert_eq!(a.routes(), []);
    b.end().unwrap();
    b.start(with(7, "veth-b"));
    eventually("the route of a genuine neighbour", || {
        a.via(six(1, 2)).is_some() && a.via(four(1, 2)).is_some()
    });
}
