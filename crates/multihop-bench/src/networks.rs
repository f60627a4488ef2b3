//! Networks and their traffic as scenario text.

use std::collections::BTreeSet;
use std::f64::consts::TAU;

use anyhow::Context;
use multihop_core::Instant;
use multihop_radio::grid::Point;
use multihop_radio::mobility::Track;
use multihop_scenario::{Scenario, Source};

/// A scenario that lasts until `to`, with a warm-up until `from`; `text` must not set duration or warm-up.
pub(crate) fn load(text: &str, from: f64, to: f64) -> anyhow::Result<Scenario> {
    let source = Source::Toml { text: text.to_owned(), name: "benchmark".to_owned() };
    let times = [("duration", to), ("warmup", from)].map(|(key, time)| (key.to_owned(), format!("{time:?}")));
    Ok(Scenario::load(&source, &times)?)
}

/// Number of nodes, and seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) nodes: u32,
    pub(crate) seed: u32,
}

/// One TCP flow from end to end.
#[expect(clippy::unnecessary_wraps, reason = "one of several that make a network of some size")]
pub(crate) fn chain(size: Size) -> anyhow::Result<String> {
    Ok(format!("topology = {{ kind = \"chain\", hops = {} }}\n{TCP}", size.nodes - 1))
}

/// Chain with one TCP flow over 802.11a, as it is compared with ns-3.
pub(crate) fn chain_ofdm(size: Size) -> anyhow::Result<String> {
    Ok(format!("{OFDM}{}", chain(size)?))
}

/// Two TCP flows that meet in the middle.
#[expect(clippy::unnecessary_wraps, reason = "one of several that make a network of some size")]
pub(crate) fn cross(_: Size) -> anyhow::Result<String> {
    Ok(format!("topology = {{ kind = \"cross\" }}\n{TCP}{TCP}"))
}

/// A circle of stations that all send to the one in the middle.
#[expect(clippy::unnecessary_wraps, reason = "one of several that make a network of some size")]
pub(crate) fn cell(size: Size) -> anyhow::Result<String> {
    Ok(cell_of(size, 300.0))
}

/// Single cell over 802.11a, as it is compared with ns-3.
#[expect(clippy::unnecessary_wraps, reason = "one of several that make a network of some size")]
pub(crate) fn cell_ofdm(size: Size) -> anyhow::Result<String> {
    Ok(format!("{OFDM}{}", cell_of(size, 800.0)))
}

/// Ten stations of 802.11n that send aggregates.
#[expect(clippy::unnecessary_wraps, reason = "one of several that make a network of some size")]
pub(crate) fn cell_n(size: Size) -> anyhow::Result<String> {
    Ok(aggregating_cell(size, "802.11n-20", 64))
}

/// Ten stations of 802.11ax that send aggregates.
#[expect(clippy::unnecessary_wraps, reason = "one of several that make a network of some size")]
pub(crate) fn cell_ax(size: Size) -> anyhow::Result<String> {
    Ok(aggregating_cell(size, "802.11ax-20", 256))
}

fn aggregating_cell(size: Size, phy: &str, ampdu: u32) -> String {
    let radio = format!("radio = {{ phy = \"{phy}\", rate = \"MCS7\" }}\n");
    let mac = format!("mac = {{ ampdu = {ampdu}, queue = 300, arp = \"oracle\" }}\n");
    format!("{radio}{mac}{}", cell_of(size, 10_000.0))
}

fn cell_of(size: Size, kbps: f64) -> String {
    let senders = size.nodes - 1;
    let around = (0..senders).map(|n| (TAU * f64::from(n) / f64::from(senders)).sin_cos());
    let circle: String =
        around.map(|(sin, cos)| format!(", [{:.3}, {:.3}]", 50.0 * cos, 50.0 * sin)).collect();
    let flows: String = (1..=senders).map(|from| cbr(from, 0, 0.0, kbps, 1460)).collect();
    format!("topology = {{ kind = \"list\", positions = [[0.0, 0.0]{circle}] }}\n{flows}")
}

/// Nodes at a fixed density; every tenth sends over [`HOPS`] hops.
///
/// Some nodes may be isolated, since 10,000 nodes are almost never all connected. They do not send.
pub(crate) fn random(size: Size) -> anyhow::Result<String> {
    with_datagrams(&place(size, ", connected = false"), 10, 20.0)
}

/// Random network whose nodes move, so that AODV repeats route discoveries.
///
/// A route discovery reaches at most one hop farther than [`HOPS`]. Seven hops would cover all of a network of 100
/// nodes and three times as many nodes of a large one, where each node then sent 1.6 times as many frames.
pub(crate) fn moving(size: Size) -> anyhow::Result<String> {
    let aodv = "routing = { protocol = \"aodv\", ttl_start = 3, ttl_threshold = 3, net_diameter = 4 }\n";
    with_datagrams(&format!("{}{MOVEMENT}{aodv}", place(size, "")), 10, 20.0)
}

