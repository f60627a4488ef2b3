//! Checks of flows with `app = "spread"`.

use crate::application::App;
use crate::document::Fault;
use crate::faults::Faults;
use crate::model::Flow;

/// Checks flows of files to every node; nodes from number `nodes` on are hosts on wires.
pub(super) fn check(flows: &[Flow], nodes: usize, faults: &mut Faults<'_>) {
    let mut count = 0;
    for (n, flow) in flows.iter().enumerate() {
        let App::Spread { .. } = flow.app else { continue };
        count += 1;
        let mut refuse = |key: &str, message: String| {
            faults.push(Fault::at_key(format!("flow.{n}.{key}"), message));
        };
        for (key, end) in [("from", flow.from), ("to", flow.to)] {
            if end.index() >= nodes {
                refuse(key, format!("found host {end}, allowed with app = \"spread\": 0 to {}", nodes - 1));
            }
        }
        if flow.stop.is_some() {
            refuse("stop", "found with app = \"spread\", which ends when every node has the file".to_owned());
        }
        if count > MAX_TRANSFERS {
            refuse("app", format!("found \"spread\" in {count} flows, allowed: at most {MAX_TRANSFERS}"));
        }
    }
}

/// Largest number of files of which a node of spread has state.
const MAX_TRANSFERS: usize = 8;
