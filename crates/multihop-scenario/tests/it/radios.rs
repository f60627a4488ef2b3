//! `[radio]` and `[[radio]]`: one radio or several at each node.

use multihop_core::NodeId;
use multihop_radio::params::Flavour;

use super::{load, refused};

const CHAIN: &str =
    "duration = 10.0\n[topology]\nkind = \"chain\"\nhops = 2\n[[flow]]\ntransport = \"newreno\"\n";

fn with(radios: &str) -> String {
    format!("{CHAIN}{radios}")
}

#[test]
fn a_table_is_one_radio_and_an_array_lists_several() {
    assert_eq!(load(CHAIN).radios.len(), 1);
    assert_eq!(load(&with("[radio]\nrate = \"11M\"\n")).radios.len(), 1);
    let scenario = load(&with(
        "[mac]\nqueue = 7\n[[radio]]\nchannel = 1\n[[radio]]\nphy = \"802.11a\"\nchannel = 36\nnodes = [0, 2]\n\
         [radio.mac]\nflavour = \"standard\"\n",
    ));
    let [first, second] = &scenario.radios[..] else { panic!("{:?}", scenario.radios) };
    assert_eq!((first.params.phy.name, first.channel, first.mac.queue), ("802.11b", Some(1), 7));
    assert_eq!((second.params.phy.name, second.channel, second.mac.queue), ("802.11a", Some(36), 50));
    assert_eq!((first.mac.flavour, second.mac.flavour), (Flavour::Ns2, Flavour::Standard));
    assert!([0, 1, 2].map(NodeId).iter().all(|node| first.is_at(*node)));
    assert_eq!([0, 1, 2].map(|node| second.is_at(NodeId(node))), [true, false, true]);
}

#[test]
fn each_of_several_radios_needs_a_channel_of_its_physical_layer() {
    assert_eq!(
        refused(&with("[[radio]]\nchannel = 1\n[[radio]]\n")),
        "x.toml:9:1: radio.1.channel: is missing: each of several radios needs its channel"
    );
    assert_eq!(
        refused(&with("[[radio]]\nchannel = 36\n")),
        "x.toml:8:11: radio.0.channel: found 36, allowed with phy = \"802.11b\": 1 to 14"
    );
}

#[test]
fn every_node_has_a_radio() {
    assert_eq!(
        refused(&with("[radio]\nnodes = [0, 1]\n")),
        "x.toml:7:1: radio: node 2 has no radio, allowed: at least one for each node"
    );
}

#[test]
fn faults_name_the_radio() {
    let second = "[[radio]]\nchannel = 1\n[[radio]]\nchannel = 6\n";
    assert_eq!(
        refused(&with(&format!("{second}nodes = [9]\n"))),
        "x.toml:11:10: radio.1.nodes.0: found 9, allowed: 0 to 2"
    );
    assert_eq!(
        refused(&with(&format!("{second}mac = {{ ampdu = 64 }}\n"))),
        "x.toml:11:17: radio.1.mac.ampdu: found 64, allowed: \"off\" with phy = \"802.11b\": only 802.11n, 802.11ac and 802.11ax \
         aggregate"
    );
}

#[test]
fn radios_that_interfere_have_the_same_model_of_reception() {
    let sinr =
        |channel| format!("[[radio]]\nchannel = 1\n[[radio]]\nchannel = {channel}\nmodel = \"sinr\"\n");
    assert_eq!(
        refused(&with(&sinr(3))),
        "x.toml:11:9: radio.1.model: the channels of radio 0 and radio 1 overlap, allowed: the same model of reception for \
         both"
    );
    assert_eq!(load(&with(&sinr(11))).radios.len(), 2);
}

#[test]
fn what_has_no_support_for_several_radios_is_refused() {
    let two = |more: &str| with(&format!("[[radio]]\nchannel = 1\n[[radio]]\nchannel = 6\n{more}"));
    let refused = |more: &str| refused(&two(more));
    assert!(
        refused("[routing]\nprotocol = \"apdr\"\n")
            .contains("found \"apdr\", allowed with several radios: \"static\", \"aodv\", \"olsr\"")
    );
    load(&two("[routing]\nprotocol = \"aodv\"\n"));
    assert!(refused("[[data_rate]]\nfrom = 0\nrate = \"1M\"\n").contains("allowed with one radio"));
    let tap = "[emulation]\ninterface = \"tap\"\n";
    load(&two(&format!("{tap}gateway = 0\ngateway_interface = \"mesh-of-roofs\"\n")));
    let simulated = refused(&format!("{tap}simulated = [0]\n[routing]\nprotocol = \"olsr\"\n"));
    assert!(simulated.contains("emulation.simulated: found 1 nodes, allowed with several radios: none"));
    let gateway = refused(&format!("{tap}gateway = 0\ngateway_interface = \"mesh-of-houses\"\n"));
    assert!(gateway.contains("found 14 bytes, allowed with several radios: at most 13"), "{gateway}");
    assert!(refused("[record]\nevery = 0.0\nwhat = [\"queue\"]\n").contains("record.every: found 0"));
}