/// Nodes with two radios of 802.11n in a street, on separate channels. Every twentieth node sends 100 kb/s to one at [`HOPS`]
/// times the range of a radio; routes have the least airtime.
pub(crate) fn two_radios(size: Size) -> anyhow::Result<String> {
    with_datagrams(&two_radio_nodes(size), 20, 100.0)
}

/// The network of [`two_radios`] with mobile nodes under AODV.
pub(crate) fn two_radios_aodv(size: Size) -> anyhow::Result<String> {
    let aodv = "routing = { protocol = \"aodv\", ttl_start = 3, ttl_threshold = 3, net_diameter = 4 }\n";
    with_datagrams(&format!("{}{MOVEMENT}{aodv}", two_radio_nodes(size)), 20, 100.0)
}

fn two_radio_nodes(size: Size) -> String {
    format!("{TWO_RADIOS}{}", place_apart(size, AREA_IN_A_STREET, ", connected = false"))
}

/// Random network of moving nodes over 802.11a at 6 Mb/s, with the standard's rules in place of ns-2's.
pub(crate) fn moving_ofdm(size: Size) -> anyhow::Result<String> {
    let radio =
        "radio = { phy = \"802.11a\", budget = \"ns-2\", rate = \"6M\" }\nmac = { flavour = \"standard\" }\n";
    Ok(format!("{radio}{}", moving(size)?))
}

/// Mobile nodes with AODV as in ns-2; one TCP flow for every ten nodes, between arbitrary nodes.
pub(crate) fn mobile_aodv(size: Size) -> anyhow::Result<String> {
    mobile(size, "protocol = \"aodv\", preset = \"ns2\", link_failure = \"mac\"")
}

/// Mobile nodes with AODV and its default parameters; 20 TCP flows over [`HOPS`] hops, whatever the size.
pub(crate) fn city(size: Size) -> anyhow::Result<String> {
    let network = format!("{}{MOVEMENT}routing = {{ protocol = \"aodv\" }}\n", place(size, ""));
    let pairs = pairs(&network, size.nodes / FLOWS_OF_A_CITY)?;
    let flows: String = pairs.into_iter().map(|(from, to)| tcp(from, to)).collect();
    Ok(network + &flows)
}

/// Mobile network under AODV over 802.11a, as it is compared with ns-3.
pub(crate) fn mobile_ofdm(size: Size) -> anyhow::Result<String> {
    Ok(format!("{OFDM}{}", mobile_aodv(size)?))
}

/// Mobile network under OLSR.
pub(crate) fn mobile_olsr(size: Size) -> anyhow::Result<String> {
    mobile(size, "protocol = \"olsr\"")
}

/// Mobile network under DSR.
pub(crate) fn mobile_dsr(size: Size) -> anyhow::Result<String> {
    mobile(size, "protocol = \"dsr\"")
}

#[expect(clippy::unnecessary_wraps, reason = "one of several that make a network of some size")]
fn mobile(size: Size, routing: &str) -> anyhow::Result<String> {
    let nodes = size.nodes;
    let flows: String = (0..nodes / 10).map(|from| tcp(from, nodes / 2 + from)).collect();
    Ok(format!("{}{MOVEMENT}routing = {{ {routing} }}\n{flows}", place(size, "")))
}

/// Places nodes at random with the usual density.
fn place(size: Size, more: &str) -> String {
    place_apart(size, AREA_OF_A_NODE, more)
}

/// Places nodes at random with `area` square metres for each.
fn place_apart(size: Size, area: f64, more: &str) -> String {
    let Size { nodes, seed } = size;
    let side = (f64::from(nodes) * area).sqrt();
    format!(
        "seed = {seed}\ntopology = {{ kind = \"random\", nodes = {nodes}, area = [{side:?}, {side:?}]{more} }}\n"
    )
}

/// Adds flows of datagrams: one node in `every` sends `kbps` to a node that is [`HOPS`] hops away at the
/// beginning.
fn with_datagrams(network: &str, every: u32, kbps: f64) -> anyhow::Result<String> {
    let flows: String = pairs(network, every)?
        .into_iter()
        // The starts are spread over a second, so that the nodes do not all send at once.
        .map(|(from, to)| cbr(from, to, f64::from(from / every % 100) * 0.01, kbps, 512))
        .collect();
    Ok(network.to_owned() + &flows)
}

/// Pairs of nodes: one node in `every`, each with a node that is [`HOPS`] hops away at the beginning.
fn pairs(network: &str, every: u32) -> anyhow::Result<Vec<(u32, u32)>> {
    let empty = load(&format!("{network}{}", cbr(0, 1, 0.0, 1.0, 512)), 0.0, 1.0)?;
    let layout = empty.topology.place(empty.seed)?;
    let begin = |mut track: Track| {
        let Point { x, y } = track.at(Instant::ZERO);
        [x, y]
    };
    let positions: Vec<_> = empty.tracks(&layout).into_iter().map(begin).collect();
    let nodes = u32::try_from(positions.len()).context("too many nodes")?;
    let places = Places::new(&positions, empty.decode_range());
    let senders = (0..nodes).step_by(every as usize);
    Ok(senders.filter_map(|from| Some((from, farthest(|node| places.neighbours(node), from)?))).collect())
}

