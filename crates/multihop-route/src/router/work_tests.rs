//! Tests of the work that hostile messages cause: the number of table elements that an agent touches for one
//! message, which does not depend on the machine.
//!
//! Only builds with debug assertions count these elements, so `cargo test --release` runs none of these tests.

use std::sync::Arc;

use multihop_routing::{aodv as aodv_agent, steps};
use multihop_wire::aodv;
use multihop_wire::olsr::{
    Body, Hello, HelloLink, Hna, LinkCode, Message, Mid, Packet, Tc, TimeCode, Willingness,
};

use super::tests::ports;
use super::*;

const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const HOSTILE: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 200);
const GENUINE: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);
/// A host behind the genuine neighbour, farther than two hops.
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 9, 9);

fn olsr() -> Config {
    Config::default()
}

fn apdr() -> Config {
    let metric = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
    let routing = Routing::Olsr(olsr::Config::rfc().with_metric(metric));
    Config { protocol: "apdr", routing, ..Config::default() }
}

fn on_demand() -> Config {
    Config { protocol: "aodv", routing: Routing::Aodv(aodv_agent::Config::for_hosts()), ..Config::default() }
}

fn router(config: Config) -> Router {
    let mut router = Router::new(config, 1, 0);
    router.set_own(vec![OWN.into()], vec![OWN.into()]);
    router.set_ports(Instant::ZERO, &ports(&[OWN]));
    router
}

/// The `n`-th of a list of unused addresses, in no order.
fn nobody(n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0b00_0000 | n.wrapping_mul(0x9e37_79b1) & 0x00ff_ffff)
}

fn claims(n: u32, count: u32) -> Vec<Ipv4Addr> {
    (n * 300..n * 300 + count).map(nobody).collect()
}

fn message(originator: Ipv4Addr, sequence: u16, body: Body) -> Message {
    let validity = TimeCode::at_least(Duration::from_secs(15));
    Message { validity, originator, ttl: 9, hop_count: 0, sequence, body }
}

fn hello(from: Ipv4Addr, sequence: u16, others: &[Ipv4Addr]) -> Message {
    let link = |&address: &Ipv4Addr| HelloLink { code: LinkCode::Symmetric { mpr: true }, address };
    let links = [OWN].iter().chain(others).map(link).collect();
    let interval = TimeCode::at_least(Duration::from_secs(2));
    let hello = Hello { interval, willingness: Willingness::DEFAULT, links, report: None };
    Message { ttl: 1, ..message(from, sequence, Body::Hello(hello)) }
}

fn packet(messages: Vec<Message>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Packet { sequence: 0, messages }.emit(&mut bytes);
    bytes
}

fn sixteen_bits(n: u32) -> u16 {
    let [.., a, b] = n.to_be_bytes();
    u16::from_be_bytes([a, b])
}

/// A HELLO with new neighbours.
fn new_neighbours(n: u32) -> Vec<u8> {
    packet(vec![hello(HOSTILE, sixteen_bits(n), &claims(n, 300))])
}

/// A HELLO with one new neighbour, which the router must remember separately.
fn one_new_neighbour(n: u32) -> Vec<u8> {
    packet(vec![hello(HOSTILE, sixteen_bits(n), &claims(n, 1))])
}

/// A TC of one originator and one sequence number that contains another link each time.
fn parts_of_a_tc(n: u32) -> Vec<u8> {
    let tc = Tc { sequence: 1, neighbours: claims(n, 1) };
    let messages =
        [hello(HOSTILE, sixteen_bits(n), &[]), message(HOSTILE, sixteen_bits(n), Body::Tc(Arc::new(tc)))];
    packet(messages.to_vec())
}

