//! Floods from peers with genuine addresses, against the limits of a listener.

use super::*;

/// Handshakes that are never completed, from every port.
fn flood(net: &mut Net, config: &Config, from: impl Iterator<Item = SocketAddr>) -> usize {
    let mut knocked = 0;
    for at in from {
        net.add(at, config);
        net.hub(at).connect(listener()).unwrap();
        net.settle();
        // The caller sends its hello, receives the cookie, and sends its hello with the cookie; then it is
        // silent.
        for _ in 0..3 {
            net.now += ms(5);
            let now = net.now;
            net.hub(listener()).handle_timeout(now);
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
        assert_eq!(net.hub(listener()).len(), 20, "{name}");
        let mut others = [net.call(host(2), &config, listener(), 1000)];
        net.finish(ms(100), &mut others);
        assert_eq!(net.hub(listener()).len(), 20, "{name}: the flood has lost one entry");
    }
}

/// The `n`th of so many source addresses of a flood: 127.0.2.0, 127.0.2.1, ...
fn source(n: u16, addresses: u16) -> SocketAddr {
    let [high, low] = (n % addresses).to_be_bytes();
    SocketAddr::from(([127, 0, 2 + high, low], 1024 + n))
}

/// Number of genuine callers, out of six, that are not connected within 2 s while strangers at so many
/// addresses open 400 connections a second that they never complete.
fn refused_during_a_flood(config: &Config, strangers: &Config, addresses: u16) -> usize {
    let mut net = Net::quiet(1);
    net.listen(listener(), config);
    let (mut calls, mut step) = (Vec::new(), 0);
    while step < 800 {
        if step == 400 {
            calls.extend((1..7).map(|n| net.call(host(n), config, listener(), 1)));
        }
        for n in [2 * step, 2 * step + 1] {
            net.add(source(n, addresses), strangers);
            net.hub(source(n, addresses)).connect(listener()).unwrap();
        }
        net.run(ms(5), &mut calls, |_| false);
        // Each caller sends its hello, receives the cookie, and sends its hello with the cookie; then it is
        // silent.
        for n in [2 * step, 2 * step + 1].into_iter().filter_map(|n| n.checked_sub(4)) {
            net.hubs.remove(&source(n, addresses));
        }
        step += 1;
    }
    calls.iter().filter(|call| !call.is_done()).count()
}

#[test]
fn genuine_callers_connect_during_a_flood_of_handshakes() {
    let stranger = Identity::from_secret([66; 32]);
    let strangers = [
        plain(),
        Config::new(Security::Token(Token::from_bytes([66; 15]))),
        Config::new(Security::Keys { identity: stranger, peers: Peers::Any }),
    ];
    let authorized = Peers::Exactly(Identity::from_secret([1; 32]).public());
    let genuine = Config::new(Security::Keys { identity: Identity::from_secret([1; 32]), peers: authorized });
    let mut refused = Vec::new();
    for ((name, config), strangers) in
        [all()[0].clone(), all()[1].clone(), ("keys", genuine)].into_iter().zip(&strangers)
    {
        for addresses in [1, 2, 16, 256] {
            let mut config = config.clone();
            (config.limits.half_open, config.limits.handshakes) = (32, 100);
            match refused_during_a_flood(&config, strangers, addresses) {
                0 => {}
                n => refused.push(format!("{name}, {addresses} addresses: {n} of 6 refused")),
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
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
