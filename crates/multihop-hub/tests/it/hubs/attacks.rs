//! Attacks by an eavesdropper that can send any datagram from any address, but cannot suppress one.

use multihop_hub::{DeliveryFailure, FailureCause};

use super::*;

/// A finished transfer, and all of its datagrams.
fn overheard(config: &Config) -> (Net, Transfer, Vec<Packet>) {
    let mut net = Net::quiet(1);
    net.heard = Some(Vec::new());
    net.listen(listener(), config);
    let mut transfers = [net.call(host(1), config, listener(), 20_000)];
    net.finish(seconds(10), &mut transfers);
    let heard = net.heard.take().unwrap();
    let [transfer] = transfers;
    (net, transfer, heard)
}

#[test]
fn replayed_data_is_ignored() {
    for (name, config) in all().into_iter().skip(1) {
        let (mut net, transfer, heard) = overheard(&config);
        let mut all = [transfer];
        for packet in &heard {
            net.inject(packet.from, packet.to, &packet.bytes);
            net.inject(address("203.0.113.1:1"), packet.to, &packet.bytes);
            net.settle();
        }
        all[0].len += 20_000;
        net.finish(seconds(10), &mut all);
        let (at, id) = all[0].to.unwrap();
        assert_eq!(net.hub(at).peer(id), Some(host(1)), "{name}: a replay from another address");
        assert_eq!(net.hub(listener()).len(), 1, "{name}");
    }
}

#[test]
fn a_replayed_handshake_makes_no_connection() {
    for (name, config) in all().into_iter().skip(1) {
        let (mut net, transfer, heard) = overheard(&config);
        let (at, id) = transfer.from;
        net.hub(at).abort(id);
        net.release(at, id);
        net.wait(seconds(1));
        let (to, answerer) = transfer.to.unwrap();
        net.release(to, answerer);
        net.wait(seconds(1));
        assert_eq!(net.hub(listener()).len(), 0, "{name}");
        for round in 0..3 {
            for packet in heard.iter().filter(|packet| packet.to == listener()) {
                net.inject(packet.from, packet.to, &packet.bytes);
                net.settle();
                let hub = net.hub(listener());
                assert!(hub.len() <= 1, "{name}: at most one half-open connection");
                assert_eq!(hub.accept(), None, "{name}");
            }
            // The cookie is used twice while it is valid, and once after it has expired.
            net.wait(seconds(if round == 0 { 35 } else { 90 }));
            assert_eq!(net.hub(listener()).len(), 0, "{name}: the half-open connection is gone");
        }
    }
}

#[test]
fn a_cookie_is_invalid_from_another_address() {
    for (name, config) in all() {
        let (mut net, _, heard) = overheard(&config);
        let connections = net.hub(listener()).len();
        let elsewhere = [address("10.0.0.1:999"), address("10.0.0.99:4001"), address("[::1]:4001")];
        for packet in heard.iter().filter(|packet| packet.to == listener()) {
            for from in elsewhere {
                net.inject(from, packet.to, &packet.bytes);
            }
        }
        net.settle();
        assert_eq!(net.hub(listener()).len(), connections, "{name}");
    }
}

#[test]
fn a_forged_reset_does_not_end_an_encrypted_connection() {
    for (name, config) in all().into_iter().skip(1) {
        let (mut net, transfer, heard) = overheard(&config);
        let mut all = [transfer];
        for block in 0..=u16::MAX {
            let mut reset = [0; 12];
            // RST and ACK of every block number, in the plain protocol.
            reset[3] = 0xc;
            reset[4..6].copy_from_slice(&block.to_be_bytes());
            net.inject(host(1), listener(), &reset);
            net.inject(listener(), host(1), &reset);
        }
        // And refusals, with the true index of the caller.
        let index = heard[0].bytes[4..8].to_vec();
        for reason in 0..8 {
            net.inject(listener(), host(1), &[&[6, reason, 255, 255][..], &index, &[3]].concat());
        }
        all[0].len += 1000;
        net.finish(seconds(10), &mut all);
        assert_eq!(net.hub(listener()).len(), 1, "{name}");
    }
}

