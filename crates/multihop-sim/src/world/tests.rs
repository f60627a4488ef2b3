//! Tests of whole networks that need access to private state.

use multihop_core::{Duration, FlowId};

use super::*;
use crate::results::RunResult;
use multihop_scenario::Source;

/// Scenario in an area five times as wide as the range of a signal.
const WIDE: &str = "duration = 4.0\nseed = 7\n\
    topology = { kind = \"random\", nodes = 300, area = [2750.0, 2750.0], connected = false }\n\
    mobility = { kind = \"random-waypoint\", speed = [1.0, 20.0] }\n\
    routing = { protocol = \"aodv\" }\n";

fn run(text: &str, turns: bool) -> (RunResult, bool) {
    let source = Source::Toml { text: text.to_owned(), name: "wide.toml".to_owned() };
    let scenario = Scenario::load(&source, &[]).unwrap();
    let layout = scenario.topology.place(scenario.seed).unwrap();
    let mut world = World::new(&scenario, &layout, Observer::default());
    let overlap = world.airs[Interface(0)].reorders;
    world.airs[Interface(0)].reorders &= !turns;
    world.run_until(Instant::ZERO + scenario.duration);
    (world.finish(std::time::Duration::ZERO).0, overlap)
}

fn wide(more: &str) -> String {
    let flow = |n: u32| format!("[[flow]]\nfrom = {n}\nto = {}\ntransport = \"newreno\"\n", 299 - n);
    format!("{WIDE}{more}{}", (0..30).map(flow).collect::<String>())
}

#[test]
fn reordering_distant_frames_does_not_change_the_result() {
    let (result, overlap) = run(&wide(""), false);
    assert!(overlap && result.events > 100_000);
    let (in_turns, _) = run(&wide(""), true);
    let json = |result| serde_json::to_string(result).unwrap();
    assert_eq!(json(&result), json(&in_turns));
}

#[test]
fn frames_are_not_reordered_with_long_delays_or_a_short_link_delay() {
    let far = wide("[radio]\nsense_range = 3100.0\n");
    assert!(!run(&far, false).1, "a response may be sent before a frame has passed all stations");
    let close = wide("mac = { link_delay = 0.0 }\n");
    assert!(!run(&close, false).1, "a packet may reach IP before a frame has passed all stations");
    let standard = wide("mac = { flavour = \"standard\" }\n");
    assert!(!run(&standard, false).1, "a station may drop a packet while a frame passes");
}

/// Node 1 leaves during the first file; nodes 0 and 2 continue.
const LEFT: &str = "duration = 9000.0\n\
    topology = { kind = \"list\", positions = [[0.0, 0.0], [200.0, 0.0], [0.0, 200.0]] }\n\
    [mobility]\nkind = \"waypoints\"\n\
    waypoints = [[], [[0.0, 200.0, 0.0], [5.0, 200.0, 0.0], [6.0, 5000.0, 0.0]], []]\n\
    [[flow]]\nfrom = 0\nto = 1\napp = \"file\"\nbytes = 50_000_000\n\
    transport = { kind = \"newreno\", preset = \"rfc\", max_retries = 5 }\n\
    [[flow]]\nfrom = 0\nto = 2\napp = \"file\"\nbytes = 10_000\ntransport = \"newreno\"\nstart = 300.0\n\
    [[flow]]\nfrom = 0\nto = 2\napp = \"file\"\nbytes = 10_000\ntransport = \"newreno\"\nstart = 1000.0\n";

#[test]
fn measurement_ends_at_a_receiver_whose_sender_gave_up() {
    let source = Source::Toml { text: LEFT.to_owned(), name: "x.toml".to_owned() };
    let scenario = Scenario::load(&source, &[]).unwrap();
    let layout = scenario.topology.place(scenario.seed).unwrap();
    let mut world = World::new(&scenario, &layout, Observer::default());
    world.run_until(Instant::ZERO + Duration::from_secs(400));
    let stats = |world: &World<'_>| world.ends.flows[0].stats.clone();
    let before = stats(&world);
    assert!(before.ended.is_some() && !world.ends.is_over(FlowId(0)));
    assert!(before.delay.is_coming(), "packets may still be in transit");
    world.run_until(Instant::ZERO + Duration::from_secs(2000));
    let after = stats(&world);
    assert!(!after.delay.is_coming() && !after.rtt.is_coming() && !world.ends.is_over(FlowId(0)));
    assert_eq!(after.delay.summary_ms(), before.delay.summary_ms());
    assert!(world.ends.ended.len() <= 1);
}

fn run_watched(scenario: &Scenario, watched: bool) -> RunResult {
    let layout = scenario.topology.place(scenario.seed).unwrap();
    let mut world = World::new(scenario, &layout, Observer::default());
    assert!(world.ends.losses.is_some());
    world.ends.losses = world.ends.losses.filter(|_| watched);
    world.begin_measuring();
    world.run_until(Instant::ZERO + scenario.duration);
    world.finish(std::time::Duration::ZERO).0
}

#[test]
fn monitoring_losses_changes_nothing() {
    let text = "duration = 40.0\n[radio]\nloss = 0.01\n\
                [topology]\nkind = \"random\"\nnodes = 12\narea = [400.0, 800.0]\nconnected = false\n\
                [mobility]\nkind = \"random-waypoint\"\nspeed = [10.0, 30.0]\n\
                [routing]\nprotocol = \"dsr\"\n[[flow]]\nfrom = 0\nto = 1\ntransport = \"adtcp\"\n";
    let source = Source::Toml { text: text.to_owned(), name: "x.toml".to_owned() };
    let scenario = Scenario::load(&source, &[]).unwrap();
    let mut watched = run_watched(&scenario, true);
    let found = watched.flows[0].identification.take().expect("the flow is ADTCP");
    assert!(found.losses["channel-error"] > 0 && found.losses["route-change"] > 0, "{found:?}");
    assert_eq!(watched, run_watched(&scenario, false));
}
