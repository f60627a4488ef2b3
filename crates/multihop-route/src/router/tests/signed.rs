//! Tests of signed packets: which senders are heard, which must prove their index, and the outcome of
//! replayed packets.

use super::super::signing::{MAX_ANSWERS, MAX_SENDERS, PACKET_INTERVAL};
use super::*;

/// A router with one interface, whose clock begins at `epoch`.
fn host(own: Ipv4Addr, seed: u64, epoch: u64) -> Router {
    let mut router = Router::new(keyed(1), seed, epoch);
    router.set_ports(Instant::ZERO, &ports(&[own]));
    router
}

/// Two hosts on a link, with these seeds. The clock of the second host begins in 1970.
fn pair(seeds: [u64; 2]) -> Net {
    let mut net = Net::new(&[&[address(1, 1)], &[address(1, 2)]], &keyed(1)).link((0, 0), (1, 0));
    net.routers[0] = host(address(1, 1), seeds[0], 1_700_000_000);
    net.routers[1] = host(address(1, 2), seeds[1], 0);
    net
}

impl Net {
    /// Replaces a host by one that has just started with the clock at `epoch`.
    fn restart(&mut self, router: usize, seed: u64, epoch: u64) {
        let own = address(1, u8::try_from(router).unwrap() + 1);
        let mut next = Router::new(keyed(1), seed, epoch);
        next.set_ports(self.now, &ports(&[own]));
        self.routers[router] = next;
    }

    /// Number of packets that a host has sent.
    fn count_sent(&self, router: usize) -> usize {
        self.sent.iter().filter(|(from, ..)| *from == router).count()
    }

    /// The bytes of the packets that a host has sent.
    fn recorded(&self, router: usize) -> Vec<Vec<u8>> {
        let own = self.sent.iter().filter(|(from, ..)| *from == router);
        own.map(|(.., packet)| bytes(packet)).collect()
    }

    /// Replays recorded packets of another host to a host; returns how many of them the host used.
    fn replay(&mut self, to: usize, from: Ipv4Addr, packets: &[Vec<u8>]) -> u64 {
        let before = self.routers[to].counters().received;
        for packet in packets {
            self.routers[to].hear(self.now, 0, from, packet);
        }
        self.routers[to].counters().received - before
    }
}

fn refusals_of(router: &Router, reason: Reason) -> u64 {
    router.refusals().filter(|one| one.reason == reason).map(|one| one.count).sum()
}

#[test]
fn hosts_with_the_same_key_find_routes_and_hear_nobody_else() {
    let mut net = line();
    for router in [0, 1, 2] {
        net.routers[router].configure(net.now, keyed(1));
    }
    net.routers[3].configure(net.now, keyed(2));
    net.run(40);
    assert_eq!(net.via(0, address(3, 3)), Some(address(1, 2)));
    assert_eq!(net.via(2, address(3, 4)), None, "another key");
    assert!(net.routers[2].counters().wrong_key > 0 && net.routers[3].counters().wrong_key > 0);
    net.routers[3].configure(net.now, Config::default());
    net.run(40);
    assert_eq!(net.via(2, address(3, 4)), None, "no key");
    assert!(net.routers[2].counters().unsigned > 0);
    net.routers[3].configure(net.now, keyed(1));
    net.run(40);
    assert_eq!(net.via(2, address(3, 4)), Some(address(3, 4)));
}

#[test]
fn a_refused_neighbour_is_shown_with_the_reason_the_count_and_the_time() {
    let mut net = pair([1, 2]);
    net.routers[1].configure(net.now, keyed(2));
    net.run(20);
    let refusals: Vec<_> = net.routers[0].refusals().collect();
    let [refusal] = refusals[..] else { panic!("{refusals:?}") };
    assert_eq!((refusal.from, refusal.reason), (address(1, 2).into(), Reason::WrongKey));
    assert_eq!(refusal.count, net.count_sent(1) as u64);
    assert!(net.now.saturating_since(refusal.last) < Duration::from_secs(3));
}

#[test]
fn a_host_whose_clock_begins_in_1970_joins_within_three_hellos_more_than_without_a_key() {
    let seconds = |keyed: bool| {
        let mut net = pair([1, 2]);
        if !keyed {
            for router in &mut net.routers {
                router.configure(Instant::ZERO, Config::default());
            }
        }
        while net.via(0, address(1, 2)).is_none() || net.via(1, address(1, 1)).is_none() {
            net.step();
            assert!(net.now < Instant::ZERO + Duration::from_secs(60), "they never meet");
        }
        net.now.saturating_since(Instant::ZERO).as_secs_f64()
    };
    let (with, without) = (seconds(true), seconds(false));
    assert!(with < without + 6.0, "{with} s with a key, {without} s without");
}

#[test]
fn a_signed_packet_counts_once_from_its_sender_unchanged() {
    let mut net = pair([1, 2]);
    net.run(20);
    let mut sender = net.routers.remove(1);
    sender.handle_timeout(net.now + Duration::from_secs(2));
    let datagram = sender.take_datagrams(net.now + Duration::from_secs(2)).remove(0).bytes;
    for at_byte in 0..datagram.len() {
        for bit in 0..8 {
            let mut changed = datagram.clone();
            changed[at_byte] ^= 1 << bit;
            assert_eq!(net.replay(0, address(1, 2), &[changed]), 0, "byte {at_byte}, bit {bit}");
        }
    }
    assert_eq!(net.replay(0, address(1, 3), std::slice::from_ref(&datagram)), 0, "another sender");
    assert_eq!(net.replay(0, address(1, 2), std::slice::from_ref(&datagram)), 1);
    let replayed = net.routers[0].counters().replayed;
    assert_eq!(net.replay(0, address(1, 2), std::slice::from_ref(&datagram)), 0, "a replay");
    assert_eq!(net.routers[0].counters().replayed, replayed + 1);
}

