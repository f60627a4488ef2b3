//! Tests of the revision by which the daemon knows that routes may have changed.

use super::*;

const NEIGHBOUR: Ipv4Addr = address(1, 2);
const FAR: Ipv4Addr = address(9, 9);

const fn at(seconds: u64) -> Instant {
    Instant::from_nanos(1_000_000_000 * seconds)
}

/// The revision after an update of the kernel's routes.
fn updated(router: &mut Router, now: Instant) -> Revision {
    router.routes(now);
    router.revision().unwrap()
}

fn hear(router: &mut Router, now: Instant, message: Message) {
    router.hear(now, 0, NEIGHBOUR, &bytes(&Packet { sequence: 0, messages: vec![message] }));
}

fn tc(sequence: u16, neighbours: &[Ipv4Addr]) -> Body {
    Body::Tc(Arc::new(Tc { sequence, neighbours: neighbours.to_vec() }))
}

fn hna() -> Body {
    Body::Hna(Hna { networks: vec![(Ipv4Addr::new(192, 168, 0, 0), Ipv4Addr::new(255, 255, 0, 0))] })
}

/// The neighbour's HELLO, which names the node that sends further messages.
fn neighbours_hello() -> Message {
    hello(NEIGHBOUR, address(1, 1), true, &[FAR])
}

#[test]
fn repeated_messages_leave_the_revision() {
    let (mut router, now) = claims(&[FAR], Vec::new());
    hear(&mut router, now, flooded(FAR, 1, tc(1, &[address(9, 8)])));
    let before = updated(&mut router, now);
    assert_eq!(router.routes(now).len(), 3);
    hear(&mut router, at(2), neighbours_hello());
    hear(&mut router, at(2), flooded(FAR, 2, tc(1, &[address(9, 8)])));
    hear(&mut router, at(2), flooded(FAR, 3, tc(2, &[address(9, 8)])));
    assert_eq!(router.revision(), Some(before));
    assert_eq!(updated(&mut router, at(2)), before);
    hear(&mut router, at(3), flooded(FAR, 4, tc(3, &[address(9, 7)])));
    assert_ne!(router.revision(), Some(before));
    assert_ne!(updated(&mut router, at(3)), before);
}

#[test]
fn new_and_expired_networks_change_the_revision() {
    let (mut router, now) = claims(&[FAR], Vec::new());
    let before = updated(&mut router, now);
    hear(&mut router, now, flooded(FAR, 1, hna()));
    assert_ne!(router.revision(), Some(before), "new");
    let with = updated(&mut router, now);
    assert!(router.routes(now).contains_key(&network("192.168.0.0/16")));
    hear(&mut router, at(5), neighbours_hello());
    hear(&mut router, at(5), flooded(FAR, 2, hna()));
    hear(&mut router, at(10), neighbours_hello());
    router.handle_timeout(at(19));
    assert_eq!(router.revision(), Some(with), "repeated");
    // The neighbour's second HELLO still counts.
    router.handle_timeout(at(22));
    assert_ne!(router.revision(), Some(with), "expired");
    updated(&mut router, at(22));
    let routes: Vec<_> = router.routes(at(22)).into_keys().collect();
    assert_eq!(routes, [NEIGHBOUR, FAR].map(Prefix::host));
}

#[test]
fn a_neighbour_on_another_interface_and_a_silent_one_change_the_revision() {
    let mut router = Router::new(Config::default(), 1, 0);
    router.set_ports(Instant::ZERO, &ports(&[address(1, 1), address(2, 1)]));
    // Packets without messages change only the table of neighbours.
    let hear = |router: &mut Router, now, interface| {
        router.hear(now, interface, NEIGHBOUR, &bytes(&Packet::default()));
    };
    let none = updated(&mut router, at(1));
    hear(&mut router, at(1), 0);
    let first = updated(&mut router, at(1));
    assert_ne!(first, none);
    hear(&mut router, at(2), 0);
    hear(&mut router, at(3), 1);
    assert_eq!(router.revision(), Some(first), "the first interface still counts");
    hear(&mut router, at(9), 1);
    let second = updated(&mut router, at(9));
    assert_ne!(second, first);
    router.handle_timeout(at(60));
    assert_eq!(router.revision(), Some(second));
    router.handle_timeout(at(70));
    assert_ne!(router.revision(), Some(second), "forgotten");
}

#[test]
fn an_expired_link_changes_the_revision() {
    let (mut router, now) = claims(&[], Vec::new());
    let before = updated(&mut router, now);
    router.handle_timeout(at(30));
    assert_ne!(router.revision(), Some(before));
    updated(&mut router, at(30));
    assert!(router.routes(at(30)).is_empty());
}

#[test]
fn new_costs_of_links_leave_the_revision() {
    let metric = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
    let routing = Routing::Olsr(olsr::Config::rfc().with_metric(metric));
    let addresses: [&[_]; 2] = [&[address(1, 1)], &[NEIGHBOUR]];
    let mut net = Net::new(&addresses, &Config { routing, ..Config::default() }).link((0, 0), (1, 0));
    net.run(20);
    let (now, router) = (net.now, &mut net.routers[0]);
    let before = updated(router, now);
    let cost = |router: &mut Router| router.routes(now)[&Prefix::host(NEIGHBOUR)].cost.unwrap();
    let cheap = cost(router);
    router.set_local_delays(now, |_| 7_000);
    assert_eq!(router.revision(), Some(before));
    assert_eq!((cost(router), router.revision()), (cheap + 7_000, Some(before)));
    assert_eq!(router.cost_interval(), Some(Duration::from_secs(2)));
    router.handle_timeout(at(60));
    assert_ne!(router.revision(), Some(before), "a lost link");
}
