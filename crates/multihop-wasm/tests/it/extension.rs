//! The records of flows with a user-defined congestion control or transport, and of the messages of a user-defined routing
//! protocol.

#[path = "../../../../examples/dsdv.rs"]
mod dsdv;
#[path = "../../../../examples/fractional_window.rs"]
mod fractional_window;
#[path = "../../../../examples/twice.rs"]
mod twice;

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant};
use multihop_scenario::{Extensions, Scenario, Source};
use multihop_sim::viewed::ViewedRun;

const WORDS: usize = 12;
const PROGRESS: u32 = 5;
const OBSERVED: u32 = 12;
const SCENARIO: &str = include_str!("../../../../examples/fractional_window.toml");

/// The windows of the sender in segments and the names of its states, as the records have them.
fn progress(transport: &str) -> (Vec<f32>, Vec<&'static str>) {
    let source = Source::Toml { text: SCENARIO.to_owned(), name: "fractional_window.toml".to_owned() };
    let own = fractional_window::FRACTIONAL_WINDOW;
    let extensions = Extensions::default().congestion::<fractional_window::FractionalWindow>(own);
    let changes = [("flow.0.transport", transport), ("sweep", "{ seeds = 1 }")];
    let changes = changes.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load_with(&source, &changes, &extensions).expect("a right scenario");
    let mut run = ViewedRun::new(&scenario).expect("a scenario that can be viewed");
    run.set_detailed(true);
    run.advance(Instant::ZERO + Duration::from_secs(20));
    let names = run.names().to_vec();
    let records = run.records().chunks_exact(WORDS).filter(|record| record[0] == PROGRESS);
    records.map(|record| (f32::from_bits(record[4]), names[record[6] as usize])).unzip()
}

#[test]
fn the_view_shows_the_windows_of_a_user_defined_congestion_control() {
    let (windows, states) = progress("few");
    assert!(windows.len() > 100, "{} records", windows.len());
    assert!(states.contains(&"slow-start") && states.contains(&"congestion-avoidance"));
    let avoiding = |(windows, states): &(Vec<f32>, Vec<&str>)| -> Vec<f32> {
        let all = windows.windows(2).zip(states.windows(2));
        let grows = all.filter(|(window, state)| {
            *state == ["congestion-avoidance"; 2] && window[1] > window[0] && window[0] > 0.0
        });
        grows.map(|(window, _)| (window[1] - window[0]) * window[0]).collect()
    };
    let few = avoiding(&(windows, states));
    let newreno = avoiding(&progress("newreno"));
    // An ACK of one segment enlarges the window by `growth`, 0.02 segments, divided by the window in segments; NewReno adds 50 times
    // as much.
    assert!(few.iter().all(|growth| *growth < 0.2), "{few:?}");
    assert!(newreno.iter().any(|growth| *growth > 0.9), "{newreno:?}");
}

/// The values of each counter of examples/twice.rs, as the records have them.
fn counters() -> BTreeMap<&'static str, Vec<f32>> {
    let text = include_str!("../../../../examples/twice.toml").to_owned();
    let source = Source::Toml { text, name: "twice.toml".to_owned() };
    let extensions = Extensions::default().transport::<twice::Twice>(twice::TWICE);
    let scenario = Scenario::load_with(&source, &[], &extensions).expect("a right scenario");
    let mut run = ViewedRun::new(&scenario).expect("a scenario that can be viewed");
    run.set_detailed(true);
    run.advance(Instant::ZERO + Duration::from_secs(20));
    let names = run.names().to_vec();
    let mut values = BTreeMap::<_, Vec<_>>::new();
    for record in run.records().chunks_exact(WORDS).filter(|record| record[0] == OBSERVED) {
        values.entry(names[record[4] as usize]).or_default().push(f32::from_bits(record[6]));
    }
    values
}

#[test]
fn the_view_shows_the_counters_of_a_user_defined_transport() {
    let counters = counters();
    assert_eq!(counters.keys().copied().collect::<Vec<_>>(), ["copies", "missed", "spare"]);
    for (name, values) in &counters {
        assert!(values.len() > 10 && values.is_sorted() && values[0] <= 1.0, "{name}: {values:?}");
    }
    assert_eq!(counters["copies"].last(), Some(&400.0), "one in 50 ms");
}

#[test]
fn the_view_shows_the_messages_of_a_user_defined_routing_protocol() {
    let text = include_str!("../../../../examples/dsdv.toml").to_owned();
    let source = Source::Toml { text, name: "dsdv.toml".to_owned() };
    let extensions = Extensions::default().routing::<dsdv::Dsdv>(dsdv::DSDV);
    let scenario = Scenario::load_with(&source, &[], &extensions).expect("a right scenario");
    let mut run = ViewedRun::new(&scenario).expect("a scenario that can be viewed");
    run.set_detailed(true);
    run.advance(Instant::ZERO + Duration::from_secs(5));
    assert!(run.names().contains(&"routes"), "{:?}", run.names());
    let fields = run.fields().iter().flat_map(|(_, fields)| fields);
    let routes: Vec<_> = fields.filter(|(name, _)| *name == "route").map(|(_, text)| text.as_str()).collect();
    assert!(routes.contains(&"10.0.0.4, 3 hops"), "{routes:?}");
}
