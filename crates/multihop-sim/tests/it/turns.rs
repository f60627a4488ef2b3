//! Turns: a station pauses for a starving station that it cannot hear.

use crate::support::result;

/// Goodput of two flows of one hop, kb/s. The sender of the second one is hidden from the sender of the first one,
/// whose frames collide with the second flow's at its receiver.
fn hidden(turns: &str) -> [f64; 2] {
    let result = result(&format!(
        "duration = 4.0\nwarmup = 1.0\n[radio]\nrate = \"11M\"\nsense_range = 300.0\n\
         [mac]\nrts_threshold = \"off\"\narp = \"oracle\"\nturns = {turns}\n\
         [topology]\nkind = \"list\"\npositions = [[0, 0], [-200, 0], [240, 0], [480, 0]]\n\
         [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 20000.0\nsize = 1460\n\
         [[flow]]\nfrom = 3\nto = 2\napp = \"cbr\"\nrate_kbps = 400.0\nsize = 200\n"
    ));
    [0, 1].map(|flow: usize| result.flows[flow].goodput_kbps)
}

/// The first sender hears the request only in the ACKs of the second flow's receiver.
#[test]
fn a_hidden_sender_gets_its_turns_through_responses() {
    let [plain, turns] = ["false", "true"].map(hidden);
    assert!(plain[1] < 100.0, "{plain:?}");
    assert!(turns[1] > 300.0, "{turns:?}");
    assert!(turns[0] > 0.5 * plain[0], "{turns:?}, without turns: {plain:?}");
    assert_eq!(hidden("{ pass_on = 0.0 }"), plain, "nobody hears the starving station itself");
}
