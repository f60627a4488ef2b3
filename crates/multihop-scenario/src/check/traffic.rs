//! `[traffic]`: transfers between nodes drawn at random.

use multihop_core::{Duration, FlowId, NodeId, Rng};

use super::{MOST_FLOWS, transport_of};
use crate::document::Fault;
use crate::draw::pareto;
use crate::faults::Faults;
use crate::model::{App, Drawn, Flow};
use crate::tables::{BytesValue, DrawnApp, TrafficTable};

/// As many transfers as can begin before the end, round by round; `before` flows come first.
///
/// Endpoints and sizes depend on the seed alone, not on the progress of the transfers.
pub(super) fn draw(
    table: &TrafficTable,
    nodes: usize,
    seed: u64,
    duration: Duration,
    before: usize,
    faults: &mut Faults<'_>,
) -> Option<Vec<Flow>> {
    let transport = transport_of(Some(&table.transport), &App::File { bytes: 1 }, "traffic", faults);
    let DrawnApp(()) = table.app;
    let first = table.first.duration();
    let [least, most] = table.gap.map(|gap| gap.0);
    if first >= duration {
        let message = format!("found {}, allowed: less than duration, {duration}", table.first.0);
        faults.push(Fault::at_key("traffic.first", message));
        return None;
    }
    if most < least {
        let message = format!("found {most} after {least}, allowed: the larger one last");
        faults.push(Fault::at_key("traffic.gap", message));
    }
    if nodes < 2 {
        faults.push(Fault::at_key("traffic", "a transfer needs two nodes"));
        return None;
    }
    let (count, pause) = (usize::from(table.count.to::<u16>()), table.restart.duration());
    let rounds = usize::try_from((duration - first).whole(pause)).unwrap_or(usize::MAX).saturating_add(1);
    if rounds.saturating_mul(count).saturating_add(before) > MOST_FLOWS {
        let message = format!("there may be more than {MOST_FLOWS} transfers before the end");
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
                transport: transport.clone(),
                start,
                stop: None,
                drawn: Some(Drawn { first: round == 0, next: next.map(|next| (FlowId(next), pause)) }),
            });
            if round == 0 {
                start += Duration::from_secs_f64(rng.range(least, most.max(least)));
            }
        }
    }
    Some(flows)
}

/// Two nodes that differ.
fn pair(rng: &mut Rng, nodes: usize) -> (NodeId, NodeId) {
    let nodes = u32::try_from(nodes).expect("a checked number of nodes");
    let (from, other) = (rng.below(nodes), rng.below(nodes - 1));
    (NodeId(from), NodeId(if other < from { other } else { other + 1 }))
}

fn size(rng: &mut Rng, bytes: &BytesValue) -> u64 {
    match bytes {
        BytesValue::Fixed(bytes) => bytes.0,
        BytesValue::Drawn(sizes) => pareto(rng, sizes.pareto.mean.0, sizes.pareto.shape.0),
    }
}