#[test]
fn forged_refusals_and_cookies_do_not_prevent_a_connection() {
    for (name, config) in all().into_iter().skip(1) {
        let mut net = Net::quiet(1);
        net.heard = Some(Vec::new());
        net.listen(listener(), &config);
        let mut all = [net.call(host(1), &config, listener(), 1000)];
        net.settle();
        // The attacker answers as soon as it sees a hello, and again at each further one.
        let mut answered = 0;
        while !all[0].is_done() {
            let heard = net.heard.as_ref().unwrap();
            let hellos: Vec<_> = heard.iter().filter(|packet| packet.bytes[0] == 1).cloned().collect();
            for hello in &hellos[answered..] {
                let index = &hello.bytes[4..8];
                net.inject(listener(), host(1), &[&[6, 3, 255, 255][..], index, &[3]].concat());
                let forged = if answered == 0 { 3 } else { 0 };
                for n in 0..forged {
                    net.inject(listener(), host(1), &[&[2, 1, 255, 255][..], index, &[n + 1; 16]].concat());
                }
            }
            answered = hellos.len();
            assert!(net.now < Instant::ZERO + seconds(5), "{name}: {answered} hellos");
            net.run(ms(1), &mut all, |_| false);
        }
    }
}

#[test]
fn an_unproved_address_gets_no_more_bytes_than_it_has_sent() {
    for (name, config) in all() {
        let (mut net, _, heard) = overheard(&config);
        let mut sent = BTreeMap::new();
        let to_listener: Vec<_> = heard.into_iter().filter(|packet| packet.to == listener()).collect();
        for n in 0..20_000 {
            let from = SocketAddr::from(([198, 51, 100, random(&mut net.rng)], 1));
            let packet = &to_listener[net.rng.below(u32::try_from(to_listener.len()).unwrap()) as usize];
            let bytes = mutated(&mut net.rng, &packet.bytes);
            net.inject(from, listener(), &bytes);
            *sent.entry(from).or_insert(0) += bytes.len() as u64;
            net.settle();
            if n % 100 == 0 {
                net.wait(ms(20));
            }
        }
        net.wait(ms(100));
        assert!(!net.astray.is_empty(), "{name}: there was no answer, so nothing was tested");
        for (to, bytes) in &net.astray {
            assert!(*bytes <= sent[to], "{name}: {to} got {bytes} bytes for {}", sent[to]);
        }
    }
}

/// A forged ICMP report of a router or of the peer's host.
#[test]
fn forged_icmp_errors_do_not_end_a_connection() {
    for (name, config) in all() {
        let (mut net, transfer, _) = overheard(&config);
        let mut all = [transfer];
        let mut heard = Vec::new();
        for step in 0..12_000 {
            // The attacker quotes a datagram that has just left, and sometimes the last one before a pause.
            let again = if step % 100 == 0 { heard.clone() } else { Vec::new() };
            heard = net.heard.replace(Vec::new()).filter(|new| !new.is_empty()).unwrap_or(heard);
            for packet in heard.iter().chain(&again) {
                for cause in [FailureCause::PortClosed, FailureCause::Unreachable, FailureCause::TooLong(0)] {
                    let reporter = Some("192.0.2.1".parse().unwrap());
                    let failure = DeliveryFailure { to: packet.to, reporter, cause, quoted: &packet.bytes };
                    let now = net.now;
                    net.hub(packet.from).on_delivery_failure(now, &failure);
                }
            }
            all[0].len += if step % 4000 == 0 { 5000 } else { 0 };
            net.run(ms(1), &mut all, |_| false);
        }
        net.finish(seconds(60), &mut all);
        let (at, id) = all[0].from;
        assert!(net.hub(at).stats(id).unwrap().counters.notices > 0, "{name}: no report had an effect");
    }
}

#[test]
fn a_report_that_quotes_less_than_eight_bytes_is_ignored() {
    for (name, config) in all() {
        let (mut net, mut transfer, _) = overheard(&config);
        net.heard = Some(Vec::new());
        transfer.len += 1000;
        let mut all = [transfer];
        net.run(ms(5), &mut all, |_| false);
        let sent = net.heard.as_ref().unwrap().iter().find(|packet| packet.from == host(1)).unwrap().clone();
        let (at, id) = all[0].from;
        let mut counted = Vec::new();
        for len in 0..sent.bytes.len().min(20) {
            let (reporter, cause) = (Some("192.0.2.1".parse().unwrap()), FailureCause::Unreachable);
            let failure = DeliveryFailure { to: sent.to, reporter, cause, quoted: &sent.bytes[..len] };
            let (now, before) = (net.now, net.hub(at).stats(id).unwrap().notices);
            net.hub(at).on_delivery_failure(now, &failure);
            if net.hub(at).stats(id).unwrap().notices > before {
                counted.push(len);
            }
        }
        assert_eq!(counted, (8..sent.bytes.len().min(20)).collect::<Vec<_>>(), "{name}");
        net.finish(seconds(60), &mut all);
    }
}

