//! From the tables of a file to the checked [`Scenario`]: rules between several keys.

mod expected;
mod hosts;
mod mobility;
mod radio;
mod routing;
mod topology;
mod traffic;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use multihop_core::{BitRate, Duration, FlowId, NodeId};
use multihop_radio::params::RadioParams;

use self::mobility::Mover;
use super::document::Fault;
use super::model::{App, Energy, Flow, Host, Mobility, Protocol, Record, Scenario, Sweep, Transport};
use super::read::{Both, one_of};
use super::tables::{
    AppTable, FlowTable, HostTable, MobilityTable, NodeRef, RecordTable, ScenarioTable, SweepTable,
    TopologyTable,
};
use super::topology::{Layout, Topology, layouts};
use super::values::PositiveSeconds;
use crate::faults::Faults;

/// The scenario that `table` describes; `source` is its name, whose folder files are relative to.
pub(super) fn scenario(table: &ScenarioTable, source: &Path, faults: &mut Faults<'_>) -> Option<Scenario> {
    let duration = table.duration.duration();
    let warmup = table.warmup.duration();
    if warmup >= duration {
        let message = format!("found {}, allowed: less than duration, {}", table.warmup.0, table.duration.0);
        faults.push(Fault::at_key("warmup", message));
    }
    let radio = radio::radio(&table.radio, faults);
    let reach = radio.as_ref().map(RadioParams::decode_range);
    let (topology, mobility) = nodes_and_movement(table, reach, source, faults).unzip();
    let nodes = topology.as_ref().map(Nodes::of);
    let routing = routing::routing(&table.routing, nodes.as_ref(), faults);
    let queue_kind = routing.as_ref().map(|routing| routing.protocol.queue_kind());
    let hosts = nodes.as_ref().and_then(|nodes| hosts::hosts(&table.host, nodes, faults));
    let places =
        nodes.as_ref().zip(hosts.as_ref()).map(|(nodes, hosts)| nodes.with_hosts(&table.host, hosts));
    let mut flows = flows(&table.flow, table.traffic.is_some(), places.as_ref(), table.duration, faults);
    if let Some(flows) = &flows {
        hosts::check_relays(flows, faults);
    }
    if let (Some(traffic), Some(nodes)) = (&table.traffic, &nodes) {
        let drawn = traffic::draw(
            traffic,
            nodes.count,
            table.seed.0,
            duration,
            flows.as_ref().map_or(0, Vec::len),
            faults,
        );
        flows = flows.zip(drawn).map(|(flows, drawn)| [flows, drawn].concat());
    }
    let record = table.record.as_ref().map(|record| self::record(record, duration, faults));
    let expected = table.expected.as_ref().map(|table| expected::expected(table, source, faults));
    let sweep = table.sweep.as_ref().map(|sweep| self::sweep(sweep, faults));
    Some(Scenario {
        name: name(table, source),
        duration,
        warmup,
        seed: table.seed.0,
        radio: radio?,
        mac: radio::mac(&table.mac, queue_kind?),
        arp: table.mac.arp.0,
        topology: topology?,
        mobility: mobility?,
        hosts: hosts?,
        routing: routing?,
        flows: flows?,
        record,
        energy: table.energy.as_ref().map(|watts| Energy {
            transmit: watts.transmit.0,
            receive: watts.receive.0,
            idle: watts.idle.0,
        }),
        expected: expected.flatten(),
        sweep,
    })
}

/// Where the nodes are and how they move: each may come from the other.
fn nodes_and_movement(
    table: &ScenarioTable,
    reach: Option<f64>,
    source: &Path,
    faults: &mut Faults<'_>,
) -> Option<(Topology, Mobility)> {
    mobility::agree(&table.topology, table.mobility.as_ref(), faults)?;
    let mover = |topology| Mover { topology, source, duration: table.duration.duration() };
    if let (TopologyTable::Mobility(_), Some(table)) = (&table.topology, &table.mobility) {
        let mobility = mover(None).mobility(table, faults)?;
        return Some((mobility::topology_of(&mobility)?, mobility));
    }
    let still = matches!(table.mobility, None | Some(MobilityTable::Static(_)));
    let topology = topology::topology(&table.topology, still, reach, source, table.seed.0, faults)?;
    let mobility = match (&table.topology, &table.mobility) {
        (TopologyTable::Roaming(roaming), _) => Mobility::Paths(layouts::roaming(roaming.spacing.0).1),
        (_, None) => Mobility::Static,
        (_, Some(table)) => mover(Some(&topology)).mobility(table, faults)?,
    };
    Some((topology, mobility))
}

