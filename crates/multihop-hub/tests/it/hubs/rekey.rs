//! New keys of long connections, by messages of types 9 (offer) and 10 (accept).

use super::*;

/// Types of datagrams.
const OFFER: u8 = 9;
const ACCEPT: u8 = 10;

/// Opens a connection over this network; returns it with the transfer of the caller.
fn connected(config: &Config, link: LinkConfig) -> (Net, [Transfer; 1]) {
    let mut net = Net::new(1, link);
    net.heard = Some(Vec::new());
    net.listen(listener(), config);
    let mut transfers = [net.call(host(1), config, listener(), 1000)];
    net.finish(seconds(30), &mut transfers);
    (net, transfers)
}

/// Sends something every ten seconds.
fn talk(net: &mut Net, transfers: &mut [Transfer], minutes: u64) {
    for _ in 0..6 * minutes {
        transfers[0].len += 3000;
        net.finish(seconds(300), transfers);
        net.wait(seconds(10));
    }
}

fn is_offer(packet: &Packet) -> bool {
    packet.bytes[0] == OFFER
}

fn is_accept(packet: &Packet) -> bool {
    packet.bytes[0] == ACCEPT
}

fn count(net: &Net, from: SocketAddr, kind: u8) -> usize {
    let heard = net.heard.as_ref().unwrap();
    heard.iter().filter(|packet| packet.from == from && packet.bytes[0] == kind).count()
}

/// The numbers of the keys under which caller and listener send.
fn key_numbers(net: &mut Net, transfers: &[Transfer]) -> [u64; 2] {
    let ends = [transfers[0].from, transfers[0].to.unwrap()];
    ends.map(|(at, id)| net.hub(at).stats(id).unwrap().key_changes)
}

fn modes() -> impl Iterator<Item = (&'static str, Config)> {
    all().into_iter().skip(1)
}

#[test]
fn data_does_not_wait_for_new_keys() {
    for (name, config) in modes() {
        let delay = LinkConfig { delay: ms(50), ..LinkConfig::default() };
        let (mut net, mut transfers) = connected(&config, delay);
        transfers[0].len += 20_000_000;
        let mut per_second = Vec::new();
        for _ in 0..250 {
            let before = transfers[0].received;
            net.run(seconds(1), &mut transfers, |_| false);
            per_second.push(transfers[0].received - before);
        }
        assert_eq!(key_numbers(&mut net, &transfers), [2; 2], "{name}");
        let (least, most) = (per_second.iter().min().unwrap(), per_second.iter().max().unwrap());
        // A second has about ten round trips, and each of them delivers a window.
        assert!(least * 10 >= most * 8, "{name}: {least} to {most} bytes in a second");
    }
}

/// Both ends send at the moment at which new keys are due.
#[test]
fn only_the_caller_offers_new_keys() {
    for (name, config) in modes() {
        let (mut net, mut there) = connected(&config, LinkConfig { delay: ms(5), ..LinkConfig::default() });
        let mut both = [there[0].back(0)];
        for _ in 0..20 {
            net.wait(seconds(60));
            there[0].len += 1000;
            both[0].len += 1000;
            for transfer in there.iter_mut().chain(&mut both) {
                transfer.pump(&mut net);
            }
            net.finish(seconds(10), &mut there);
            net.finish(seconds(10), &mut both);
        }
        // The last exchange of data ends with a datagram of the caller.
        there[0].len += 1000;
        net.finish(seconds(10), &mut there);
        let offers = count(&net, host(1), OFFER);
        assert!((7..=10).contains(&offers), "{name}: {offers}");
        assert_eq!((count(&net, listener(), OFFER), count(&net, host(1), ACCEPT)), (0, 0), "{name}");
        assert_eq!(count(&net, listener(), ACCEPT), offers, "{name}");
        let numbers = key_numbers(&mut net, &there);
        assert_eq!(numbers[0], numbers[1], "{name}");
    }
}

#[test]
fn keys_change_on_a_bad_network_too() {
    for (name, config) in modes() {
        let bad = LinkConfig { delay: ms(10), loss: 0.3, duplication: 0.1, reordering: 0.3, hold: ms(3000) };
        let (mut net, mut transfers) = connected(&config, bad);
        talk(&mut net, &mut transfers, 30);
        let numbers = key_numbers(&mut net, &transfers);
        let periods = net.now.saturating_since(Instant::ZERO).as_secs_f64() / 120.0;
        let fits = |&number: &u64| (periods / 2.0..=periods).contains(&(number as f64));
        assert!(numbers.iter().all(fits), "{name}: {numbers:?} in {periods} times two minutes");
        assert!(numbers[0].abs_diff(numbers[1]) <= 1, "{name}: {numbers:?}");
    }
}

#[test]
fn without_an_answer_the_keys_stay_and_data_goes_on() {
    for (name, config) in modes() {
        let (mut net, mut transfers) =
            connected(&config, LinkConfig { delay: ms(5), ..LinkConfig::default() });
        for kind in [OFFER, ACCEPT] {
            let before = (key_numbers(&mut net, &transfers)[0], count(&net, host(1), OFFER));
            net.is_lost = match kind {
                OFFER => is_offer,
                _ => is_accept,
            };
            talk(&mut net, &mut transfers, 5);
            assert_eq!(key_numbers(&mut net, &transfers)[0], before.0, "{name}: {kind}");
            let offers = count(&net, host(1), OFFER) - before.1;
            assert!((2..200).contains(&offers), "{name}: {offers} offers without an answer");
            net.is_lost = |_| false;
            talk(&mut net, &mut transfers, 1);
            assert_eq!(key_numbers(&mut net, &transfers), [before.0 + 1; 2], "{name}: {kind}");
        }
    }
}

#[test]
fn replayed_messages_about_keys_have_no_effect() {
    for (name, config) in modes() {
        let (mut net, mut transfers) =
            connected(&config, LinkConfig { delay: ms(5), ..LinkConfig::default() });
        talk(&mut net, &mut transfers, 9);
        let heard = net.heard.clone().unwrap();
        let messages: Vec<_> =
            heard.into_iter().filter(|packet| matches!(packet.bytes[0], OFFER | ACCEPT)).collect();
        assert!(messages.len() >= 6, "{name}: {}", messages.len());
        let before = key_numbers(&mut net, &transfers);
        let answers = count(&net, listener(), ACCEPT);
        for packet in &messages {
            for from in [packet.from, address("203.0.113.1:1")] {
                net.inject(from, packet.to, &packet.bytes);
                // The datagram goes to the wrong end, and then to the right end with the other type.
                net.inject(packet.to, packet.from, &packet.bytes);
                let mut other = packet.bytes.clone();
                other[0] ^= OFFER ^ ACCEPT;
                net.inject(from, packet.to, &other);
                net.settle();
            }
        }
        transfers[0].len += 1000;
        net.finish(seconds(10), &mut transfers);
        assert_eq!(key_numbers(&mut net, &transfers), before, "{name}");
        assert_eq!(count(&net, listener(), ACCEPT), answers, "{name}");
        talk(&mut net, &mut transfers, 3);
        assert!(key_numbers(&mut net, &transfers)[1] > before[1], "{name}: later keys are not prevented");
    }
}
