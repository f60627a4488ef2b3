//! Reports of failed deliveries by routers, the peer's host and the system.

use multihop_hub::Stats;

use super::*;

fn stats(net: &mut Net, transfer: &Transfer) -> Stats {
    let (at, id) = transfer.from;
    net.hub(at).stats(id).unwrap()
}

/// A network with a connection that has carried some data.
fn busy(config: &Config) -> (Net, [Transfer; 1]) {
    let mut net = Net::quiet(1);
    net.listen(listener(), config);
    let mut transfers = [net.call(host(1), config, listener(), 5000)];
    net.finish(seconds(10), &mut transfers);
    (net, transfers)
}

#[test]
fn a_lost_route_freezes_the_sender_which_resumes_within_a_second_of_its_return() {
    for (name, config) in all() {
        for lost in [100, 10_000, 40_000] {
            let (mut net, mut all) = busy(&config);
            all[0].len += 2_000_000;
            net.run(ms(50), &mut all, |_| false);
            net.broken = Some((host(1), FailureCause::Unreachable, None));
            net.run(ms(lost), &mut all, |_| false);
            let seen = stats(&mut net, &all[0]);
            assert_eq!(seen.phase, "freeze", "{name}");
            // One notice is for the segment in flight; those for probes have no further effect.
            assert!(seen.counters.notices == 1 && seen.notices >= 1, "{name}: {seen:?}");
            let frozen = seen.counters.data_sent;
            net.broken = None;
            let received = all[0].received;
            let resumed = net.run(ms(1000), &mut all, |all| all[0].received > received + 1500);
            assert!(resumed, "{name} after {lost} ms");
            assert!(stats(&mut net, &all[0]).counters.data_sent > frozen);
            net.finish(seconds(60), &mut all);
            assert_eq!(stats(&mut net, &all[0]).phase, "normal", "{name}");
        }
    }
}

#[test]
fn a_caller_of_a_closed_port_is_refused_at_once() {
    for (name, config) in all() {
        let mut net = Net::quiet(1);
        net.broken = Some((host(1), FailureCause::PortClosed, None));
        let call = net.call(host(1), &config, listener(), 1);
        net.wait(ms(1));
        let (at, id) = call.from;
        assert_eq!(net.hub(at).is_connected(id), Err(Error::Refused), "{name}");
    }
}

#[test]
fn an_initiator_without_a_route_retries_and_reports_it_in_the_end() {
    for (name, config) in all() {
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        net.broken = Some((host(1), FailureCause::Unreachable, None));
        let mut all = [net.call(host(1), &config, listener(), 1000)];
        net.run(seconds(6), &mut all, |_| false);
        net.broken = None;
        net.finish(seconds(2), &mut all);
        // A second initiator never gets a route.
        net.broken = Some((host(2), FailureCause::Unreachable, None));
        let call = net.call(host(2), &config, listener(), 1);
        net.wait(seconds(40));
        let (at, id) = call.from;
        assert_eq!(net.hub(at).is_connected(id), Err(Error::Unreachable), "{name}");
    }
}

/// Four hops that each lose a fifth of the datagrams lose 59% in each direction.
#[test]
fn connections_open_in_seconds_where_most_datagrams_are_lost() {
    for (name, config) in all() {
        let opens = |seed| {
            let loss = LinkConfig { loss: 0.59, delay: ms(10), ..LinkConfig::default() };
            let mut net = Net::new(seed, loss);
            net.listen(listener(), &config);
            let (at, id) = net.call(host(1), &config, listener(), 1).from;
            (1..=25_u64).find(|_| {
                net.wait(seconds(1));
                net.hub(at).is_connected(id) == Ok(true)
            })
        };
        let mut times: Vec<u64> = (1..=20).filter_map(opens).collect();
        times.sort_unstable();
        assert!(times.len() >= 19 && times[9] <= 8, "{name}: {times:?}");
    }
}

