//! Hosts that forget their connections: the other end learns of this from an answer to its next datagram.

use super::*;

/// A connection with data under way, whose end at `who` is then lost with its host.
fn restarted(config: &Config, who: SocketAddr) -> (Net, Transfer) {
    let mut net = Net::quiet(1);
    net.listen(listener(), config);
    let mut all = [net.call(host(1), config, listener(), 20_000)];
    net.finish(seconds(10), &mut all);
    // The last acknowledgements arrive.
    net.wait(seconds(1));
    net.hubs.remove(&who);
    net.listen(who, config);
    net.heard = Some(Vec::new());
    let [transfer] = all;
    (net, transfer)
}

/// The time at which the end at `at` knows that the connection is gone, after it has something to send.
fn noticed(net: &mut Net, (at, id): (SocketAddr, Id), limit: Duration) -> Option<Duration> {
    let start = net.now;
    net.write(at, id, &[1; 100]).unwrap();
    while net.now < start + limit {
        net.wait(ms(10));
        match net.hub(at).read(id, &mut [0; 10]) {
            Err(error) => {
                assert_eq!(error, Error::Reset);
                return Some(net.now.saturating_since(start));
            }
            Ok(read) => assert_eq!(read, None),
        }
    }
    None
}

#[test]
fn an_end_knows_within_a_second_that_the_other_host_has_restarted() {
    for (name, config) in all() {
        for config in [config.clone(), windows::with_mesh(config)] {
            for caller_restarts in [false, true] {
                let who = if caller_restarts { host(1) } else { listener() };
                let (mut net, transfer) = restarted(&config, who);
                let left = if caller_restarts { transfer.to.unwrap() } else { transfer.from };
                let after = noticed(&mut net, left, seconds(5));
                assert!(after.is_some_and(|after| after < seconds(1)), "{name}: {after:?}");
                net.wait(seconds(30));
                let resets = net.heard.take().unwrap();
                assert!(resets.len() < 12, "{name}: {} datagrams after the restart", resets.len());
            }
        }
    }
}

#[test]
fn a_forged_or_replayed_reset_changes_nothing() {
    for (name, config) in all().into_iter().skip(1) {
        // The reset is genuine, but belongs to another connection of the two hosts.
        let (mut net, transfer) = restarted(&config, listener());
        assert!(noticed(&mut net, transfer.from, seconds(5)).is_some());
        let heard = net.heard.replace(Vec::new()).unwrap();
        let genuine: Vec<_> = heard.iter().filter(|packet| packet.bytes[0] == 13).collect();
        assert!(!genuine.is_empty() && genuine.iter().all(|packet| packet.bytes.len() == 24), "{name}");
        let reset = genuine[0].bytes.clone();
        let mut all = [net.call(host(2), &config, listener(), 10_000)];
        net.finish(seconds(10), &mut all);
        // The index by which the caller names the new connection, and a token of another index.
        let heard = net.heard.replace(Vec::new()).unwrap();
        let index = heard.iter().rfind(|packet| packet.to == listener() && packet.bytes[0] == 5).unwrap();
        let mut forged = reset.clone();
        forged[4..8].copy_from_slice(&index.bytes[4..8]);
        for to in [host(2), listener(), host(1)] {
            for bytes in [&reset, &forged] {
                for from in [host(1), host(2), listener(), address("203.0.113.1:1")] {
                    net.inject(from, to, bytes);
                }
            }
        }
        for bit in 64..8 * forged.len() {
            let mut other = forged.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            net.inject(listener(), host(2), &other);
        }
        net.wait(seconds(1));
        all[0].len += 10_000;
        net.finish(seconds(10), &mut all);
        let answers = net.heard.take().unwrap();
        assert!(answers.iter().all(|packet| packet.bytes[0] != 13), "{name}: a reset is never answered");
    }
}

#[test]
fn a_forged_reset_of_a_plain_connection_must_name_a_number_in_use() {
    for config in [plain(), windows::with_mesh(plain())] {
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let mut all = [net.call(host(1), &config, listener(), 5000)];
        net.finish(seconds(10), &mut all);
        let has_mesh = config.transport.name != multihop_hub::TransportName::TPA;
        let mut rng = Rng::stream(5, "test/resets", 0);
        for _ in 0..1000 {
            let number = u32::try_from(rng.next_u64() >> 32).unwrap().to_be_bytes();
            let reset = match has_mesh {
                true => [&[0x32, 1, 0, 0][..], &number].concat(),
                false => continue,
            };
            net.inject(listener(), host(1), &reset);
            net.inject(host(1), listener(), &reset);
        }
        all[0].len += 5000;
        net.finish(seconds(10), &mut all);
    }
}

#[test]
fn two_hosts_never_answer_each_others_resets() {
    for (name, config) in all() {
        for config in [config.clone(), windows::with_mesh(config)] {
            let (mut net, transfer) = restarted(&config, listener());
            net.write(transfer.from.0, transfer.from.1, &[1; 100]).unwrap();
            net.settle();
            let late: Vec<_> = net.heard.as_ref().unwrap().clone();
            // Both hosts have restarted.
            net.hubs.remove(&host(1));
            net.listen(host(1), &config);
            net.heard = Some(Vec::new());
            for packet in &late {
                net.inject(packet.from, packet.to, &packet.bytes);
            }
            net.wait(seconds(60));
            let heard = net.heard.take().unwrap();
            // Each datagram arrives twice.
            assert!(heard.len() <= 2 * late.len(), "{name}: {heard:?} answer {late:?}");
            for (answer, asked) in heard.iter().zip(late.iter().cycle()) {
                assert!(answer.bytes.len() <= asked.bytes.len(), "{name}");
            }
        }
    }
}

#[test]
fn without_resets_a_restart_gets_no_answer() {
    let config = Config { resets: false, ..token() };
    let (mut net, transfer) = restarted(&config, listener());
    assert_eq!(noticed(&mut net, transfer.from, seconds(3)), None);
    let silent = Config { silent: true, ..token() };
    let (mut net, transfer) = restarted(&silent, listener());
    assert_eq!(noticed(&mut net, transfer.from, seconds(3)), None, "a stranger could find a silent listener");
}