#[test]
fn a_replayed_session_gets_nothing_from_a_host_that_has_restarted() {
    let mut net = pair([1, 2]);
    net.run(30);
    let session = net.recorded(1);
    assert!(session.len() > 10);
    // The neighbour has left, and an attacker replays all packets of the neighbour.
    net.links[0].1 = false;
    net.restart(0, 3, 1_700_000_100);
    assert_eq!(net.replay(0, address(1, 2), &session), 0);
    assert_eq!(refusals_of(&net.routers[0], Reason::Unproven), session.len() as u64);
    net.run(5);
    assert_eq!(net.replay(0, address(1, 2), &session), 0, "after challenges");
    assert_eq!(net.via(0, address(1, 2)), None);
}

#[test]
fn a_replayed_session_does_not_displace_a_neighbour_that_has_restarted() {
    let mut net = pair([1, 2]);
    net.run(30);
    let session = net.recorded(1);
    net.restart(1, 4, 0);
    // The attacker replays while the neighbour proves itself, and afterwards.
    let mut used = 0;
    for n in 0..3_000 {
        net.step();
        used += net.replay(0, address(1, 2), &[session[n % session.len()].clone()]);
    }
    assert_eq!(used, 0);
    assert_eq!(net.via(0, address(1, 2)), Some(address(1, 2)), "the genuine neighbour is there");
}

#[test]
fn a_neighbour_that_restarts_again_and_again_proves_itself_each_time() {
    let mut net = pair([1, 2]);
    for seed in 10..15 {
        net.restart(1, seed, 0);
        net.run(40);
        assert_eq!(net.via(0, address(1, 2)), Some(address(1, 2)), "seed {seed}");
    }
    let indices: std::collections::BTreeSet<_> =
        (1..1_000).map(|seed| host(address(1, 1), seed, 0).signing.unwrap().index()).collect();
    assert_eq!(indices.len(), 999, "each start has an index of its own");
}

#[test]
fn a_flood_of_challenges_causes_a_bounded_number_of_packets_and_bounded_memory() {
    let mut net = pair([1, 2]);
    net.run(30);
    let challenges = net.recorded(1);
    net.restart(1, 5, 0);
    net.run(10);
    let (before, begun) = (net.count_sent(0), net.now);
    for _ in 0..2_000 {
        net.step();
        net.replay(0, address(1, 2), &challenges);
    }
    let seconds = net.now.saturating_since(begun).as_secs_f64();
    let sent = (net.count_sent(0) - before) as f64;
    // HELLOs leave at least 1.5 s apart, and packets with challenges and answers only after an interval.
    let most = seconds * (1.0 / 1.5 + 1.0 / PACKET_INTERVAL.as_secs_f64()) + 2.0;
    assert!(sent <= most, "{sent} packets in {seconds} s, at most {most}");
    let (senders, answers) = net.routers[0].signing.as_ref().unwrap().sizes();
    assert!(senders <= MAX_SENDERS && answers <= MAX_ANSWERS, "{senders}, {answers}");
}

#[test]
fn senders_without_a_proof_are_forgotten_before_others() {
    let mut net = pair([1, 2]);
    net.run(20);
    // Each of these hosts has the key and is heard once.
    for n in 0..1_000_u32 {
        let own = Ipv4Addr::from_bits(0x0a20_0000 + n);
        let mut other = host(own, u64::from(n) + 100, 0);
        other.handle_timeout(Instant::ZERO + Duration::from_secs(2));
        let datagram = other.take_datagrams(Instant::ZERO + Duration::from_secs(2)).remove(0).bytes;
        net.replay(0, own, &[datagram]);
    }
    assert_eq!(net.routers[0].signing.as_ref().unwrap().sizes().0, MAX_SENDERS);
    net.run(10);
    assert_eq!(net.via(0, address(1, 2)), Some(address(1, 2)));
    assert_eq!(refusals_of(&net.routers[0], Reason::Replayed), 0);
}

#[test]
fn a_signature_of_an_earlier_release_is_named_as_such() {
    let mut net = pair([1, 2]);
    // The body is a time stamp and a tag, as in version 1.
    let body = Body::Opaque(Opaque::new(146, vec![0; 24]).unwrap());
    let packet =
        Packet { sequence: 1, messages: vec![Message { ttl: 1, ..flooded(address(1, 2), 1, body) }] };
    assert_eq!(net.replay(0, address(1, 2), &[bytes(&packet)]), 0);
    assert_eq!(net.routers[0].counters().other_version, 1);
}

#[test]
fn random_bodies_of_signatures_do_no_harm() {
    let mut net = pair([1, 2]);
    net.run(20);
    let mut rng = Rng::stream(1, "fuzz", 0);
    for _ in 0..20_000 {
        let mut body: Vec<u8> = (0..rng.below(80)).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
        if let [version, challenges, answers, ..] = &mut body[..] {
            (*version, *challenges, *answers) = (2, *challenges % 3, *answers % 3);
        }
        let body = Body::Opaque(Opaque::new(146, body).unwrap());
        let packet =
            Packet { sequence: 1, messages: vec![Message { ttl: 1, ..flooded(address(1, 2), 1, body) }] };
        assert_eq!(net.replay(0, address(1, 2), &[bytes(&packet)]), 0);
    }
    assert!(net.routers[0].counters().wrong_key > 0 && net.routers[0].counters().other_version > 0);
}
