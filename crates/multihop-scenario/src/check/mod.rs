//! Checks that concern several keys: from the tables of a file to the checked [`Scenario`].

mod aggregation;
mod emulation;
mod expected;
mod hosts;
mod messages;
mod mobility;
mod power;
mod programs;
mod protection;
mod radios;
mod rates;
mod routing;
mod spread;
mod surroundings;
mod topology;
mod traffic;

pub use hosts::MAX_HOSTS;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use multihop_core::{Duration, NodeId, Rng};
use multihop_radio::mobility::Plane;

use self::mobility::Mover;
use super::application::App;
use super::document::Fault;
use super::model::{Flow, Mobility, Protocol, Record, Scenario, Sweep, Transport};
use super::read::settings::Keyed;
use super::read::{Both, one_of};
use super::tables::{
    FlowEnds, FlowTable, HostTable, LinkTables, NodeRef, Parts, RecordTable, Run, ScenarioTable, SweepTable,
    TopologyTable,
};
use super::topology::{Layout, Topology, layouts};
use crate::faults::Faults;
use crate::transport_name;

/// Checks the scenario in `table`. `source` is its name, to whose folder files are relative. `fewest` is the
/// smallest allowed number of flows if there are no programs.
pub(super) fn scenario(
    table: &ScenarioTable,
    source: &Path,
    fewest: usize,
    faults: &mut Faults<'_>,
) -> Option<Scenario> {
    let Both(Both(Keyed(run), LinkTables { radios }), table) = table;
    let (duration, warmup) = (Duration::from_secs_f64(run.duration), Duration::from_secs_f64(run.warmup));
    if warmup >= duration {
        let message = format!("found {}, allowed: less than duration, {}", run.warmup, run.duration);
        faults.push(Fault::at_key("warmup", message));
    }
    radios::link_layers(radios, faults);
    let plane = run.origin.map(|[latitude, longitude]| Plane::new(latitude, longitude));
    let ground = Ground { plane: plane.as_ref(), source };
    let (topology, mobility) =
        nodes_and_movement(run, table, radios::decode_range(radios), ground, faults).unzip();
    let nodes = topology.as_ref().map(Nodes::of);
    let single_movements = match (&table.mobility, &topology, &nodes) {
        (Some(Both(single, _)), Some(topology), Some(nodes)) => {
            let mover =
                |path, moved| Mover { topology: Some(topology), ground, duration, path, moved: Some(moved) };
            mobility::single_movements(single, nodes, mover, faults)
        }
        _ => Some(BTreeMap::new()),
    };
    let routing = routing::routing(&table.routing, nodes.as_ref(), faults);
    let all_radios = nodes.as_ref().zip(routing.as_ref()).and_then(|(nodes, routing)| {
        radios::refuse_several(radios, table, routing, faults);
        radios::radios(radios, table, routing.protocol.queue_kind(), nodes, ground, faults)
    });
    let hosts = nodes.as_ref().and_then(|nodes| hosts::hosts(&table.host, nodes, source, faults));
    let places = nodes.as_ref().filter(|_| hosts.is_some()).map(|nodes| nodes.with_hosts(&table.host));
    let programs = places.as_ref().and_then(|p| programs::programs(&table.program, p, run.duration, faults));
    let emulation = nodes.as_ref().zip(hosts.as_ref()).zip(routing.as_ref());
    let emulation = emulation.and_then(|((n, hosts), routing)| {
        let has_flows = !table.flow.is_empty() || table.traffic.is_some();
        emulation::emulation(&table.emulation.0, n, hosts, routing, has_flows, faults)
    });
    let count = nodes.as_ref().map_or(0, |nodes| nodes.count);
    let sleeps = nodes.as_ref().and_then(|nodes| power::sleeps(&table.sleep, nodes, faults));
    let fewest = if table.traffic.is_some() || !table.program.is_empty() { 0 } else { fewest };
    let mut flows = flows(&table.flow, fewest, places.as_ref(), run, faults);
    if let Some(flows) = &flows {
        hosts::check_relays(flows, faults);
        spread::check(flows, count, faults);
    }
    if let (Some(traffic), Some(nodes)) = (&table.traffic, &nodes) {
        let drawn = traffic::draw(
            traffic,
            nodes.count,
            run.seed,
            duration,
            flows.as_ref().map_or(0, Vec::len),
            faults,
        );
        flows = flows.zip(drawn).map(|(flows, drawn)| [flows, drawn].concat());
    }
    let record = table.record.as_ref().map(|RecordTable(record)| self::record(record, duration, faults));
    let expected = table.expected.as_ref().map(|Keyed(table)| expected::expected(table, source, faults));
    let sweep = table.sweep.as_ref().map(|sweep| self::sweep(sweep, faults));
    Some(Scenario {
        name: name(run, source),
        duration,
        warmup,
        seed: run.seed,
        radios: all_radios?,
        topology: topology?,
        mobility: mobility?,
        single_movements: single_movements?,
        hosts: hosts?,
        routing: routing?,
        flows: flows?,
        programs: programs?,
        emulation: emulation?,
        record,
        energy: table.energy.as_ref().map(|Keyed(energy)| power::energy(energy, count, faults)),
        sleeps: sleeps?,
        expected: expected.flatten(),
        sweep,
    })
}

