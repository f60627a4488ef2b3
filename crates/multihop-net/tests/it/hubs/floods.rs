//! Floods from peers with genuine addresses, against the limits of a listener.

use super::*;

/// Handshakes that are never completed, from every port.
fn flood(net: &mut Net, config: &Config, from: impl Iterator<Item = SocketAddr>) -> usize {
    let mut knocked = 0;
    for at in from {
        net.add(at, config);
        net.hub(at).connect(listener()).unwrap();
        net.settle();
        // Its hello, the cookie, its hello with the cookie; then no more.
        for _ in 0..3 {
            net.now += ms(5);
            net.settle();
        }
        net.hubs.remove(&at);
        knocked += 1;
    }
    knocked
}

#[test]
fn a_flood_of_handshakes_reaches_the_limit_and_afterwards_others_can_connect() {
    for (name, mut config) in all() {
        config.limits.half_open = 20;
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let mut live = [net.call(host(1), &config, listener(), 400_000)];
        assert!(net.run(seconds(10), &mut live, |all| all[0].received > 0));
        let attackers = (0..100).map(|n| SocketAddr::from(([203, 0, 113, n], 1)));
        assert_eq!(flood(&mut net, &config, attackers), 100);
        assert_eq!(net.hub(listener()).len(), 21, "{name}: the limit, and the established connection");
        net.finish(seconds(60), &mut live);
        net.wait(seconds(35));
        assert_eq!(net.hub(listener()).len(), 1, "{name}");
        let mut late = [net.call(host(2), &config, listener(), 1000)];
        net.finish(seconds(10), &mut late);
    }
}

#[test]
fn one_address_cannot_exhaust_the_half_open_limit() {
    for (name, mut config) in all() {
        config.limits.half_open = 20;
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let attacker = (1..100).map(|port| SocketAddr::from(([203, 0, 113, 1], port)));
        flood(&mut net, &config, attacker);
        assert_eq!(net.hub(listener()).len(), 10, "{name}");
        let mut others = [net.call(host(2), &config, listener(), 1000)];
        net.finish(ms(100), &mut others);
    }
}

#[test]
fn buffers_have_a_limit() {
    for (name, mut config) in all() {
        // 128 KiB to send; 64 segments and a block to read.
        config.limits.memory = 1_000_000;
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let mut calls: Vec<_> = (1..9).map(|n| net.call(host(n), &config, listener(), 1000)).collect();
        net.run(seconds(10), &mut calls, |_| false);
        assert_eq!(net.hub(listener()).len(), 4, "{name}");
        assert_eq!(calls.iter().filter(|call| call.is_done()).count(), 4, "{name}");
    }
}

#[test]
fn handshakes_have_a_rate() {
    for (name, mut config) in all() {
        config.limits.handshakes = 10;
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        // Each takes 15 ms: 1.5 s for all, which is a burst of 10 and 15 more.
        let attackers = (0..100).map(|n| SocketAddr::from(([203, 0, 113, n], 1)));
        flood(&mut net, &config, attackers);
        let open = net.hub(listener()).len();
        assert!((20..30).contains(&open), "{name}: {open}");
    }
}
