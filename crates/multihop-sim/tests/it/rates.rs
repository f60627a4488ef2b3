//! Rate control on a link.

use multihop_sim::results::RunResult;

use crate::support::result;

/// The result of a saturated hop of 180 m: 2 Mb/s reaches 200 m, 5.5 Mb/s 150 m.
fn link(mac: &str) -> RunResult {
    result(&format!(
        "duration = 5.0\nwarmup = 1.0\n\
         radio = {{ rate = \"11M\", range = {{ 1M = 250, 2M = 200, \"5.5M\" = 150, 11M = 100 }} }}\n\
         mac = {{ flavour = \"standard\", rts_threshold = \"off\", arp = \"oracle\"{mac} }}\n\
         [topology]\nkind = \"chain\"\nhops = 1\nspacing = 180.0\n[routing]\n\
         next_hops = [[0, 1, 1]]\n\
         [[flow]]\napp = \"cbr\"\nrate_kbps = 4000.0\nsize = 1460\n"
    ))
}

#[test]
fn every_rule_settles_on_the_highest_rate_that_reaches_the_neighbour() {
    for (rule, least) in [("arf", 0.85), ("aarf", 0.95), ("cara", 0.8), ("minstrel", 0.85)] {
        let result = link(&format!(", rate_control = {rule:?}"));
        let rates = result.mac.rates.expect("rates that change");
        let share = rates["2M"] as f64 / rates.values().sum::<u64>() as f64;
        assert!(share >= least, "{rule}: {rates:?}");
        // 2 Mb/s alone carries 1673 kb/s.
        assert!(result.totals.goodput_kbps > 1400.0, "{rule}: {} kb/s", result.totals.goodput_kbps);
    }
}

#[test]
fn a_fixed_rate_beyond_its_range_delivers_nothing_and_is_not_reported() {
    let result = link("");
    assert_eq!(result.totals.goodput_kbps, 0.0);
    assert_eq!(result.mac.rates, None);
    assert!(!serde_json::to_string(&result).expect("numbers and texts").contains("\"rates\""));
}

#[test]
fn rates_of_a_kernel_do_not_lengthen_the_links_of_static_routes() {
    // The longest range of all rates is 250 m, that of the scenario's rate 100 m.
    let outcome = |rule: &str| {
        let result = result(&format!(
            "duration = 2.0\n\
             radio = {{ rate = \"11M\", range = {{ 1M = 250, 2M = 200, \"5.5M\" = 150, 11M = 100 }} }}\n\
             mac = {{ flavour = \"standard\", rate_control = {rule:?} }}\n\
             [topology]\nkind = \"chain\"\nhops = 1\nspacing = 180.0\n\
             [[flow]]\napp = \"cbr\"\nrate_kbps = 100.0\nsize = 1000\n"
        ));
        (result.drops, result.totals.goodput_kbps)
    };
    assert_eq!(outcome("kernel"), outcome("fixed"));
}
