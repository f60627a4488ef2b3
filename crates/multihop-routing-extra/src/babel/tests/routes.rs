//! Tests of the choice of routes, feasibility, retractions and notices.

use super::*;

#[test]
fn the_cheapest_route_is_used_and_announced() {
    let mut bench = Bench::among(plain(), &[2, 3]);
    bench.gets(2, vec![update(9, 0, Some(300))]);
    assert_eq!((bench.route(9), bench.news()), (Some((2, 396)), vec!["9 at 396 #0".into()]));
    bench.gets(3, vec![update(9, 0, Some(200))]);
    assert_eq!((bench.route(9), bench.news()), (Some((3, 296)), vec!["9 at 296 #0".into()]));
    bench.gets(2, vec![update(9, 0, Some(150))]);
    assert_eq!((bench.route(9), bench.news()), (Some((2, 246)), vec![]), "a small change waits");
    assert_eq!(bench.agent.destinations().map(last).collect::<Vec<_>>(), [9]);
}

#[test]
fn a_longer_route_of_the_same_age_could_be_a_loop() {
    let mut bench = Bench::among(plain(), &[2, 3]);
    bench.gets(2, vec![update(9, 5, Some(200))]).news();
    bench.gets(3, vec![update(9, 5, Some(296))]);
    assert_eq!(bench.agent.counters().unfeasible, 1, "296 is what this node has announced");
    bench.gets(2, vec![update(9, 5, None)]);
    assert_eq!(bench.route(9), None, "3 may go through this node");
    assert_eq!(bench.news(), ["9 lost", "9? #6 hops 127"]);
    bench.gets(3, vec![update(9, 6, Some(400))]);
    assert_eq!(bench.route(9), Some((3, 496)), "newer than all that this node has announced");
    assert_eq!(bench.news(), ["9 at 496 #6"]);
    bench.at(30_000);
    assert!(!bench.news().iter().any(|line| line.contains('?')), "the request is answered");
}

#[test]
fn a_shorter_route_of_the_same_age_is_used_at_once() {
    let mut bench = Bench::among(plain(), &[2, 3]);
    bench.gets(2, vec![update(9, 5, Some(200))]);
    bench.gets(3, vec![update(9, 5, Some(250))]).news();
    bench.gets(2, vec![update(9, 5, None)]);
    assert_eq!((bench.route(9), bench.news()), (Some((3, 346)), vec![]), "it was known and is feasible");
}

#[test]
fn an_unfeasible_update_of_the_route_in_use_is_refused() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![update(9, 5, Some(200))]).news();
    bench.gets(2, vec![update(9, 5, Some(500))]);
    assert_eq!(bench.route(9), Some((2, 296)));
    assert_eq!(bench.news(), ["to 2: 9? #6 hops 127"]);
    bench.gets(2, vec![update(9, 6, Some(500))]);
    assert_eq!((bench.route(9), bench.news()), (Some((2, 596)), vec!["9 at 596 #6".into()]));
}

#[test]
fn retractions_and_lost_neighbours_end_routes() {
    let mut bench = Bench::among(plain(), &[2, 3]);
    bench.gets(2, vec![update(8, 0, Some(0)), update(9, 0, Some(100))]).news();
    bench.gets(2, vec![Tlv::RetractAll]);
    assert_eq!((bench.route(8), bench.route(9)), (None, None));
    assert_eq!(bench.news(), ["8 lost", "9 lost", "8? #1 hops 127", "9? #1 hops 127"]);
    bench.gets(3, vec![update(8, 1, Some(0))]);
    assert_eq!(bench.route(8), Some((3, 96)));
    // The neighbour's next Hello is expected a minute after the last one, and 15 more must be missing.
    bench.at(1_100_000);
    assert_eq!((bench.route(8), bench.agent.links().count()), (None, 0));
}

#[test]
fn routes_that_are_not_confirmed_end_and_are_forgotten() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![ihu(96)]);
    bench.gets(2, vec![update(9, 0, Some(0))]).news();
    bench.at(40_000);
    bench.gets(2, vec![ihu(96)]);
    bench.at(60_999);
    assert_eq!(bench.route(9), Some((2, 96)), "three and a half intervals of 16 s");
    bench.at(61_000);
    assert_eq!(bench.route(9), None);
    assert!(bench.news().contains(&"9 lost".into()));
    assert_eq!(bench.agent.routes.destinations().count(), 1, "remembered as unreachable");
    bench.at(117_000);
    assert_eq!(bench.agent.routes.destinations().count(), 0);
}

#[test]
fn a_retraction_comes_with_every_announcement_until_it_is_forgotten() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![update(9, 0, Some(0))]);
    bench.gets(2, vec![update(9, 0, None)]);
    bench.news();
    bench.at(22_000);
    assert!(bench.news().contains(&"9 lost".into()));
}

#[test]
fn a_better_route_must_stay_better() {
    let config = Config { hysteresis: Duration::from_secs(4), ..plain() };
    let mut bench = Bench::among(config, &[2, 3]);
    bench.gets(2, vec![update(9, 0, Some(300))]);
    bench.gets(3, vec![update(9, 0, Some(380))]);
    assert_eq!(bench.route(9), Some((2, 396)));
    bench.gets(3, vec![update(9, 0, Some(250))]);
    assert_eq!(bench.route(9), Some((2, 396)), "on average 3 is still at 476");
    bench.at(8_000);
    bench.hears(3, true);
    assert_eq!(bench.route(9), Some((2, 396)), "423 after 3 s");
    bench.at(11_000);
    bench.hears(3, true);
    assert_eq!(bench.route(9), Some((3, 346)), "392 after 6 s");
}

#[test]
fn packets_follow_routes_and_connections_learn_of_their_end() {
    let mut bench = Bench::among(plain(), &[2]);
    let drop = Output::Drop { ticket: Ticket(7), reason: DropReason::NoRoute, tell_source: true };
    assert_eq!(bench.packet(9), drop);
    assert_eq!(bench.rest.pop(), Some(Output::Notice { peer: node(9), notice: Notice::RouteLost }));
    bench.gets(2, vec![update(9, 0, Some(0))]);
    assert_eq!(bench.rest.pop(), Some(Output::Notice { peer: node(9), notice: Notice::RouteRestored }));
    let forward = Output::Forward { ticket: Ticket(7), next_hop: node(2), route: None };
    assert_eq!(bench.packet(9), forward);
    bench.gets(2, vec![update(9, 0, None)]);
    assert_eq!(bench.rest.pop(), Some(Output::Notice { peer: node(9), notice: Notice::RouteLost }));
}

#[test]
fn with_mac_feedback_a_failed_link_is_lost() {
    for (link_failure, route) in [(LinkFailure::Hello, Some((2, 96))), (LinkFailure::Mac, None)] {
        let mut bench = Bench::among(Config { link_failure, ..plain() }, &[2]);
        bench.gets(2, vec![update(9, 0, Some(0))]);
        bench.give(Input::LinkFailed { next_hop: node(2), packet: data(9), quoted: None });
        assert_eq!(bench.route(9), route, "{link_failure:?}");
    }
}

#[test]
fn routes_of_this_node_and_of_strangers_are_ignored() {
    let mut bench = Bench::among(plain(), &[2]);
    bench.gets(2, vec![update(OWN, 7, Some(0))]);
    bench.gets(OWN, vec![update(9, 0, Some(0))]);
    bench.gets(5, vec![update(9, 0, Some(0))]);
    assert_eq!(bench.agent.routes.destinations().count(), 0, "5 is no neighbour");
}
