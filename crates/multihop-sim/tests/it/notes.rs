//! Notes on settings without the effect that is probably meant.

use multihop_core::Interface;
use multihop_sim::links::links;
use multihop_sim::notes;

use super::support::scenario;

/// Two pairs of stations, 270 m apart, over AODV.
fn two_pairs(radio_and_more: &str) -> String {
    format!(
        "duration = 10.0\nwarmup = 5.0\n\
         [topology]\nkind = \"list\"\npositions = [[0, 0], [30, 0], [300, 0], [330, 0]]\n\
         [routing]\nprotocol = \"aodv\"\n\
         [[flow]]\nfrom = 0\nto = 1\ntransport = \"newreno\"\n{radio_and_more}"
    )
}

fn said(text: &str) -> Vec<String> {
    notes(&scenario(text))
}

const OFDM: &str = "[radio]\nphy = \"802.11n-20\"\nbudget = \"ns-2\"\nmodel = \"sinr\"\n";

#[test]
fn a_network_as_it_is_meant_has_no_notes() {
    assert_eq!(said(&two_pairs(OFDM)), [""; 0]);
}

#[test]
fn a_destination_in_another_part_of_the_network_is_noted() {
    let note = "flow 0 has no path: no chain of links leads from the source to the destination";
    assert_eq!(said(&two_pairs(OFDM).replace("to = 1", "to = 2")), [note]);
    let moving = "[mobility]\nkind = \"random-waypoint\"\nspeed = 5.0\narea = [400.0, 10.0]\n";
    assert_eq!(said(&two_pairs(&format!("{OFDM}{moving}")).replace("to = 1", "to = 2")), [""; 0]);
}

#[test]
fn a_station_without_a_neighbour_at_its_rate_is_noted() {
    let text = two_pairs("[radio]\nrange = { 11M = 20.0, 2M = 40.0, 1M = 50.0 }\nrate = \"11M\"\n");
    let text = text.replace("[300, 0], [330, 0]", "[40, 0]");
    assert_eq!(
        said(&text),
        [
            "node 0 has no neighbour at \"11M\", whose range is 20 m",
            "flow 0 has no path: no chain of links leads from the source to the destination",
            "4 links carry broadcasts at \"1M\" but no data at \"11M\": the routing protocol finds links over which no data arrives; a \
             higher basic_rate, a lower rate or rate_control avoids that",
        ]
    );
    let static_routes = text.replace("protocol = \"aodv\"", "protocol = \"static\"");
    assert!(!said(&static_routes).iter().any(|note| note.contains("broadcasts")));
}

#[test]
fn keys_without_effect_are_noted() {
    let with = |lines: &str| said(&two_pairs(&format!("{OFDM}{lines}")));
    let mac = |lines: &str| with(&format!("[mac]\nflavour = \"standard\"\n{lines}\n"));
    assert_eq!(
        said(&two_pairs(OFDM).replace("from = 0", "from = 0\ncategory = \"voice\"")),
        ["flow 0 has a category without effect: mac.edca is false, so that all packets share one queue"]
    );
    let messages =
        "transport = \"mesh\"\napp = \"messages\"\ndscp = true\nchannel = [{ size = 9, interval = 1.0 }]";
    let marked =
        |mac: &str| said(&two_pairs(&format!("{OFDM}{mac}")).replace("transport = \"newreno\"", messages));
    assert_eq!(
        marked(""),
        ["flow 0 has dscp = true without effect: mac.edca is false, so that all packets share one queue"]
    );
    assert_eq!(marked("[mac]\nflavour = \"standard\"\nedca = true\n"), [""; 0]);
    let voice = two_pairs(&format!("{OFDM}[mac]\nflavour = \"standard\"\nedca = true\n"));
    assert_eq!(said(&voice.replace("from = 0", "from = 0\ncategory = \"voice\"")), [""; 0]);
    let codel = "codel_target, codel_interval and mark_above have no effect with discipline = \"drop-tail\"";
    assert_eq!(mac("codel_target = 0.02"), [codel]);
    assert_eq!(mac("codel_target = 0.02\ndiscipline = \"codel\""), [""; 0]);
    let retry = "long_retry has no effect with rts_threshold = \"off\": short_retry limits data without RTS";
    assert_eq!(mac("long_retry = 7\nrts_threshold = \"off\""), [retry]);
    assert_eq!(mac("long_retry = 7"), [""; 0]);
    let rate = "rate = \"MCS5\" decides static routes only: rate_control = \"minstrel\" chooses the rates of data and begins with MCS 0";
    assert_eq!(with("rate = \"MCS5\"\n[mac]\nrate_control = \"minstrel\"\n"), [rate]);
    let device = "[radio]\nphy = \"802.11n-20\"\nrate = \"MCS1\"\nstreams = 2\n";
    assert_eq!(said(&two_pairs(device)), ["streams = 2 has no effect: all data has the rate \"MCS1\""]);
    assert_eq!(said(&two_pairs(&device.replace("rate = \"MCS1\"\n", ""))), [""; 0]);
}

