//! Average path-delay routing in the simulator.

use crate::support::{events, ran, result};

/// Two routes from S to D, as in Figure 2 of the APDR report.
fn diamond(routing: &str, seed: u64) -> String {
    format!(
        "duration = 60.0\nseed = {seed}\nradio = {{ rate = \"11M\" }}\nmac = {{ rts_threshold = \"off\" }}\n\
         topology = {{ kind = \"diamond\" }}\nrouting = {{ {routing} }}\n\
         [[flow]]\nfrom = \"S\"\nto = \"D\"\ntransport = \"newreno\"\nstart = 15.0\n"
    )
}

#[test]
fn routes_oscillate_between_two_paths_if_delay_decides() {
    let turns = |routing| {
        let found = result(&diamond(routing, 1)).routing;
        (found.route_changes.unwrap(), found.oscillations.unwrap())
    };
    assert_eq!(turns("protocol = \"olsr\", count_changes = true"), (0, 0));
    let (changes, back) = turns("protocol = \"apdr\", weight = 0.8");
    assert!(changes > 10 && back > 5, "{changes} changes, of which {back} were returns");
}

#[test]
fn hellos_measure_queueing_delay_only_without_priority() {
    let changes = |wait| {
        let routing = format!("protocol = \"apdr\", hellos_wait = {wait}");
        result(&diamond(&routing, 1)).routing.route_changes.unwrap()
    };
    let (waiting, first) = (changes(true), changes(false));
    assert!(waiting > first, "{waiting} changes if HELLOs are queued, {first} if they have priority");
}

#[test]
fn the_same_seed_gives_the_same_result() {
    for keys in ["clocks = \"echoed\"", "metric = \"etx\"", "weight = 0.8"] {
        let text = diamond(&format!("protocol = \"apdr\", {keys}"), 3);
        let (mut one, other) = (ran(&text), ran(&text));
        one.result.wall_seconds = other.result.wall_seconds;
        one.result.events_per_second = other.result.events_per_second;
        assert_eq!((&one.result, one.trace == other.trace), (&other.result, true), "{keys}");
    }
}

#[test]
fn hysteresis_reduces_route_changes() {
    let changes = |keys: &str| {
        let routing = format!("protocol = \"apdr\", weight = 0.8, {keys}");
        let of_seed = |seed| result(&diamond(&routing, seed)).routing.route_changes.unwrap();
        (1..5).map(of_seed).sum::<u64>()
    };
    let (without, with) = (changes("hysteresis = 0.0"), changes("hysteresis = 0.3, hold = 10"));
    assert!(with * 3 < without * 2, "{without} changes without, {with} with hysteresis");
}

#[test]
fn reserved_paths_do_not_change_and_directions_are_independent() {
    let keys = ["on_break = \"hold\"", "on_break = \"reselect\""];
    for keys in keys {
        let ran = ran(&diamond(&format!("protocol = \"apdr-pr\", {keys}"), 1));
        let result = &ran.result;
        assert_eq!((result.routing.route_changes, result.flows[0].mean_hops), (Some(0), Some(4.0)));
        assert!(!result.drops.contains_key("ttl") && result.flows[0].goodput_kbps > 800.0);
        for kind in ["tcp", "ack"] {
            let by = |node: u32| {
                let forwards = |event: &crate::support::Event<'_>| {
                    event.what == "f" && event.kind == kind && event.node == node
                };
                events(&ran.trace).filter(forwards).count()
            };
            // The path leads over A or E, then over B or F, then over C or G.
            let relays: Vec<_> = (0..8).filter(|&node| by(node) > 0).collect();
            assert_eq!(relays.len(), 3, "{kind} by {relays:?}");
        }
    }
}
