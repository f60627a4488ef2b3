//! Indices, by which datagrams name a connection, and the messages about them: types 11 (request) and 12
//! (spare).

use std::collections::BTreeSet;

use super::*;

const REQUEST: u8 = 11;
const SPARE: u8 = 12;
const RESET: u8 = 13;

/// A place of the caller.
fn place(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 999))
}

/// Datagrams on each path: for each address of the caller, those from the caller and those to it.
#[derive(Default)]
struct Paths(BTreeMap<SocketAddr, [Vec<Vec<u8>>; 2]>);

impl Paths {
    /// Adds what an eavesdropper has heard since the last call, while the caller was at this address.
    fn add(&mut self, net: &mut Net, caller: SocketAddr) {
        let all = net.heard.replace(Vec::new()).unwrap();
        // A reset has the index of the datagram that it answers, wherever that datagram comes from.
        for packet in all.into_iter().filter(|packet| packet.bytes[0] != RESET) {
            let (at, direction) = match packet.from == listener() {
                true if packet.to == host(1) => (host(1), 1),
                true => (packet.to, 1),
                false => (caller, 0),
            };
            self.0.entry(at).or_default()[direction].push(packet.bytes);
        }
    }

    /// The bytes that `part` selects from all datagrams in this direction, for each path.
    fn parts(&self, direction: usize, part: fn(&[u8]) -> &[u8]) -> Vec<BTreeSet<Vec<u8>>> {
        self.0
            .values()
            .map(|both| both[direction].iter().map(|bytes| part(bytes).to_vec()).collect())
            .collect()
    }
}

/// The elements that are in two of these sets.
fn in_common(sets: &[BTreeSet<Vec<u8>>]) -> Vec<Vec<u8>> {
    let pairs = sets.iter().enumerate().flat_map(|(n, one)| sets[..n].iter().map(move |other| (one, other)));
    pairs.flat_map(|(one, other)| one.intersection(other).cloned()).collect()
}

fn index(bytes: &[u8]) -> &[u8] {
    &bytes[4..8]
}

fn ciphertext(bytes: &[u8]) -> &[u8] {
    &bytes[16..]
}

fn counter(bytes: &[u8]) -> &[u8] {
    &bytes[8..16]
}

fn modes() -> impl Iterator<Item = (&'static str, Config)> {
    all().into_iter().skip(1)
}

/// A transfer in each direction, under the ears of an eavesdropper.
fn transfers(config: &Config) -> (Net, [Transfer; 2]) {
    let mut net = Net::quiet(1);
    net.heard = Some(Vec::new());
    net.listen(listener(), config);
    let mut there = [net.call(host(1), config, listener(), 1000)];
    net.finish(seconds(10), &mut there);
    let back = there[0].back(60_000_000);
    let [mut there] = there;
    there.len = 60_000_000;
    (net, [there, back])
}

fn count(net: &Net, kind: u8) -> usize {
    net.heard.as_ref().unwrap().iter().filter(|packet| packet.bytes[0] == kind).count()
}

#[test]
fn what_is_sent_on_two_paths_has_nothing_in_common() {
    for (name, config) in modes() {
        let (mut net, mut both) = transfers(&config);
        let mut paths = Paths::default();
        for n in 0..5 {
            if n > 0 {
                net.move_host(host(1), place(n));
            }
            let at = if n > 0 { place(n) } else { host(1) };
            let before = both[0].received;
            net.run(seconds(3), &mut both, |_| false);
            assert!(both[0].received > before + 100_000 && !both[0].is_done(), "{name}: nothing was tested");
            paths.add(&mut net, at);
        }
        assert_eq!(paths.0.len(), 5, "{name}");
        for direction in [0, 1] {
            for part in [index, ciphertext, counter] {
                let parts = paths.parts(direction, part);
                assert!(parts.iter().all(|part| !part.is_empty()), "{name}: {direction}");
                let common = in_common(&parts);
                assert!(
                    common.is_empty(),
                    "{name}, direction {direction}: {} in common: {:x?}",
                    common.len(),
                    common[0]
                );
            }
        }
    }
}

