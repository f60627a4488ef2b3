use proptest::prelude::*;

use super::*;

const IFACES: &str =
    "ifaces : { ids = [ \"02:00:00:00:00:00\", \"42:00:00:00:01:00\", \"02:00:00:00:02:00\" ];";

fn read(text: &str) -> Wmediumd {
    Wmediumd::read(text, "x.cfg").unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    Wmediumd::read(text, "x.cfg").unwrap_err().to_string()
}

#[test]
fn links_have_the_given_or_the_default_snr() {
    let network = read(&format!("# a comment\n{IFACES} links = ((0, 1, 10), (1, 2, 0x14)); }};"));
    assert_eq!(network.addresses[1], [2, 0, 0, 0, 1, 0], "the address of the radio with this name");
    assert_eq!(network.links, [[30.0, 10.0, 30.0], [10.0, 30.0, 20.0], [30.0, 20.0, 30.0]]);
    let scenario = network.scenario(&[], &Extensions::default()).unwrap();
    let Model::Sinr(sinr) = &scenario.radio().model else { panic!("a model with SINR") };
    let traces = &sinr.measured.as_ref().unwrap().traces;
    assert!((traces.snr_db(NodeId(2), NodeId(1), Instant::ZERO) - 20.0).abs() < 1e-9);
    assert!(sinr.measured.as_ref().unwrap().file.is_empty());
}

#[test]
fn probabilities_are_those_of_losses() {
    let text = format!(
        "{IFACES} }};\nmodel : {{ type = \"pr\" /* one word */ \"ob\"; default_prob = 1.0; links = ((0, 1, 0.25)); }};"
    );
    let network = read(&text);
    assert_eq!(network.quantity, Quantity::Loss);
    assert_eq!((network.links[1][0], network.links[0][2]), (0.25, 1.0));
    let scenario = network.scenario(&[], &Extensions::default()).unwrap();
    let Model::Sinr(sinr) = &scenario.radio().model else { panic!("a model with SINR") };
    let traces = &sinr.measured.as_ref().unwrap().traces;
    let snr_db = |from, to| traces.snr_db(NodeId(from), NodeId(to), Instant::ZERO);
    assert!(snr_db(0, 1).is_finite() && snr_db(1, 0).is_finite());
    assert!(snr_db(0, 2) < -1e9 && snr_db(2, 1) < -1e9, "a loss of 1 is no link");
}

#[test]
fn path_loss_follows_the_distance() {
    let text = format!(
        "{IFACES} count = 3 }} model : {{ type = \"path_loss\", model_name = \"log_distance\", path_loss_exp = 3.5, xg = 0.0
         positions = ((0.0, 0.0), (0.0, 10.0), (30.0, 40.0)); tx_powers = (15.0, 15.0, 20.0) }}"
    );
    let links = read(&text).links;
    assert!((links[0][1] - (15.0 - 40.1 - 35.0 + 91.0)).abs() < 0.1, "{links:?}");
    assert!((links[2][0] - links[0][2] - 5.0).abs() < 1e-9, "five dB more power");
}

#[test]
fn mistakes_are_named_with_their_place() {
    assert_eq!(refused("model : { };"), "x.cfg:1:1: ifaces: is missing");
    assert_eq!(
        refused("ifaces : {\n  ids = [ \"02\", \"03\" ]; };"),
        "x.cfg:2:11: ifaces.ids: found \"02\", allowed: addresses of stations, each one once"
    );
    let with = |rest: &str| refused(&format!("{IFACES}\n{rest}"));
    assert_eq!(
        with("links = ((0, 3, 1)); };"),
        "x.cfg:2:14: ifaces.links: found 3, allowed: 0 to 2, the places of the ids"
    );
    assert_eq!(
        with("}; model : { type = \"rayleigh\" };"),
        "x.cfg:2:21: model.type: found \"rayleigh\", allowed: \"prob\", \"snr\", \"path_loss\""
    );
    assert_eq!(
        with("}; model : { type = \"prob\"; links = ((0, 1, 1.5)); };"),
        "x.cfg:2:45: model.links: found 1.5, allowed: 0 to 1"
    );
    assert_eq!(
        with("}; model : { type = \"path_loss\"; directions = (); };"),
        "x.cfg:2:47: model.directions: is not used, allowed: type, model_name, positions, tx_powers, path_loss_exp, xg, band"
    );
    assert_eq!(
        with("links = ((0, 1, 10)); }; model : { type = \"snr\"; };"),
        "x.cfg:2:9: ifaces.links: is not used, allowed: ids, count, enable_interference"
    );
    assert_eq!(with("count = 2; };"), "x.cfg:2:9: ifaces.count: found 2, allowed: 3, the number of ids");
    assert_eq!(with(""), "x.cfg:2:1: found the end of the file, allowed: a setting or }");
    assert_eq!(refused("ifaces { }"), "x.cfg:1:8: found '{', allowed: = or :");
    assert_eq!(refused("a = 1; a = 2;"), "x.cfg:1:8: the setting a is there twice");
}

#[test]
fn a_scenario_of_a_file_needs_ratios_of_signal_to_noise() {
    let set = [("radio.model".to_owned(), "\"threshold\"".to_owned())];
    let error = read(&format!("{IFACES} }};")).scenario(&set, &Extensions::default()).unwrap_err();
    assert!(error.to_string().starts_with("radio.model: found \"threshold\""), "{error}");
}

proptest! {
    #[test]
    fn damaged_files_are_no_harm(at in 0..200_usize, with in "[\\x00-\\x7f]{0,3}") {
        let mut text = format!("{IFACES} links = ((0, 1, 10)); }}; model : {{ type = \"prob\"; /* */ }};");
        let at = at.min(text.len());
        text.replace_range(at..(at + with.len()).min(text.len()), &with);
        let _ = Wmediumd::read(&text, "x.cfg");
    }

    #[test]
    fn nonsense_is_no_harm(text in "[a-z0-9=:;,(){}\\[\\]\"#/* \n.]{0,200}") {
        let _ = Wmediumd::read(&text, "x.cfg");
    }
}
