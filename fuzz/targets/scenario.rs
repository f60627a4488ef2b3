//! Any text is a scenario or gives a list of problems. A scenario with few nodes can be placed, and a short one can be
//! run.

use std::sync::Once;

use multihop_scenario::{App, Scenario, Source};

pub fn fuzz(data: &[u8]) {
    static KEYS: Once = Once::new();
    KEYS.call_once(collect_keys);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, name) = (text.to_owned(), "fuzz".to_owned());
    let source =
        if text.starts_with('{') { Source::Json { text, name } } else { Source::Toml { text, name } };
    match Scenario::load_with(&source, &[], &multihop_routing_extra::extensions()) {
        Err(problems) => assert!(!problems.list().is_empty(), "refused without a reason"),
        Ok(mut scenario) => {
            let searches = scenario.flows.iter().any(|flow| matches!(flow.app, App::Paced { .. }));
            if scenario.topology.nodes() <= 20 && scenario.flows.len() <= 4 && !searches {
                scenario.duration = scenario.duration.min(SHORT);
                scenario.warmup = scenario.warmup.min(SHORT / 2);
                let _ = multihop_sim::run(
                    &scenario,
                    multihop_sim::Outputs::default(),
                    &mut multihop_sim::unattended,
                );
            }
        }
    }
}

const SHORT: multihop_core::Duration = multihop_core::Duration::from_millis(50);

/// The first message about an unknown key collects the keys of all tables once, for suggestions; that takes seconds in
/// this build, which no input is to blame for.
fn collect_keys() {
    let (text, name) = ("unknown = 1".to_owned(), "first".to_owned());
    assert!(Scenario::load(&Source::Toml { text, name }, &[]).is_err(), "an unknown key was accepted");
}
