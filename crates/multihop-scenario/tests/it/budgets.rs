//! Link budgets: which defaults of `[radio]` and `[mac]` they bring, and that explicit keys win.

use multihop_core::NodeId;
use multihop_radio::budget::Budget;
use multihop_radio::params::{EdcaParams, Flavour, MacParams, Model, PathLoss, RadioParams, Sinr};
use multihop_radio::phy_profile::DOT11N_20;
use multihop_radio::rate_control::RateControlParams;
use multihop_scenario::{ArpKind, Scenario};

use super::{SMALLEST, load, refused};

fn radio(lines: &str) -> Scenario {
    load(&format!("{SMALLEST}[radio]\n{lines}\n"))
}

fn sinr(scenario: &Scenario) -> &Sinr {
    let Model::Sinr(sinr) = &scenario.radio().model else { panic!("found the threshold model") };
    sinr
}

fn rate(scenario: &Scenario, name: &str) -> bool {
    scenario.radio().phy.rate(scenario.radio().basic_rate).name == name
}

#[test]
fn a_physical_layer_of_today_brings_a_device_of_today() {
    let scenario = radio("phy = \"802.11n-20\"");
    assert_eq!(*scenario.radio(), RadioParams::with_budget(&DOT11N_20, Budget::Street));
    assert_eq!(scenario.radio().streams, 1);
    assert!(rate(&scenario, "6M"));
    let mac = scenario.mac();
    assert_eq!((mac.flavour, mac.rts_threshold, mac.llc), (Flavour::Standard, None, true));
    assert!(matches!(mac.rate_control, RateControlParams::Minstrel(_)));
    assert_eq!((mac.ampdu, scenario.radios[0].arp), (Some(64), ArpKind::Queueing));
    assert_eq!(mac.edca, Some(EdcaParams::default()));
    let legacy = radio("phy = \"802.11g\"");
    assert!(rate(&legacy, "6M"));
    assert_eq!((legacy.mac().ampdu, legacy.mac().edca.clone()), (None, Some(EdcaParams::default())));
}

#[test]
fn the_word_for_the_surroundings_decides_the_path_loss() {
    let laws = ["indoor", "street", "open"].map(|word| {
        let scenario = radio(&format!("phy = \"802.11a\"\nbudget = \"{word}\""));
        (sinr(&scenario).path_loss, sinr(&scenario).shadowing_db)
    });
    let frequency = 5.18e9;
    assert_eq!(
        laws,
        [
            (PathLoss::LogDistance { exponent: 3.83, reference_db: 35.09 }, 8.03),
            (PathLoss::Street { frequency, height: 1.5 }, 0.0),
            (PathLoss::TwoRay { frequency, height: 1.5 }, 0.0),
        ]
    );
    // 802.11b has the radio of ns-2 unless it is asked for another.
    assert!(matches!(radio("rate = \"2M\"").radio().model, Model::Threshold(_)));
    assert_eq!(sinr(&radio("budget = \"indoor\"")).tx_power_dbm, 18.0);
}

#[test]
fn the_radio_of_ns2_has_a_name_under_every_physical_layer() {
    let scenario = radio("phy = \"802.11n-20\"\nbudget = \"ns-2\"\nrate = \"MCS7\"");
    let expected = RadioParams {
        rate: DOT11N_20.rate_named("MCS7").unwrap(),
        is_rate_given: true,
        ..RadioParams::new(&DOT11N_20)
    };
    assert_eq!((scenario.radio(), scenario.mac()), (&expected, &MacParams::default()));
    // Nodes 250 m apart hear each other, and others 550 m away.
    let papers = radio("phy = \"802.11n-20\"\nbudget = \"ns-2\"\nmodel = \"sinr\"\ndetection_db = 4.0");
    assert_eq!(sinr(&papers).detection_db, Some(4.0));
    assert!(
        (papers.radio().decode_range() - 250.0).abs() < 0.5
            && (papers.radio().sense_range() - 550.0).abs() < 0.5
    );
}