/// A TC, MID or HNA message of an invented originator.
fn invented_originators(n: u32) -> Vec<u8> {
    let some = claims(n, 300);
    let body = match n % 3 {
        0 => Body::Tc(Arc::new(Tc { sequence: sixteen_bits(n), neighbours: some })),
        1 => Body::Mid(Mid { interfaces: some }),
        _ => Body::Hna(Hna { networks: some.into_iter().map(|to| (to, Ipv4Addr::BROADCAST)).collect() }),
    };
    let near = [nobody(n * 300 + 299)];
    packet(vec![hello(HOSTILE, sixteen_bits(n), &near), message(near[0], sixteen_bits(n), body)])
}

fn of_aodv(message: &aodv::Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(&mut bytes);
    bytes
}

fn aodv_hello(from: Ipv4Addr) -> Vec<u8> {
    reply(from, from, 1, 2_000)
}

fn reply(destination: Ipv4Addr, originator: Ipv4Addr, number: u32, lifetime_ms: u32) -> Vec<u8> {
    of_aodv(&aodv::Message::Reply(aodv::Reply {
        repair: false,
        ack_required: false,
        prefix_size: 0,
        hop_count: 0,
        destination,
        destination_sequence: aodv::Sequence(number),
        originator,
        lifetime_ms,
    }))
}

/// Requests of invented originators.
fn requests(n: u32) -> Vec<u8> {
    of_aodv(&aodv::Message::Request(aodv::Request {
        join: false,
        repair: false,
        gratuitous: false,
        destination_only: false,
        hop_count: 0,
        id: n,
        destination: nobody(n + 1_000_000),
        destination_sequence: None,
        originator: nobody(n),
        originator_sequence: aodv::Sequence(1),
    }))
}

/// A reply for an invented host, valid for a day.
fn replies(n: u32) -> Vec<u8> {
    reply(nobody(n), OWN, n, 86_400_000)
}

/// An error for the host of an earlier reply, or the reply that makes its route valid again.
fn errors(n: u32) -> Vec<u8> {
    if n.is_multiple_of(2) {
        return replies(n % 500);
    }
    let lost = |k| aodv::Unreachable { destination: nobody(k), sequence: aodv::Sequence(n + k) };
    let unreachable = (0..250).map(|k| lost((n + k) % 500)).collect();
    of_aodv(&aodv::Message::Error(aodv::Error { no_delete: false, unreachable }))
}

fn aodv_hellos(_: u32) -> Vec<u8> {
    aodv_hello(HOSTILE)
}

type Flood = fn(u32) -> Vec<u8>;

/// Sends a flood of 730 messages a second for some seconds. Returns the steps of the costliest message, and
/// the most steps in one second of all work at the agent's deadlines.
fn flood(router: &mut Router, messages: Flood, seconds: u32) -> (u64, u64) {
    let (mut costliest, mut timers, mut now) = (0, 0, Instant::ZERO);
    for n in 0..730 * seconds {
        now += Duration::from_micros(1_370);
        steps::taken();
        router.hear(now, 0, HOSTILE, &messages(n));
        costliest = costliest.max(steps::taken());
        // The genuine message arrives when the flood has filled the tables.
        if n.is_multiple_of(730) && n > 365 * seconds {
            router.hear(now, 0, GENUINE, &genuine(router, n / 730));
        }
        // The daemon handles timers at most a hundred times a second, too.
        if n.is_multiple_of(10) && router.poll_timeout().is_some_and(|at| at <= now) {
            steps::taken();
            router.handle_timeout(now);
            timers = timers.max(steps::taken());
        }
        router.take_datagrams(now);
    }
    steps::taken();
    let routes = router.routes(now);
    assert!(routes.contains_key(&Prefix::host(GENUINE)), "there is room for the genuine neighbour");
    assert!(routes.contains_key(&Prefix::host(FAR)), "there is room for what it leads to");
    (costliest, timers)
}

/// The message that the genuine neighbour sends once a second.
fn genuine(router: &Router, n: u32) -> Vec<u8> {
    let Routing::Olsr(_) = router.config.routing else {
        return if n.is_multiple_of(2) { aodv_hello(GENUINE) } else { reply(FAR, OWN, n, 6_000) };
    };
    let near = Ipv4Addr::new(10, 0, 8, 8);
    let tc = Body::Tc(Arc::new(Tc { sequence: 7, neighbours: vec![FAR] }));
    packet(vec![hello(GENUINE, sixteen_bits(n), &[near]), message(near, sixteen_bits(n), tc)])
}