#[test]
fn links_that_routing_does_not_find_are_noted() {
    let text = two_pairs("[radio]\nrange = { 2M = 20.0, 1M = 40.0 }\nrate = \"1M\"\nbasic_rate = \"2M\"\n");
    let note = "4 links carry data at \"1M\" but no broadcasts at \"2M\": the routing protocol does not find them; a lower \
                basic_rate reaches further";
    assert_eq!(said(&text), [note]);
}

#[test]
fn nodes_at_one_place_are_noted() {
    let text = two_pairs(OFDM).replace("[[0, 0], [30, 0], [300, 0], [330, 0]]", "[[7, 7], [7, 7], [7, 7]]");
    assert_eq!(said(&text), ["all 3 nodes are at one place: every frame reaches all of them"]);
}

#[test]
fn rate_control_without_a_choice_is_noted() {
    let text =
        two_pairs("[radio]\nphy = \"802.11g\"\nbudget = \"ns-2\"\n[mac]\nrate_control = \"minstrel\"\n");
    let note = "rate_control has nothing to choose: all rates have the range of 250 m; model = \"sinr\", or a table of ranges, \
                gives each rate its own";
    assert_eq!(said(&text), [note]);
}

#[test]
fn rates_of_a_kernel_have_the_notes_of_the_scenarios_rate() {
    for protocol in ["aodv", "static"] {
        let with = |rule: &str| {
            let text = two_pairs(&format!(
                "[radio]\nrange = {{ 11M = 20.0, 1M = 40.0 }}\nrate = \"11M\"\n[mac]\nrate_control = {rule:?}\n"
            ));
            let text = text.replace("\"aodv\"", &format!("{protocol:?}"));
            let links = links(&scenario(&text), Interface(0)).expect("four stations");
            let carries_data = links.list.iter().filter(|link| link.carries_data).count();
            (said(&text), carries_data)
        };
        assert_eq!(with("kernel"), with("fixed"), "{protocol}");
        assert_ne!(with("kernel"), with("arf"), "{protocol}");
    }
}

#[test]
fn traffic_that_is_not_counted_or_not_carried_is_noted() {
    let cbr = "app = \"cbr\"\nrate_kbps = 600000\nstop = 3.0\n";
    let text = two_pairs(OFDM).replace("transport = \"newreno\"\n", cbr);
    assert_eq!(
        said(&text),
        [
            "flow 0 stops before the warm-up ends at 5 s: results do not count that traffic",
            "flow 0 offers more than 260 Mb/s, the fastest rate of the radio: its queue overflows",
        ]
    );
}

#[test]
fn links_have_both_directions_and_the_fastest_rate() {
    let found = links(&scenario(&two_pairs(OFDM)), Interface(0)).unwrap();
    let pairs: Vec<_> = found.list.iter().map(|link| (link.from.0, link.to.0, link.carries_data)).collect();
    assert_eq!(pairs, [(0, 1, true), (1, 0, true), (2, 3, true), (3, 2, true)]);
    assert_eq!((found.data_rate, found.list[0].fastest), (Some("MCS0"), "MCS31"));
    assert_eq!(found.isolated, []);
}
