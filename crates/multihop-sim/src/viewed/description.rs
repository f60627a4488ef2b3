//! Description of the network of a run for the viewer's page.

use multihop_core::Instant;
use multihop_radio::grid::Point;
use multihop_radio::params::Model;
use multihop_scenario::{Radio, Scenario};
use serde::Serialize;

use super::Nodes;
use crate::BUILD;

/// The network of a run: nodes, their radios, flows.
#[derive(Debug, Serialize)]
pub struct Description {
    /// The build of the simulator.
    build: &'static str,
    name: String,
    seed: u64,
    /// Duration of the scenario, in seconds.
    duration: f64,
    warmup: f64,
    radios: Vec<RadioDescription>,
    /// Outlines of obstacles and of their holes, metres.
    obstacles: Vec<Vec<Vec<[f64; 2]>>>,
    nodes: Vec<Node>,
    hosts: Vec<Host>,
    flows: Vec<FlowDescription>,
}

/// A radio of the nodes.
#[derive(Debug, Serialize)]
struct RadioDescription {
    /// Name of the physical layer.
    phy: &'static str,
    /// Channel number; absent if the scenario gives none.
    channel: Option<u8>,
    /// Distance up to which unicast data at the scenario's rate is decoded, in metres.
    decode_range: f64,
    /// Distance up to which a frame is sensed, in metres; absent if sensing depends on more than the
    /// distance.
    sense_range: Option<f64>,
    slot_us: f64,
    rates: Vec<Rate>,
    /// Nodes that have the radio; absent if all nodes have it.
    nodes: Option<Vec<u32>>,
}

/// A bit rate of a radio.
#[derive(Debug, Serialize)]
struct Rate {
    name: String,
    mbps: f64,
}

#[derive(Debug, Serialize)]
struct Node {
    name: String,
    /// Time, x and y of each waypoint.
    path: Vec<[f64; 3]>,
}

#[derive(Debug, Serialize)]
struct Host {
    id: u32,
    gateway: u32,
}

#[derive(Debug, Serialize)]
struct FlowDescription {
    from: u32,
    to: u32,
    transport: String,
    app: &'static str,
}

impl Description {
    /// The description of a scenario with these nodes, whose run ends at `end`.
    pub fn of(scenario: &Scenario, nodes: &Nodes, end: Instant) -> Self {
        let flow = |flow: &multihop_scenario::Flow| FlowDescription {
            from: flow.from.0,
            to: flow.to.0,
            transport: flow.transport.name.clone(),
            app: flow.app.name(),
        };
        Self {
            build: BUILD,
            name: scenario.name.clone(),
            seed: scenario.seed,
            duration: end.as_secs_f64(),
            warmup: scenario.warmup.as_secs_f64(),
            radios: scenario.radios.iter().map(RadioDescription::of).collect(),
            obstacles: obstacles(scenario),
            nodes: described(nodes),
            hosts: scenario.hosts().map(|(id, host)| Host { id: id.0, gateway: host.gateway.0 }).collect(),
            flows: scenario.flows.iter().map(flow).collect(),
        }
    }
}

impl RadioDescription {
    fn of(radio: &Radio) -> Self {
        let phy = radio.params.phy;
        let sense_range = match &radio.params.model {
            Model::Threshold(threshold) => Some(threshold.sense_range),
            Model::Sinr(_) => None,
        };
        let rate = |index| {
            let rate = phy.rate(index);
            Rate { name: rate.name.to_owned(), mbps: rate.bit_rate.as_f64() * 1e-6 }
        };
        Self {
            phy: phy.name,
            channel: radio.channel,
            decode_range: radio.params.decode_range(),
            sense_range,
            slot_us: phy.slot.as_secs_f64() * 1e6,
            rates: phy.rate_indices().map(rate).collect(),
            nodes: radio.nodes.as_ref().map(|nodes| nodes.iter().map(|node| node.0).collect()),
        }
    }
}

fn obstacles(scenario: &Scenario) -> Vec<Vec<Vec<[f64; 2]>>> {
    let Model::Sinr(sinr) = &scenario.radio().model else { return Vec::new() };
    let ring = |ring: &Vec<Point>| ring.iter().map(|corner| [corner.x, corner.y]).collect();
    let all = sinr.obstacles.iter().flat_map(|obstacles| obstacles.all());
    all.map(|obstacle| obstacle.rings.iter().map(ring).collect()).collect()
}

fn described(nodes: &Nodes) -> Vec<Node> {
    let Nodes { layout, paths } = nodes;
    let node = |(number, path): (usize, &multihop_radio::mobility::Path)| Node {
        name: layout.names.get(number).cloned().flatten().unwrap_or_else(|| number.to_string()),
        path: path
            .waypoints()
            .iter()
            .map(|w| [w.at.as_nanos() as f64 * 1e-9, w.place.x, w.place.y])
            .collect(),
    };
    paths.iter().enumerate().map(node).collect()
}