/// A file that a scenario names, and how messages show it.
pub(crate) fn in_folder(source: &Path, file: &str) -> (PathBuf, String) {
    let path = source.parent().unwrap_or(Path::new("")).join(file);
    let shown = super::document::shorten(&path.display().to_string());
    (path, shown)
}

fn name(table: &ScenarioTable, source: &Path) -> String {
    let stem =
        || source.file_stem().map_or_else(|| "scenario".into(), |stem| stem.to_string_lossy().into_owned());
    table.name.clone().unwrap_or_else(stem)
}

/// How nodes may be called, and which pairs the layout has.
#[derive(Clone)]
struct Nodes<'a> {
    count: usize,
    names: BTreeMap<&'a str, NodeId>,
    pairs: &'a [(NodeId, NodeId)],
}

impl<'a> Nodes<'a> {
    fn of(topology: &'a Topology) -> Self {
        static NO_LAYOUT: Layout = Layout { positions: Vec::new(), names: Vec::new(), pairs: Vec::new() };
        let layout = if let Topology::Fixed(layout) = topology { layout } else { &NO_LAYOUT };
        let named = layout.names.iter().zip(0..).filter_map(|(name, n)| Some((name.as_deref()?, NodeId(n))));
        Self { count: topology.nodes(), names: named.collect(), pairs: &layout.pairs }
    }

    /// And hosts, which are numbered after them.
    fn with_hosts(&self, tables: &'a [HostTable], hosts: &[Host]) -> Self {
        let mut all = self.clone();
        for table in tables.iter().take(hosts.len()) {
            let id = NodeId(u32::try_from(all.count).expect("a checked number of nodes"));
            all.count += 1;
            all.names.extend(table.name.as_deref().map(|name| (name, id)));
        }
        all
    }

    fn find(&self, node: &NodeRef, path: &str, faults: &mut Faults<'_>) -> Option<NodeId> {
        let (found, shown) = match node {
            NodeRef::Number(n) => {
                let id = u32::try_from(*n).ok().filter(|n| (*n as usize) < self.count);
                (id.map(NodeId), n.to_string())
            }
            NodeRef::Name(name) => {
                (self.names.get(name.as_str()).copied(), format!("{:?}", super::document::shorten(name)))
            }
        };
        if found.is_none() {
            let names = match self.names.len() {
                0 => String::new(),
                1..=MANY => format!(", {}", one_of(self.names.keys().copied())),
                _ => ", or a name from the file".to_owned(),
            };
            let message = format!("found {shown}, allowed: 0 to {}{names}", self.count - 1);
            faults.push(Fault::at_key(path, message));
        }
        found
    }
}

fn flows(
    tables: &[FlowTable],
    drawn: bool,
    nodes: Option<&Nodes<'_>>,
    duration: PositiveSeconds,
    faults: &mut Faults<'_>,
) -> Option<Vec<Flow>> {
    if (tables.is_empty() && !drawn) || tables.len() > MOST_FLOWS {
        let message = format!("found {} flows, allowed: 1 to {MOST_FLOWS}", tables.len());
        faults.push(Fault::at_key("flow", message));
        return None;
    }
    let mut pairs = nodes.map_or(&[][..], |nodes| nodes.pairs).iter();
    let checked: Vec<Option<Flow>> = tables
        .iter()
        .enumerate()
        .map(|(n, table)| {
            let path = format!("flow.{n}");
            let from_to = nodes.and_then(|nodes| ends(table, nodes, &mut pairs, &path, faults));
            flow(table, from_to, duration, &path, faults)
        })
        .collect();
    checked.into_iter().collect()
}