/// A router, ten seconds after its start, that processes a message of the genuine neighbour `ago` after its
/// arrival.
fn late(config: Config, ago: Duration) -> (Router, Instant) {
    let mut router = router(config);
    let now = Instant::ZERO + Duration::from_secs(30);
    let bytes = match router.config.routing {
        Routing::Olsr(_) => packet(vec![hello(GENUINE, 1, &[FAR])]),
        Routing::Aodv(_) => aodv_hello(GENUINE),
        Routing::Extension(_) => unreachable!("no configuration of these tests"),
    };
    let arrival = Arrival { interface: 0, from: GENUINE.into(), to_all: true, ttl: 1, ago };
    router.receive(now, arrival, &bytes);
    (router, now)
}

#[test]
fn what_a_message_says_is_valid_from_its_arrival_on() {
    for (config, validity, ago) in
        [(olsr(), 15_000, 12_000), (apdr(), 15_000, 12_000), (on_demand(), 2_100, 1_500)]
    {
        let [validity, ago] = [validity, ago].map(Duration::from_millis);
        let (mut router, now) = late(config, ago);
        let name = router.config.protocol;
        let heard: Vec<_> = router.heard(now).map(|heard| now.saturating_since(heard.at)).collect();
        assert_eq!(heard, [ago], "{name}");
        assert!(router.routes(now).contains_key(&Prefix::host(GENUINE)), "{name}");
        // The exponent and mantissa of OLSR round the validity up by less than a sixteenth.
        let end = now + validity.saturating_sub(ago) + validity / 16;
        router.handle_timeout(end);
        assert!(!router.routes(end).contains_key(&Prefix::host(GENUINE)), "{name}");
    }
}

#[test]
fn a_message_that_is_no_longer_valid_when_there_is_time_for_it_is_not_used() {
    for config in [olsr(), apdr(), on_demand()] {
        let (mut router, now) = late(config, Duration::from_secs(16));
        let name = router.config.protocol;
        assert_eq!(router.heard(now).count(), 0, "{name}");
        assert_eq!(router.routes(now).len(), 0, "{name}");
        assert_eq!((router.counters().outdated, router.counters().received), (1, 0), "{name}");
    }
}

#[test]
fn a_message_of_a_flood_costs_a_bounded_number_of_steps_whatever_came_before() {
    let olsr_floods: [(&str, Flood); 4] = [
        ("HELLOs with 300 new neighbours", new_neighbours),
        ("HELLOs with one new neighbour", one_new_neighbour),
        ("parts of a TC", parts_of_a_tc),
        ("invented originators", invented_originators),
    ];
    let aodv_floods: [(&str, Flood); 4] =
        [("HELLOs", aodv_hellos), ("requests", requests), ("replies", replies), ("errors", errors)];
    let both =
        [olsr as fn() -> Config, apdr].into_iter().flat_map(|config| olsr_floods.map(|one| (config, one)));
    let all = both.chain(aodv_floods.map(|one| (on_demand as fn() -> Config, one)));
    for (config, (name, messages)) in all {
        let mut router = router(config());
        let (costliest, timers) = flood(&mut router, messages, 12);
        let protocol = router.config.protocol;
        assert!(costliest <= MAX_STEPS, "{protocol}, {name}: {costliest} steps for a message");
        assert!(timers <= MAX_STEPS_OF_TIMERS, "{protocol}, {name}: {timers} steps at a deadline");
    }
}

/// Largest number of steps for one message. Inserting 300 entries into tables of 4096 moves half of three
/// columns each time, which takes less than a millisecond.
const MAX_STEPS: u64 = 2_000_000;
/// Largest number of steps at a deadline: two passes over an AODV table with all of its destinations.
const MAX_STEPS_OF_TIMERS: u64 = 50_000;
