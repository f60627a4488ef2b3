//! Checks the table `[traffic]`: transfers between nodes drawn at random.

use multihop_core::{Duration, FlowId, NodeId, Rng};
use multihop_radio::frame::Category;

use super::{MAX_FLOWS, transport_of};
use crate::application::App;
use crate::document::Fault;
use crate::draw::pareto;
use crate::faults::Faults;
use crate::model::{Drawn, Flow};
use crate::read::Both;
use crate::read::settings::Keyed;
use crate::tables::{Bytes, ParetoBytes, TrafficTable};

/// Draws as many transfers as can begin before the end, round by round. `before` contains the earlier flows.
/// Endpoints and sizes depend on the seed alone, not on the progress of the transfers.
pub(super) fn draw(
    table: &TrafficTable,
    nodes: usize,
    seed: u64,
    duration: Duration,
    before: usize,
    faults: &mut Faults<'_>,
) -> Option<Vec<Flow>> {
    let Both(Keyed(table), travel) = table;
    let transport = transport_of(Some(&travel.transport), &App::File { bytes: 1 }, "traffic", faults);
    let first = Duration::from_secs_f64(table.first);
    let [least, most] = table.gap;
    if first >= duration {
        let message = format!("found {}, allowed: less than duration, {duration}", table.first);
        faults.push(Fault::at_key("traffic.first", message));
        return None;
    }
    if most < least {
        let message = format!("found [{least}, {most}], allowed: [shortest, longest]");
        faults.push(Fault::at_key("traffic.gap", message));
    }
    if nodes < 2 {
        faults
            .push(Fault::at_key("traffic", "found one node, allowed: at least two, the ends of a transfer"));
        return None;
    }
    let (count, pause) = (table.count, table.restart);
    let rounds = usize::try_from((duration - first).whole(pause)).unwrap_or(usize::MAX).saturating_add(1);
    if rounds.saturating_mul(count).saturating_add(before) > MAX_FLOWS {
        let message = format!(
            "found {}, which makes more than {MAX_FLOWS} transfers before the end of the run, allowed: at most \
             {MAX_FLOWS} transfers",
            pause.as_secs_f64()
        );
        faults.push(Fault::at_key("traffic.restart", message));
        return None;
    }
    let transport = transport?;
    let mut rng = Rng::stream(seed, "transfers", 0);
    let mut start = first;
    let mut flows = Vec::with_capacity(rounds * count);
    for round in 0..rounds {
        for _ in 0..count {
            let (from, to) = pair(&mut rng, nodes);
            let next = before + flows.len() + count;
            let next = u32::try_from(next).ok().filter(|_| round + 1 < rounds);
            flows.push(Flow {
                from,
                to,
                app: App::File { bytes: size(&mut rng, &table.bytes) },
                channels: Vec::new(),
                transport: transport.clone(),
                start,
                stop: None,
                category: Category::BestEffort,
                dscp: false,
                drawn: Some(Drawn { first: round == 0, next: next.map(|next| (FlowId(next), pause)) }),
            });
            if round == 0 {
                start += Duration::from_secs_f64(rng.range(least, most.max(least)));
            }
        }
    }
    Some(flows)
}

/// Draws two different nodes, every ordered pair with equal probability.
fn pair(rng: &mut Rng, nodes: usize) -> (NodeId, NodeId) {
    let nodes = u32::try_from(nodes).expect("a checked number of nodes");
    let (from, other) = (rng.below(nodes), rng.below(nodes - 1));
    (NodeId(from), NodeId(if other < from { other } else { other + 1 }))
}

fn size(rng: &mut Rng, bytes: &Bytes) -> u64 {
    match *bytes {
        Bytes::Fixed(bytes) => bytes,
        Bytes::Pareto(ParetoBytes { mean, shape }) => pareto(rng, mean, shape),
    }
}
