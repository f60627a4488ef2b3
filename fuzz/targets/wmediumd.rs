//! Any text is a configuration of wmediumd or is refused with a place in it. A configuration of few radios is a scenario.

use multihop_air::{Wmediumd, WmediumdError};
use multihop_scenario::Extensions;

pub fn fuzz(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Wmediumd::read(text, "fuzz.cfg") {
        Err(WmediumdError::File { line, column, problem, .. }) => {
            assert!(!problem.is_empty() && column >= 1 && (1..=text.matches('\n').count() + 1).contains(&line));
        }
        Err(other) => panic!("{other}"),
        Ok(network) if network.addresses.len() <= 20 => {
            network.scenario(&[], &Extensions::default()).expect("a configuration is a scenario");
        }
        Ok(_) => {}
    }
}
