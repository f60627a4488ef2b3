use super::*;

#[test]
fn a_connection_survives_a_change_of_the_initiators_address() {
    for (name, config) in all().into_iter().skip(1) {
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let mut transfers = [net.call(host(1), &config, listener(), 4_000_000)];
        for n in 2..6_u8 {
            net.run(ms(1500), &mut transfers, |_| false);
            let before = transfers[0].received;
            net.moved = Some((host(1), address(&format!("192.0.2.{n}:999"))));
            let resumes = net.run(ms(100), &mut transfers, |all| all[0].received >= before + 10_000);
            assert!(resumes && before < 3_500_000, "{name}: {before} bytes before move {n}");
        }
        net.finish(seconds(60), &mut transfers);
        let (at, id) = transfers[0].to.unwrap();
        assert_eq!(net.hub(at).peer(id), Some(address("192.0.2.5:999")), "{name}");
    }
}

#[test]
fn an_initiator_can_move_while_the_listener_sends() {
    let mut net = Net::quiet(1);
    net.listen(listener(), &token());
    let mut there = [net.call(host(1), &token(), listener(), 10)];
    net.finish(seconds(10), &mut there);
    let mut back = [there[0].back(200_000)];
    assert!(net.run(seconds(10), &mut back, |all| all[0].received >= 50_000));
    net.moved = Some((host(1), address("192.0.2.1:999")));
    // The listener notices the move when the initiator sends, because a copy of the data arrives or by
    // itself.
    net.wait(seconds(1));
    there[0].len += 10;
    net.run(seconds(10), &mut there, |all| all[0].is_done());
    net.finish(seconds(20), &mut back);
}

/// An attacker that forwards a datagram faster than it arrives can pretend that the caller has moved.
/// The new address is not used before it has answered a challenge, and the caller's next datagram ends the
/// attempt.
#[test]
fn a_datagram_forwarded_by_an_attacker_does_not_redirect_a_connection() {
    let thief = address("203.0.113.1:1");
    let mut net = Net::quiet(1);
    net.heard = Some(Vec::new());
    net.listen(listener(), &token());
    let mut there = [net.call(host(1), &token(), listener(), 10)];
    net.finish(seconds(10), &mut there);
    let mut back = [there[0].back(400_000)];
    for n in 1..8 {
        assert!(net.run(seconds(10), &mut back, |all| all[0].received >= n * 50_000));
        // Datagrams of the last millisecond are still in flight.
        let stolen = loop {
            net.heard = Some(Vec::new());
            net.run(ms(1), &mut back, |_| false);
            let new = net.heard.as_ref().unwrap().iter().rfind(|packet| packet.from == host(1));
            if let Some(packet) = new {
                break packet.bytes.clone();
            }
        };
        net.inject(thief, listener(), &stolen);
    }
    net.finish(seconds(10), &mut back);
    let (at, id) = there[0].to.unwrap();
    assert_eq!(net.hub(at).peer(id), Some(host(1)));
    assert!(net.astray[&thief] > 0, "it never moved: nothing was tested");
}

/// An eavesdropper that is faster than the path forwards every datagram of the caller in the name of a victim.
#[test]
fn a_connection_does_not_flood_an_address_that_has_not_answered_a_challenge() {
    let victim = address("203.0.113.1:1");
    for (name, config) in all().into_iter().skip(1) {
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let mut there = [net.call(host(1), &config, listener(), 10)];
        net.finish(seconds(10), &mut there);
        let mut back = [there[0].back(2_000_000)];
        let mut forwarded = 0;
        while !back[0].is_done() {
            net.heard = Some(Vec::new());
            net.run(ms(1), &mut back, |all| all[0].is_done());
            for packet in net.heard.take().unwrap().iter().filter(|packet| packet.from == host(1)) {
                net.inject(victim, listener(), &packet.bytes);
                forwarded += packet.bytes.len() as u64;
            }
            assert!(net.now < Instant::ZERO + seconds(600), "{name}: {} bytes arrived", back[0].received);
        }
        let sent = net.astray.get(&victim).copied().unwrap_or(0);
        assert!(forwarded > 10_000, "{name}: {forwarded} bytes: nothing was tested");
        assert!(sent <= 3 * forwarded, "{name}: the victim got {sent} bytes for {forwarded}");
        let (at, id) = there[0].to.unwrap();
        assert_eq!(net.hub(at).peer(id), Some(host(1)), "{name}");
    }
}

#[test]
fn a_plain_connection_does_not_follow_address_changes() {
    let mut net = Net::quiet(1);
    net.listen(listener(), &plain());
    let mut transfers = [net.call(host(1), &plain(), listener(), 300_000)];
    assert!(net.run(seconds(10), &mut transfers, |all| all[0].received > 1000));
    net.moved = Some((host(1), address("192.0.2.1:999")));
    assert!(!net.run(seconds(5), &mut [], |_| false));
    let (at, id) = transfers[0].to.unwrap();
    assert_eq!(net.hub(at).peer(id), Some(host(1)));
}
