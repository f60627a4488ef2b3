//! The records of a flow with a user-defined congestion control.

#[path = "../../../../examples/fractional_window.rs"]
mod fractional_window;

use multihop_core::{Duration, Instant};
use multihop_scenario::{Extensions, Scenario, Source};
use multihop_sim::viewed::ViewedRun;

const WORDS: usize = 12;
const PROGRESS: u32 = 5;
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