/// The host of the peer reports a closed port for every datagram.
#[test]
fn a_connection_to_a_killed_peer_fails_in_seconds() {
    for (name, config) in all() {
        let (mut net, mut all) = busy(&config);
        net.hubs.remove(&listener());
        all[0].to = Some((host(1), all[0].from.1));
        net.broken = Some((host(1), FailureCause::PortClosed, None));
        all[0].len += 5000;
        let (at, id) = all[0].from;
        let data = [0; 5000];
        assert_eq!(net.write(at, id, &data), Ok(5000));
        net.wait(seconds(2));
        assert_eq!(net.write(at, id, &data), Ok(5000), "{name}: too soon");
        net.wait(seconds(4));
        assert_eq!(net.write(at, id, &data), Err(Error::Reset), "{name}");
    }
}

/// The peer has everything, has closed its side and its program has ended, but the ACK of our FIN was lost.
#[test]
fn a_peer_that_leaves_after_the_last_message_is_no_error() {
    for (name, config) in all() {
        let (mut net, mut all) = busy(&config);
        let ((at, id), (there, other)) = (all[0].from, all[0].to.unwrap());
        net.run(ms(100), &mut all, |_| false);
        assert_eq!(net.shutdown(there, other), Ok(false));
        net.wait(ms(100));
        assert_eq!(net.hub(at).read(id, &mut [0; 9]), Ok(Some(0)), "{name}");
        net.hubs.remove(&there);
        net.broken = Some((at, FailureCause::PortClosed, None));
        assert_eq!(net.shutdown(at, id), Ok(false), "{name}");
        net.wait(ms(10));
        assert_eq!(net.shutdown(at, id), Ok(true), "{name}");
    }
}

#[test]
fn segments_fit_the_path_from_the_next_block_on() {
    for (name, config) in all() {
        let (mut net, mut all) = busy(&config);
        let whole = stats(&mut net, &all[0]).mss;
        net.path_mtu.store(1000, Ordering::Relaxed);
        net.broken = Some((host(1), FailureCause::TooLong(1000), None));
        all[0].len += 100_000;
        net.run(ms(1), &mut all, |_| false);
        net.broken = None;
        assert_eq!(stats(&mut net, &all[0]).mss, whole - 500, "{name}");
        // Segments that already have a number are sent unchanged; the system fragments them.
        let received = all[0].received;
        net.run(seconds(10), &mut all, |all| all[0].received >= received + 12 * 1460);
        net.heard = Some(Vec::new());
        net.finish(seconds(20), &mut all);
        let longest = net.heard.take().unwrap().iter().map(|packet| packet.bytes.len()).max();
        assert_eq!(longest, Some(1000 - 28), "{name}");
        // A new connection uses the path MTU from the beginning.
        let call = net.call(host(2), &config, listener(), 1);
        assert_eq!(stats(&mut net, &call).mss, whole - 500, "{name}");
    }
}

#[test]
fn headers_are_longer_over_ipv6() {
    let mut net = Net::quiet(1);
    let (caller, callee) = (address("[fd00::1]:4001"), address("[fd00::2]:7000"));
    net.listen(callee, &plain());
    let mut all = [net.call(caller, &plain(), callee, 50_000)];
    net.heard = Some(Vec::new());
    net.finish(seconds(10), &mut all);
    let longest = net.heard.take().unwrap().iter().map(|packet| packet.bytes.len()).max();
    assert_eq!(longest, Some(1500 - 48));
}

/// The SYN of the peer carries its initial TTL.
#[test]
fn the_ttl_gives_the_number_of_hops() {
    for (name, config) in all() {
        let mut net = Net::quiet(1);
        net.ttl = Some(61);
        net.listen(listener(), &config);
        let mut all = [net.call(host(1), &config, listener(), 5000)];
        net.finish(seconds(10), &mut all);
        assert_eq!(stats(&mut net, &all[0]).hops, Some(4), "{name}");
        net.ttl = Some(64);
        all[0].len += 5000;
        net.finish(seconds(10), &mut all);
        assert_eq!(stats(&mut net, &all[0]).hops, Some(1), "{name}");
        // A TTL above the initial one is forged.
        net.ttl = Some(65);
        all[0].len += 5000;
        net.finish(seconds(10), &mut all);
        assert_eq!(stats(&mut net, &all[0]).hops, Some(1), "{name}");
    }
}