#[test]
fn explicit_keys_win_over_the_budget() {
    let given = "tx_power_dbm = 10\nnoise_floor_dbm = -90\nshadowing_db = 3\nsensitivity_dbm = -70\n\
                 path_loss = { kind = \"log-distance\" }\nantenna = { kind = \"omni\", gain_dbi = 9 }\ncca_dbm = -75";
    let scenario = radio(&format!("phy = \"802.11n-20\"\n{given}"));
    let found = sinr(&scenario);
    let numbers = [found.tx_power_dbm, found.noise_floor_dbm, found.shadowing_db, found.sensitivity_dbm];
    assert_eq!(numbers, [10.0, -90.0, 3.0, -70.0]);
    assert!(matches!(found.path_loss, PathLoss::LogDistance { exponent: 3.0, .. }));
    let threshold = radio("phy = \"802.11n-20\"\nmodel = \"threshold\"");
    assert_eq!(threshold.radio().decode_range(), 250.0);
    let text = format!("{SMALLEST}[radio]\nphy = \"802.11n-20\"\n[mac]\n");
    let mac = |lines: &str| load(&format!("{text}{lines}\n")).mac().clone();
    assert_eq!(mac("ampdu = \"off\"\nrts_threshold = 500").rts_threshold, Some(500));
    assert_eq!(mac("rate_control = \"fixed\"").rate_control, RateControlParams::Fixed);
    let dcf = mac("edca = false");
    assert_eq!((dcf.edca, dcf.ampdu), (None, Some(64)));
    let ns2 = mac("flavour = \"ns2\"");
    assert!(ns2.edca.is_none() && ns2.ampdu.is_none());
}

/// A receiver that hears less noise also detects weaker frames.
#[test]
fn the_sensitivity_of_a_device_follows_its_noise() {
    let [loud, quiet] = [-90.0, -95.0]
        .map(|noise| sinr(&radio(&format!("phy = \"802.11a\"\nnoise_floor_dbm = {noise}"))).sensitivity_dbm);
    assert!((loud - quiet - 5.0).abs() < 1e-9, "{loud} {quiet}");
}

#[test]
fn a_given_rate_is_kept() {
    for lines in [
        "[radio]\nphy = \"802.11g\"\nrate = \"54M\"",
        "[radio]\nphy = \"802.11g\"\n[[data_rate]]\nfrom = 0\nrate = \"24M\"",
    ] {
        let scenario = load(&format!("{SMALLEST}{lines}\n"));
        assert_eq!(scenario.mac().rate_control, RateControlParams::Fixed, "{lines}");
    }
    let scenario = radio("phy = \"802.11n-20\"\nrate = \"MCS15\"");
    assert_eq!(scenario.radio().streams, 2);
    assert_eq!(scenario.radio().link_rates.of(NodeId(0), NodeId(1)), None);
}

#[test]
fn streams_bound_the_rates_of_rate_control() {
    let usable = |lines: &str| {
        let radio = radio(lines).radio().clone();
        let names: Vec<_> = radio.usable_rates().map(|rate| radio.phy.rate(rate).name).collect();
        (names.len(), names[names.len() - 1])
    };
    assert_eq!(usable("phy = \"802.11n-20\""), (16, "MCS7"));
    assert_eq!(usable("phy = \"802.11n-20\"\nstreams = 2"), (24, "MCS15"));
    assert_eq!(usable("phy = \"802.11n-20\"\nbudget = \"ns-2\""), (40, "MCS31"));
    let refused = |lines: &str| refused(&format!("{SMALLEST}[radio]\n{lines}\n"));
    assert_eq!(
        refused("phy = \"802.11g\"\nstreams = 2"),
        "x.toml:9:11: radio.streams: found 2, allowed: at most 1 with phy = \"802.11g\""
    );
    assert_eq!(
        refused("phy = \"802.11n-20\"\nstreams = 1\nrate = \"MCS8\""),
        "x.toml:9:11: radio.streams: found 1, allowed: at least 2, as many as rate = \"MCS8\" has"
    );
}
