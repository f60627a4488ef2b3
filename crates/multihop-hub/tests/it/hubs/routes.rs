//! Changes of the routes of a sender's host.

use multihop_hub::RouteChange;

use super::*;

fn change(is_there: bool) -> RouteChange {
    RouteChange { network: (listener().ip(), 32), is_there }
}

/// A sender whose peer cannot be reached for some seconds. The sender is frozen and waits for its timer.
fn frozen(config: &Config, lost: u64) -> (Net, [Transfer; 1]) {
    let mut net = Net::quiet(1);
    net.listen(listener(), config);
    let mut all = [net.call(host(1), config, listener(), 2_000_000)];
    net.run(ms(100), &mut all, |_| false);
    net.broken = Some((host(1), FailureCause::Unreachable, None));
    net.run(ms(lost), &mut all, |_| false);
    net.broken = None;
    (net, all)
}

/// Whether the sender transmits within a millisecond after it is told of these changes of routes.
fn transmits(net: &mut Net, all: &mut [Transfer], changes: &[RouteChange]) -> bool {
    let now = net.now;
    net.hub(host(1)).on_route_changes(now, changes);
    net.heard = Some(Vec::new());
    net.run(ms(1), all, |_| false);
    net.heard.take().unwrap().iter().any(|packet| packet.from == host(1))
}

#[test]
fn a_sender_that_is_told_of_its_route_probes_at_once() {
    for (name, config) in all() {
        let mut waited = 0;
        for lost in [5_000, 5_100, 5_200, 5_400, 20_000] {
            let (mut net, mut all) = frozen(&config, lost);
            waited += u32::from(!transmits(&mut net, &mut all, &[]));
            let (mut net, mut all) = frozen(&config, lost);
            assert!(transmits(&mut net, &mut all, &[change(true)]), "{name}, after {lost} ms");
            net.finish(seconds(60), &mut all);
        }
        assert!(waited >= 4, "{name}: without news it waited in {waited} cases of 5");
    }
}

#[test]
fn routes_to_others_are_not_looked_up_and_one_peer_only_once() {
    let config = Config::new(Security::Plain);
    let mut net = Net::quiet(1);
    net.listen(listener(), &config);
    let mut all = [net.call(host(1), &config, listener(), 50_000)];
    net.finish(seconds(10), &mut all);
    let (now, hub) = (net.now, net.hubs.get_mut(&host(1)).unwrap());
    hub.connect(listener()).unwrap();
    let other = RouteChange { network: ([10, 200, 0, 0].into(), 16), is_there: true };
    assert_eq!(hub.on_route_changes(now, &[other; 50]), 0);
    assert_eq!(hub.on_route_changes(now, &[change(true), change(false)]), 1);
    assert_eq!(hub.on_route_changes(now, &[]), 0);
}

#[test]
fn news_of_a_route_do_not_disturb_a_transfer() {
    for (name, config) in all() {
        let mut net = Net::quiet(1);
        net.listen(listener(), &config);
        let mut all = [net.call(host(1), &config, listener(), 200_000)];
        for _ in 0..200 {
            net.run(ms(10), &mut all, |_| false);
            let now = net.now;
            net.hub(host(1)).on_route_changes(now, &[change(true), change(false)]);
        }
        net.finish(seconds(60), &mut all);
        let (at, id) = all[0].from;
        let counters = net.hub(at).stats(id).unwrap().counters;
        assert_eq!((counters.retransmitted, counters.freezes), (0, 0), "{name}");
    }
}