fn flow(
    table: &FlowTable,
    from_to: Option<(NodeId, NodeId)>,
    duration: PositiveSeconds,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<Flow> {
    let Both(common, app) = table;
    let start = common.start.duration();
    let stop = common.stop.map(|stop| stop.duration());
    if start >= duration.duration() {
        let message = format!("found {}, allowed: less than duration, {}", common.start.0, duration.0);
        faults.push(Fault::at_key(format!("{path}.start"), message));
    }
    if let (Some(found), Some(stop)) = (common.stop, stop)
        && stop <= start
    {
        let message = format!("found {}, allowed: more than start, {}", found.0, common.start.0);
        faults.push(Fault::at_key(format!("{path}.stop"), message));
    }
    let app = self::app(app);
    let transport = transport_of(common.transport.as_ref(), &app, path, faults);
    let (from, to) = from_to?;
    Some(Flow { from, to, app, transport: transport?, start, stop, drawn: None })
}

/// The flows.
fn ends<'a>(
    table: &FlowTable,
    nodes: &Nodes<'_>,
    pairs: &mut impl Iterator<Item = &'a (NodeId, NodeId)>,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<(NodeId, NodeId)> {
    let Both(common, _) = table;
    let (from, to) = match (&common.from, &common.to) {
        (None, None) => match pairs.next() {
            Some(pair) => return Some(*pair),
            None => {
                let count = nodes.pairs.len();
                let message = format!("from and to are missing, and the layout has {count} pairs to offer");
                faults.push(Fault::at_key(path, message));
                return None;
            }
        },
        (Some(_), None) => {
            faults.push(Fault::at_key(format!("{path}.to"), "is missing beside from"));
            return None;
        }
        (None, Some(_)) => {
            faults.push(Fault::at_key(format!("{path}.from"), "is missing beside to"));
            return None;
        }
        (Some(from), Some(to)) => (from, to),
    };
    let from = nodes.find(from, &format!("{path}.from"), faults);
    let to_path = format!("{path}.to");
    let to = nodes.find(to, &to_path, faults);
    let (from, to) = (from?, to?);
    if from == to {
        faults.push(Fault::at_key(to_path, format!("found {to}, allowed: another node than from")));
        return None;
    }
    Some((from, to))
}

fn app(table: &AppTable) -> App {
    match table {
        AppTable::Ftp(_) => App::Ftp,
        AppTable::File(file) => App::File { bytes: file.bytes.0 },
        AppTable::Pareto(pareto) => App::Pareto {
            mean_bytes: pareto.mean_bytes.0,
            shape: pareto.shape.0,
            mean_pause: pareto.mean_pause.duration(),
        },
        AppTable::Cbr(cbr) => App::Cbr { rate: bit_rate(cbr.rate_kbps.0), size: cbr.size.to() },
        AppTable::Paced(paced) => App::Paced { size: paced.size.to() },
        AppTable::Relay(relay) => App::Relay { of: FlowId(relay.of.to()), buffer: relay.buffer.0 },
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0.001 to 1e6 kb/s are 1 to 1e9 b/s"
)]
fn bit_rate(kbps: f64) -> BitRate {
    BitRate((kbps * 1000.0).round().max(1.0) as u32)
}

/// The transport, which must suit the application: datagrams or a stream.
fn transport_of(
    transport: Option<&Transport>,
    app: &App,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<Transport> {
    let path = format!("{path}.transport");
    let datagrams = matches!(app, App::Cbr { .. } | App::Paced { .. });
    let Some(transport) = transport else {
        if datagrams {
            return Some(Transport { name: "udp".to_owned(), protocol: Protocol::Udp });
        }
        faults.push(Fault::at_key(path, "is missing, such as \"newreno\""));
        return None;
    };
    if matches!(transport.protocol, Protocol::Udp) != datagrams {
        let (found, app) = (&transport.name, app.name());
        let allowed = if datagrams { "\"udp\"" } else { "a reliable transport, such as \"newreno\"" };
        faults.push(Fault::at_key(path, format!("found {found:?} under app {app:?}, allowed: {allowed}")));
        return None;
    }
    Some(transport.clone())
}

fn record(table: &RecordTable, duration: Duration, faults: &mut Faults<'_>) -> Record {
    let every = table.every.duration();
    if every > Duration::ZERO && duration.whole(every) > MOST_ROWS {
        let message = format!("found {}, allowed: 0, or at most {MOST_ROWS} values in a run", table.every.0);
        faults.push(Fault::at_key("record.every", message));
    }
    let mut what = Vec::new();
    for (n, series) in table.what.iter().enumerate() {
        if what.contains(&series.0) {
            faults.push(Fault::at_key(format!("record.what.{n}"), "is listed twice"));
        } else {
            what.push(series.0);
        }
    }
    if what.is_empty() {
        faults.push(Fault::at_key("record.what", "found an empty array, allowed: at least one series"));
    }
    Record { every, what }
}

fn sweep(table: &SweepTable, faults: &mut Faults<'_>) -> Sweep {
    let runs = table.axes.iter().try_fold(table.seeds.0, |runs, axis| {
        runs.checked_mul(axis.values.len() as u64).filter(|runs| *runs <= MOST_RUNS)
    });
    if runs.is_none() {
        faults.push(Fault::at_key("sweep", format!("allowed: at most {MOST_RUNS} runs")));
    }
    Sweep { seeds: table.seeds.to(), axes: table.axes.clone() }
}

/// Names that a message lists.
const MANY: usize = 20;
const MOST_FLOWS: usize = 100_000;
const MOST_ROWS: u64 = 10_000_000;
const MOST_RUNS: u64 = 1_000_000;
