//! Checks the tables `[energy]` and `[[sleep]]`.

use multihop_core::{Duration, Instant};
use multihop_radio::energy::{Battery, Energy};

use super::Nodes;
use crate::document::Fault;
use crate::faults::Faults;
use crate::model::Sleep;
use crate::read::settings::Keyed;
use crate::tables::SleepTable;

/// The powers and batteries of `nodes` nodes.
pub(super) fn energy(energy: &Energy, nodes: usize, faults: &mut Faults<'_>) -> Energy {
    if let Battery::Each(each) = &energy.battery
        && each.len() != nodes
    {
        let message = format!("found {} values, allowed: {nodes}, one for each node", each.len());
        faults.push(Fault::at_key("energy.battery", message));
    }
    energy.clone()
}

/// Checks the times at which radios are asleep.
pub(super) fn sleeps(
    tables: &[Keyed<SleepTable>],
    nodes: &Nodes<'_>,
    faults: &mut Faults<'_>,
) -> Option<Vec<Sleep>> {
    let sleep = |(number, Keyed(table)): (usize, &Keyed<SleepTable>)| {
        let path = format!("sleep.{number}");
        if let Some(until) = table.until.filter(|until| *until <= table.from) {
            let message = format!("found {until}, allowed: more than from, {}", table.from);
            faults.push(Fault::at_key(format!("{path}.until"), message));
        }
        let at = |seconds| Instant::ZERO + Duration::from_secs_f64(seconds);
        let node = nodes.find(&table.node, &format!("{path}.node"), faults)?;
        Some(Sleep { node, from: at(table.from), until: table.until.map(at) })
    };
    let sleeps: Vec<_> = tables.iter().enumerate().map(sleep).collect();
    sleeps.into_iter().collect()
}