/// Folder of the scenario's files, and projection of degrees in them to the plane.
#[derive(Clone, Copy)]
struct Ground<'a> {
    /// The plane of the scenario's origin, if it has one.
    plane: Option<&'a Plane>,
    /// The name of the scenario, whose folder files are relative to.
    source: &'a Path,
}

impl Ground<'_> {
    /// The plane; without it degrees cannot be converted, which is the error.
    fn plane(&self) -> Result<&Plane, String> {
        self.plane.ok_or_else(|| "needs the key origin: the latitude and longitude of (0, 0)".to_owned())
    }
}

/// Checks positions and movement of the nodes together, because each may determine the other.
fn nodes_and_movement(
    run: &Run,
    table: &Parts,
    reach: f64,
    ground: Ground<'_>,
    faults: &mut Faults<'_>,
) -> Option<(Topology, Mobility)> {
    let topology = &table.topology.0;
    let (single, movement) =
        table.mobility.as_ref().map(|Both(single, Keyed(table))| (single, table)).unzip();
    mobility::agree(topology, movement, single, faults)?;
    let duration = Duration::from_secs_f64(run.duration);
    let mover = |topology| Mover { topology, ground, duration, path: "mobility".to_owned(), moved: None };
    if let (TopologyTable::Mobility, Some(table)) = (topology, movement) {
        let mobility = mover(None).mobility(table, faults)?;
        return Some((mobility::topology_of(&mobility)?, mobility));
    }
    let still = mobility::keeps_places(movement, single);
    let placed = topology::topology(topology, still, reach, ground, run.seed, faults)?;
    let mobility = match (topology, movement) {
        (TopologyTable::Roaming(spacing), _) => Mobility::Paths(layouts::roaming(spacing.metres).1),
        (_, None) => Mobility::Static,
        (_, Some(table)) => mover(Some(&placed)).mobility(table, faults)?,
    };
    Some((placed, mobility))
}

/// Path of a file named in the scenario, and its name for messages.
pub(crate) fn in_folder(source: &Path, file: &str) -> (PathBuf, String) {
    let path = source.parent().unwrap_or(Path::new("")).join(file);
    let shown = super::document::shorten(&path.display().to_string());
    (path, shown)
}

fn name(run: &Run, source: &Path) -> String {
    let stem =
        || source.file_stem().map_or_else(|| "scenario".into(), |stem| stem.to_string_lossy().into_owned());
    run.name.clone().unwrap_or_else(stem)
}

/// The names of nodes, and the layout's pairs of sender and receiver.
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

    /// Adds the hosts, which are numbered after the nodes.
    fn with_hosts(&self, tables: &'a [Keyed<HostTable>]) -> Self {
        let mut all = self.clone();
        for Keyed(table) in tables {
            let id = NodeId(u32::try_from(all.count).expect("a checked number of nodes"));
            all.count += 1;
            all.names.extend(table.name.as_deref().map(|name| (name, id)));
        }
        all
    }

    /// The node with this number or name in a file.
    fn in_file(&self, text: &str) -> Result<NodeId, String> {
        let number = text.parse().ok().filter(|n: &u32| (*n as usize) < self.count).map(NodeId);
        number.or_else(|| self.names.get(text).copied()).ok_or_else(|| {
            let names = if self.names.is_empty() { "" } else { ", or the name of a node" };
            format!("found {:?}, allowed: 0 to {}{names}", super::document::shorten(text), self.count - 1)
        })
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
            let word = if let NodeRef::Name(name) = node { name } else { "" };
            faults.push(Fault::at_key(path, message).perhaps(word, self.names.keys().copied()));
        }
        found
    }
}

fn flows(
    tables: &[FlowTable],
    fewest: usize,
    nodes: Option<&Nodes<'_>>,
    run: &Run,
    faults: &mut Faults<'_>,
) -> Option<Vec<Flow>> {
    if tables.len() < fewest || tables.len() > MAX_FLOWS {
        let message = format!("found {} flows, allowed: 1 to {MAX_FLOWS}", tables.len());
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
            let times = times(&table.0.0, n, run, &path, faults);
            flow(table, from_to, times, &path, faults)
        })
        .collect();
    checked.into_iter().collect()
}

/// Start of a flow's application, its start jitter included, and its end.
fn times(
    flow: &FlowEnds,
    number: usize,
    run: &Run,
    path: &str,
    faults: &mut Faults<'_>,
) -> (Duration, Option<Duration>) {
    let &FlowEnds { start, start_jitter: jitter, stop, .. } = flow;
    let mut refuse =
        |key: &str, message: String| faults.push(Fault::at_key(format!("{path}.{key}"), message));
    if start >= run.duration {
        refuse("start", format!("found {start}, allowed: less than duration, {}", run.duration));
    } else if start + jitter > run.duration {
        let most = run.duration - start;
        refuse("start_jitter", format!("found {jitter}, allowed: at most duration minus start, {most}"));
    }
    match stop {
        Some(stop) if stop <= start => {
            refuse("stop", format!("found {stop}, allowed: more than start, {start}"))
        }
        Some(stop) if stop < start + jitter => {
            let latest = start + jitter;
            refuse(
                "stop",
                format!("found {stop}, allowed: at least start and start_jitter together, {latest}"),
            );
        }
        _ => {}
    }
    let mut begin = Duration::from_secs_f64(start);
    if jitter > 0.0 {
        begin += Duration::from_secs_f64(Rng::stream(run.seed, "start", number as u64).range(0.0, jitter));
    }
    (begin, stop.map(Duration::from_secs_f64))
}