/// A copy of `bytes` with up to three random mutations.
fn mutated(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.below(4) {
        let len = u32::try_from(bytes.len()).unwrap();
        match rng.below(6) {
            0 => bytes.truncate(rng.below(len + 1) as usize),
            1 => bytes.extend((0..rng.below(64)).map(|_| random(rng))),
            2 if len > 4 => bytes[..4].copy_from_slice(&[random(rng) % 8, random(rng) % 20, 255, 255]),
            3 if len >= 24 => bytes[8..24].fill(0),
            _ if len > 0 => bytes[rng.below(len) as usize] ^= 1 << rng.below(8),
            _ => {}
        }
    }
    bytes
}

fn random(rng: &mut Rng) -> u8 {
    rng.next_u64().to_be_bytes()[0]
}

/// Mutated copies of the datagrams of live connections, and garbage, during transfers.
fn storm(name: &str, config: &Config, datagrams: u32) {
    let mut net = Net::quiet(7);
    net.heard = Some(Vec::new());
    net.listen(listener(), config);
    let mut all: Vec<_> = (1..4).map(|n| net.call(host(n), config, listener(), 1_500_000)).collect();
    assert!(net.run(seconds(10), &mut all, |all| all.iter().all(|transfer| transfer.received > 0)));
    let handshakes: Vec<_> = net.heard.as_ref().unwrap().iter().take(15).cloned().collect();
    let rounds = 1000;
    let (mut most, mut injected) = (0, 0);
    for _ in 0..rounds {
        let heard = net.heard.take().unwrap();
        for _ in 0..datagrams / rounds {
            let pool = if net.rng.chance(0.1) { &handshakes } else { &heard };
            let packet = &pool[net.rng.below(u32::try_from(pool.len()).unwrap()) as usize];
            let bytes = match net.rng.below(4) {
                0 => (0..net.rng.below(300)).map(|_| random(&mut net.rng)).collect(),
                _ => mutated(&mut net.rng, &packet.bytes),
            };
            // In the plain protocol an attacker with the peer's address is the peer.
            let from = match net.rng.below(3) {
                0 if name != "plain" => packet.from,
                _ => SocketAddr::from((std::array::from_fn::<u8, 4, _>(|_| random(&mut net.rng)), 1)),
            };
            net.inject(from, packet.to, &bytes);
            injected += u32::from(net.hubs.contains_key(&packet.to));
        }
        net.heard = Some(heard);
        net.run(ms(1), &mut all, |_| false);
        // Only the newest datagrams of the live connections are kept, because answers to the attacker would
        // displace them.
        let live = |packet: &Packet| net.hubs.contains_key(&packet.to) && net.hubs.contains_key(&packet.from);
        let heard = net.heard.take().unwrap().into_iter().filter(live).collect::<Vec<_>>();
        net.heard = Some(heard[heard.len().saturating_sub(200)..].to_vec());
        most = most.max(net.hub(listener()).len());
    }
    assert_eq!(injected, datagrams, "{name}");
    assert!(!all.iter().all(Transfer::is_done), "{name}: the storm came too late");
    net.finish(seconds(60), &mut all);
    assert!((3..=3 + config.limits.half_open).contains(&most), "{name}: {most} connections");
    net.wait(seconds(40));
    assert_eq!(net.hub(listener()).len(), 3, "{name}: connections of the attacker remain");
}

#[test]
fn a_flood_of_garbage_on_a_plain_listener() {
    storm("plain", &plain(), 400_000);
}

#[test]
fn a_flood_of_garbage_on_a_listener_with_a_token() {
    storm("token", &token(), 300_000);
}

#[test]
fn a_flood_of_garbage_on_a_listener_with_keys() {
    storm("keys", &keys(), 300_000);
}
