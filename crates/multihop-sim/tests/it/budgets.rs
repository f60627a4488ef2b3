//! Radios of today with their defaults: rates fall with the distance, and links end.

use multihop_core::Interface;
use multihop_sim::links::links;
use multihop_sim::notes;

use super::support::{ran, scenario};

/// A scenario of one hop over this distance with only a physical layer, saturated with datagrams.
fn one_hop(phy: &str, metres: f64, seconds: f64) -> String {
    format!(
        "duration = {seconds}\nwarmup = 0.5\n[radio]\nphy = \"{phy}\"\n[topology]\nkind = \"chain\"\nhops = 1\nspacing = {metres}\n\
         [routing]\nprotocol = \"static\"\nnext_hops = [[0, 1, 1]]\n\
         [[flow]]\napp = \"cbr\"\nrate_kbps = 70000.0\nsize = 1460\n"
    )
}

#[test]
fn a_link_steps_down_in_rate_with_the_distance_and_ends() {
    for (phy, ranges) in
        [("802.11g", 400.0..900.0), ("802.11n-20", 300.0..700.0), ("802.11ac-80", 200.0..600.0)]
    {
        let fastest = |metres: f64| {
            let scenario = scenario(&one_hop(phy, metres, 1.0));
            let found = links(&scenario, Interface(0)).unwrap();
            found.list.first().map(|link| {
                let rate = scenario.radio().phy.rate_named(link.fastest).unwrap();
                scenario.radio().phy.rate(rate).bit_rate
            })
        };
        let distances: Vec<_> = (1..=100).map(|tens| 10.0 * f64::from(tens)).collect();
        let rates: Vec<_> = distances.iter().map(|&metres| fastest(metres)).collect();
        assert!(rates.is_sorted_by(|near, far| near >= far), "{phy}: {rates:?}");
        let mut steps = rates.clone();
        steps.dedup();
        assert!(steps.len() >= 7, "{phy} has few steps: {steps:?}");
        let end = distances[rates.iter().take_while(|rate| rate.is_some()).count() - 1];
        assert!(ranges.contains(&end), "{phy} ends at {end} m");
    }
}

#[test]
fn goodput_follows_the_distance_with_a_physical_layer_alone() {
    let goodput: Vec<_> = [20.0, 300.0, 400.0, 600.0, 800.0]
        .map(|metres| ran(&one_hop("802.11n-20", metres, 1.5)).result.totals.goodput_kbps)
        .into();
    assert!(goodput.is_sorted_by(|near, far| near > far), "{goodput:?}");
    // MCS 7 has 65 Mb/s; MCS 0 has 6.5.
    assert!((50_000.0..62_000.0).contains(&goodput[0]), "{goodput:?}");
    assert!((1_000.0..6_500.0).contains(&goodput[3]), "{goodput:?}");
    assert_eq!(goodput[4], 0.0);
}

/// Frames that sample faster rates fail. They are single frames, so that little is lost with them.
#[test]
fn minstrel_over_aggregates_carries_what_the_best_fixed_rate_does() {
    for (metres, best) in [(250.0, "MCS5"), (350.0, "MCS3"), (500.0, "MCS1")] {
        let text = one_hop("802.11n-20", metres, 2.5);
        let kbps = |text: &str| ran(text).result.totals.goodput_kbps;
        let fixed = text.replace("phy = ", &format!("rate = \"{best}\"\nphy = "));
        let (fixed, adaptive) = (kbps(&fixed), kbps(&text.replace("warmup = 0.5", "warmup = 1.0")));
        assert!(adaptive > 0.94 * fixed, "{metres} m: {adaptive} of {fixed} kb/s at {best}");
    }
}

/// A grid of 3 x 3 nodes of 802.11g with Minstrel takes one line of `[radio]` and none of `[mac]`.
#[test]
fn a_grid_of_802_11g_needs_no_more_than_its_physical_layer() {
    let text = "duration = 3.0\nwarmup = 1.0\n[radio]\nphy = \"802.11g\"\n[topology]\nkind = \"grid\"\nrows = 3\ncolumns = 3\n\
                [[flow]]\ntransport = \"newreno\"\n[[flow]]\ntransport = \"newreno\"\n";
    assert_eq!(notes(&scenario(text)), [""; 0]);
    let result = ran(text).result;
    let goodput = result.totals.goodput_kbps;
    assert!((4_000.0..25_000.0).contains(&goodput), "{goodput}");
    let rates = result.mac.rates.unwrap_or_default();
    assert!(rates.values().filter(|frames| **frames > 0).count() > 1, "{rates:?}");
}