fn flow(
    table: &FlowTable,
    from_to: Option<(NodeId, NodeId)>,
    (start, stop): (Duration, Option<Duration>),
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<Flow> {
    let Both(Keyed(common), Both(travel, Keyed(app))) = table;
    let transport = transport_of(travel.transport.as_ref(), app, path, faults);
    let channels = messages::channels(travel, app, transport.as_ref(), path, faults);
    messages::dscp(common.dscp, app, transport.as_ref(), path, faults);
    let (from, to) = from_to?;
    Some(Flow {
        from,
        to,
        app: *app,
        channels: channels?,
        transport: transport?,
        start,
        stop,
        category: common.category,
        dscp: common.dscp,
        drawn: None,
    })
}

/// Resolves the source and destination of a flow; without both keys the next pair of the list.
fn ends<'a>(
    table: &FlowTable,
    nodes: &Nodes<'_>,
    pairs: &mut impl Iterator<Item = &'a (NodeId, NodeId)>,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<(NodeId, NodeId)> {
    let Both(Keyed(common), _) = table;
    let (from, to) = match (&common.from, &common.to) {
        (None, None) => match pairs.next() {
            Some(pair) => return Some(*pair),
            None => {
                let count = nodes.pairs.len();
                let message = format!(
                    "from and to are missing; pairs that the layout names for the first flows: {count}"
                );
                faults.push(Fault::at_key(path, message));
                return None;
            }
        },
        (Some(_), None) => {
            faults.push(Fault::at_key(format!("{path}.to"), "is missing, required together with from"));
            return None;
        }
        (None, Some(_)) => {
            faults.push(Fault::at_key(format!("{path}.from"), "is missing, required together with to"));
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

/// The transport of a flow, which must suit the application: datagrams or a stream.
fn transport_of(
    transport: Option<&Transport>,
    app: &App,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<Transport> {
    let path = format!("{path}.transport");
    let datagrams = app.sends_datagrams();
    let takes_both = matches!(app, App::Messages);
    let Some(transport) = transport else {
        if datagrams {
            return Some(Transport { name: transport_name::UDP.to_owned(), protocol: Protocol::Udp });
        }
        faults.push(Fault::at_key(path, "is missing, allowed: a transport such as \"newreno\""));
        return None;
    };
    if !takes_both && matches!(transport.protocol, Protocol::Udp) != datagrams {
        let (found, app) = (&transport.name, app.name());
        let allowed = if datagrams { "\"udp\"" } else { "a reliable transport, such as \"newreno\"" };
        faults.push(Fault::at_key(path, format!("found {found:?} under app {app:?}, allowed: {allowed}")));
        return None;
    }
    Some(transport.clone())
}

fn record(record: &Record, duration: Duration, faults: &mut Faults<'_>) -> Record {
    let Record { every, what } = record;
    if *every > Duration::ZERO && duration.whole(*every) > MAX_ROWS {
        let found = every.as_secs_f64();
        let message =
            format!("found {found}, allowed: 0, or so long that a run records at most {MAX_ROWS} values");
        faults.push(Fault::at_key("record.every", message));
    }
    for (n, series) in what.iter().enumerate() {
        if what[..n].contains(series) {
            faults.push(Fault::at_key(format!("record.what.{n}"), "is listed twice"));
        }
    }
    if what.is_empty() {
        faults.push(Fault::at_key("record.what", "found an empty array, allowed: at least one series"));
    }
    record.clone()
}

fn sweep(table: &SweepTable, faults: &mut Faults<'_>) -> Sweep {
    let runs = table.axes.iter().try_fold(u64::from(table.seeds), |runs, axis| {
        runs.checked_mul(axis.points.len() as u64).filter(|runs| *runs <= MAX_RUNS)
    });
    if runs.is_none() {
        faults.push(Fault::at_key(
            "sweep",
            format!("found more than {MAX_RUNS} runs, allowed: at most {MAX_RUNS}"),
        ));
    }
    let mut known = std::collections::BTreeSet::new();
    for key in table.axes.iter().flat_map(|axis| &axis.keys).filter(|key| !known.insert(*key)) {
        faults.push(Fault::at_key("sweep", format!("found two axes of {key}, allowed: one")));
    }
    Sweep { seeds: table.seeds, axes: table.axes.clone() }
}

/// Largest number of names that a message lists.
const MANY: usize = 20;
const MAX_FLOWS: usize = 100_000;
const MAX_ROWS: u64 = 10_000_000;
const MAX_RUNS: u64 = 1_000_000;