/// The change is like that of a router that begins to use another address.
#[test]
fn a_change_that_only_the_listener_notices_ends_the_use_of_the_old_indices() {
    for (name, config) in modes() {
        let (mut net, mut both) = transfers(&config);
        net.run(seconds(3), &mut both, |_| false);
        let mut paths = Paths::default();
        paths.add(&mut net, host(1));
        net.moved = Some((host(1), place(1)));
        // The caller notices the change after a round trip.
        net.run(ms(20), &mut both, |_| false);
        let first: Vec<_> = net.heard.replace(Vec::new()).unwrap();
        net.run(seconds(3), &mut both, |_| false);
        paths.add(&mut net, place(1));
        for direction in [0, 1] {
            assert_eq!(
                in_common(&paths.parts(direction, index)),
                [[0; 0]; 0],
                "{name}, direction {direction}"
            );
        }
        let at_once =
            first.iter().filter(|packet| packet.to == place(1)).map(|packet| index(&packet.bytes).to_vec());
        let before = &paths.parts(1, index)[0];
        assert!(
            at_once.clone().count() > 0 && at_once.clone().all(|index| !before.contains(&index)),
            "{name}"
        );
    }
}

#[test]
fn without_spare_indices_a_connection_keeps_its_own_and_still_moves() {
    for (name, config) in modes() {
        for lost in [REQUEST, SPARE] {
            let (mut net, mut both) = transfers(&config);
            net.is_lost = match lost {
                REQUEST => |packet| packet.bytes[0] == REQUEST,
                _ => |packet| packet.bytes[0] == SPARE,
            };
            net.run(seconds(4), &mut both, |_| false);
            // Each end sends one request in a second.
            assert!((6..=8).contains(&count(&net, REQUEST)), "{name}: {}", count(&net, REQUEST));
            net.move_host(host(1), place(1));
            let before = both[0].received;
            net.run(seconds(3), &mut both, |_| false);
            assert!(both[0].received > before + 100_000, "{name}");
            let (at, id) = both[0].to.unwrap();
            assert_eq!(net.hub(at).peer(id), Some(place(1)), "{name}");
        }
    }
}

#[test]
fn replayed_and_forged_messages_about_indices_have_no_effect() {
    for (name, config) in modes() {
        let (mut net, mut both) = transfers(&config);
        for n in 1..4 {
            net.move_host(host(1), place(n));
            net.run(seconds(3), &mut both, |_| false);
        }
        let heard = net.heard.replace(Vec::new()).unwrap();
        let messages: Vec<_> =
            heard.into_iter().filter(|packet| matches!(packet.bytes[0], REQUEST | SPARE)).collect();
        assert!(messages.len() >= 12, "{name}: {}", messages.len());
        for packet in &messages {
            for from in [packet.from, place(3), address("203.0.113.1:1")] {
                for to in [host(1), listener()] {
                    for flips in [[0, 0], [REQUEST ^ SPARE, 0], [0, 1]] {
                        let mut bytes = packet.bytes.clone();
                        bytes[0] ^= flips[0];
                        bytes[20] ^= flips[1];
                        net.inject(from, to, &bytes);
                    }
                }
            }
        }
        net.run(ms(500), &mut both, |_| false);
        assert_eq!((count(&net, REQUEST), count(&net, SPARE)), (0, 0), "{name}");
        let mut paths = Paths::default();
        paths.add(&mut net, place(3));
        net.move_host(host(1), place(4));
        net.run(seconds(3), &mut both, |_| false);
        paths.add(&mut net, place(4));
        for direction in [0, 1] {
            assert_eq!(
                in_common(&paths.parts(direction, index)),
                [[0; 0]; 0],
                "{name}: later moves are not prevented"
            );
        }
    }
}

/// Each forwarded datagram makes the listener use a spare index towards the attacker.
#[test]
fn an_attacker_that_forwards_datagrams_causes_one_request_a_second_at_most() {
    let thief = address("203.0.113.1:1");
    let (mut net, mut both) = transfers(&token());
    net.run(seconds(2), &mut both, |_| false);
    net.heard = Some(Vec::new());
    let mut all = Vec::new();
    for _ in 0..5000 {
        net.run(ms(1), &mut both, |_| false);
        let heard = net.heard.replace(Vec::new()).unwrap();
        if let Some(packet) = heard.iter().rfind(|packet| packet.from == host(1)) {
            net.inject(thief, listener(), &packet.bytes);
        }
        all.extend(heard);
    }
    net.heard = Some(all);
    let to_thief = net.heard.iter().flatten().filter(|packet| packet.to == thief).count();
    assert!(to_thief > 100, "{to_thief}: nothing was tested");
    // Both ends send requests for five seconds.
    assert!((4..=12).contains(&count(&net, REQUEST)), "{}", count(&net, REQUEST));
    assert!(count(&net, SPARE) <= count(&net, REQUEST), "{}", count(&net, SPARE));
    let (at, id) = both[0].to.unwrap();
    assert_eq!(net.hub(at).peer(id), Some(host(1)));
}