const AREA_OF_A_NODE: f64 = 20_000.0; // m2
/// Area per node in a street, m2: with ranges of 699 m a node has as many neighbours as with 250 m and
/// [`AREA_OF_A_NODE`].
const AREA_IN_A_STREET: f64 = 156_000.0;
const HOPS: u32 = 3;
const FLOWS_OF_A_CITY: u32 = 20;

const MOVEMENT: &str = "mobility = { kind = \"random-waypoint\", speed = [1.0, 20.0] }\n";

/// 802.11a at 6 Mb/s with the rules of the standard; reception by SINR.
const OFDM: &str = "\
radio = { phy = \"802.11a\", budget = \"ns-2\", rate = \"6M\", model = \"sinr\", detection_db = 4.0, capture_db = 200.0 }
mac = { flavour = \"standard\", llc = true, arp = \"oracle\" }
";

/// Two radios of a device sold today.
const TWO_RADIOS: &str =
    "radio = [{ phy = \"802.11n-20\", channel = 36 }, { phy = \"802.11n-20\", channel = 44 }]\n";

const TCP: &str = "[[flow]]\ntransport = { kind = \"newreno+ack1\", window_max = 20 }\n";

fn tcp(from: u32, to: u32) -> String {
    format!("{TCP}from = {from}\nto = {to}\n")
}

fn cbr(from: u32, to: u32, start: f64, kbps: f64, bytes: u32) -> String {
    format!(
        "[[flow]]\nfrom = {from}\nto = {to}\nstart = {start:?}\napp = \"cbr\"\nrate_kbps = {kbps:?}\nsize = {bytes}\n"
    )
}

/// Finds the neighbours of a node.
struct Places<'a> {
    positions: &'a [[f64; 2]],
    /// Nodes from west to east.
    by_x: Vec<(u32, &'a [f64; 2])>,
    range: f64,
}

impl<'a> Places<'a> {
    fn new(positions: &'a [[f64; 2]], range: f64) -> Self {
        let mut by_x: Vec<(u32, &[f64; 2])> = (0..).zip(positions).collect();
        by_x.sort_by(|(_, a), (_, b)| a[0].total_cmp(&b[0]));
        Self { positions, by_x, range }
    }

    /// The nodes in range of a node, including the node itself.
    fn neighbours(&self, node: u32) -> Vec<u32> {
        let (range, a) = (self.range, self.positions[node as usize]);
        let hears = |b: &[f64; 2]| {
            let [dx, dy] = [a[0] - b[0], a[1] - b[1]];
            dx * dx + dy * dy <= range * range
        };
        let begin = self.by_x.partition_point(|(_, b)| b[0] < a[0] - range);
        let end = self.by_x.partition_point(|(_, b)| b[0] <= a[0] + range);
        self.by_x[begin..end].iter().filter(|(_, b)| hears(b)).map(|&(n, _)| n).collect()
    }
}

/// The node with the lowest number at a distance of [`HOPS`] hops or, if there is none, at the largest
/// smaller distance; `None` without neighbours.
fn farthest(neighbours: impl Fn(u32) -> Vec<u32>, from: u32) -> Option<u32> {
    let mut reached = BTreeSet::from([from]);
    let mut frontier = reached.clone();
    for _ in 0..HOPS {
        let beyond: BTreeSet<u32> = frontier
            .iter()
            .flat_map(|&node| neighbours(node))
            .filter(|node| !reached.contains(node))
            .collect();
        if beyond.is_empty() {
            break;
        }
        reached.extend(&beyond);
        frontier = beyond;
    }
    frontier.first().copied().filter(|&to| to != from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_the_nodes_in_range() {
        let places = [[300.0, 0.0], [0.0, 0.0], [150.0, 200.0], [250.0, 0.0]];
        let sorted = |mut nodes: Vec<u32>| {
            nodes.sort_unstable();
            nodes
        };
        let places = Places::new(&places, 250.0);
        let found: Vec<_> = (0..4).map(|node| sorted(places.neighbours(node))).collect();
        assert_eq!(found, [vec![0, 2, 3], vec![1, 2, 3], vec![0, 1, 2, 3], vec![0, 1, 2, 3]]);
    }

    #[test]
    fn the_farthest_node_is_at_most_three_hops_away() {
        let row: Vec<_> = (0..5).map(|n| [200.0 * f64::from(n), 0.0]).collect();
        let places = Places::new(&row, 250.0);
        assert_eq!(farthest(|node| places.neighbours(node), 0), Some(3));
        assert_eq!(farthest(|node| places.neighbours(node), 2), Some(0), "both ends are two hops away");
        assert_eq!(farthest(|_| vec![0], 0), None, "alone");
    }
}
