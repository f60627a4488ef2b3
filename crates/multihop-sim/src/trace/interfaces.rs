//! Interfaces of a capture file: one for each radio of each node.

use multihop_core::{Interface, NodeId};
use multihop_radio::channel::Channel;
use multihop_radio::phy_profile::Rate;
use multihop_scenario::{Layout, Radio, Scenario};

use super::filter::CaptureFilter;
use super::pcapng::Described;

/// The interfaces of a capture file: one for each radio of each selected node, in the order of nodes, then of radios.
#[derive(Debug)]
pub(super) struct Interfaces {
    all: Vec<CapturedInterface>,
    /// Index in `all` for each radio of each node, node by node; `None` if the interface is not in the file.
    numbers: Vec<Option<u32>>,
    radios: Vec<CapturedRadio>,
    /// The names of all nodes.
    nodes: Vec<String>,
}

/// One interface of a capture file.
#[derive(Debug)]
struct CapturedInterface {
    name: String,
    radio: Interface,
}

/// Properties of a radio for radiotap headers.
#[derive(Debug)]
pub(super) struct CapturedRadio {
    /// Description of the physical layer and the channel, for display; empty if nodes have one radio.
    description: String,
    pub(super) has_short_preamble: bool,
    pub(super) channel_mhz: u16,
}

impl Interfaces {
    pub(super) fn new(scenario: &Scenario, layout: &Layout, filter: &CaptureFilter) -> Self {
        let nodes: Vec<_> = (0..layout.positions.len()).map(|n| layout.interface_name(n)).collect();
        let is_several = scenario.has_several_radios();
        let (mut all, mut numbers) = (Vec::new(), Vec::new());
        for (node, name) in (0..).map(NodeId).zip(&nodes) {
            for (radio, about) in (0..).map(Interface).zip(&scenario.radios) {
                let is_captured = filter.has_node(node) && about.is_at(node);
                numbers
                    .push(is_captured.then(|| u32::try_from(all.len()).expect("fewer than 2^32 interfaces")));
                if is_captured {
                    let name = if is_several { format!("{name}-radio{}", radio.0) } else { name.clone() };
                    all.push(CapturedInterface { name, radio });
                }
            }
        }
        let radios = scenario.radios.iter().map(|radio| CapturedRadio::new(radio, is_several)).collect();
        Self { all, numbers, radios, nodes }
    }

    /// The interfaces for the head of the file.
    pub(super) fn described(&self) -> impl Iterator<Item = Described<'_>> {
        self.all.iter().map(|CapturedInterface { name, radio }| Described {
            name,
            description: &self.radio(*radio).description,
        })
    }

    /// The number of the interface of a node's radio; `None` if it is not in the file.
    pub(super) fn number(&self, node: NodeId, radio: Interface) -> Option<u32> {
        self.numbers[node.index() * self.radios.len() + radio.index()]
    }

    pub(super) fn radio(&self, radio: Interface) -> &CapturedRadio {
        &self.radios[radio.index()]
    }

    pub(super) fn node_name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()]
    }
}

impl CapturedRadio {
    fn new(radio: &Radio, is_described: bool) -> Self {
        let phy = radio.params.phy;
        let channel = radio.channel.map(|number| Channel { phy, number });
        let description = match channel {
            Some(Channel { number, .. }) if is_described => format!("{}, channel {number}", phy.name),
            _ => String::new(),
        };
        Self {
            description,
            has_short_preamble: radio.params.preamble.is_short,
            channel_mhz: channel.map_or(phy.channel_mhz, |channel| channel.primary_mhz()),
        }
    }

    /// Channel flags for a frame at this rate. Channels of 802.11n are in one of two bands.
    pub(super) fn channel_flags(&self, rate: &Rate) -> u16 {
        let flags = rate.label.channel_flags;
        if (1000..3000).contains(&self.channel_mhz) { flags & !AT_5_GHZ | AT_2_GHZ } else { flags }
    }
}

/// Radiotap flag for a channel at 2.4 GHz.
const AT_2_GHZ: u16 = 0x0080;
const AT_5_GHZ: u16 = 0x0100;

#[cfg(test)]
mod tests {
    use multihop_scenario::Source;

    use super::*;

    fn interfaces(text: &str, filter: &CaptureFilter) -> Interfaces {
        let text = format!(
            "duration = 1.0\ntopology = {{ kind = \"chain\", hops = 2 }}\n{text}[[flow]]\ntransport = \"newreno\"\n"
        );
        let source = Source::Toml { text, name: "a.toml".to_owned() };
        let scenario = Scenario::load(&source, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        Interfaces::new(&scenario, &scenario.topology.place(scenario.seed).unwrap(), filter)
    }

    fn described(interfaces: &Interfaces) -> Vec<(String, String)> {
        let text = |described: Described<'_>| (described.name.to_owned(), described.description.to_owned());
        interfaces.described().map(text).collect()
    }

    #[test]
    fn one_radio_has_an_interface_for_each_selected_node() {
        let all = interfaces("", &CaptureFilter::default());
        let names = ["node0", "node1", "node2"].map(|name| (name.to_owned(), String::new()));
        assert_eq!(described(&all), names);
        let filter = CaptureFilter { nodes: vec![NodeId(2), NodeId(1)], ..CaptureFilter::default() };
        let some = interfaces("", &filter);
        let numbers = [0, 1, 2].map(|node| some.number(NodeId(node), Interface(0)));
        assert_eq!(numbers, [None, Some(0), Some(1)]);
    }

    #[test]
    fn several_radios_have_an_interface_each_where_a_node_has_them() {
        let radios =
            "[[radio]]\nchannel = 6\n[[radio]]\nphy = \"802.11n-40\"\nchannel = 38\nnodes = [0, 2]\n";
        let all = interfaces(radios, &CaptureFilter::default());
        let (first, second) = ("802.11b, channel 6", "802.11n-40, channel 38");
        let expected = [
            ("node0-radio0", first),
            ("node0-radio1", second),
            ("node1-radio0", first),
            ("node2-radio0", first),
            ("node2-radio1", second),
        ];
        assert_eq!(described(&all), expected.map(|(name, about)| (name.to_owned(), about.to_owned())));
        let numbers = [0, 1, 2].map(|node| all.number(NodeId(node), Interface(1)));
        assert_eq!(numbers, [Some(1), None, Some(4)]);
        assert_eq!([0, 1].map(|radio| all.radio(Interface(radio)).channel_mhz), [2437, 5180]);
    }

    #[test]
    fn the_flags_name_the_band_of_the_channel() {
        let flags = |channel: u8| {
            let radio = format!("[radio]\nphy = \"802.11n-20\"\nchannel = {channel}\n");
            let all = interfaces(&radio, &CaptureFilter::default());
            let phy = &multihop_radio::phy_profile::DOT11N_20;
            all.radio(Interface(0)).channel_flags(phy.rate(phy.data_rate))
        };
        assert_eq!([flags(1), flags(36)], [0x00c0, 0x0140]);
    }
}
