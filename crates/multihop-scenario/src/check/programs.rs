//! Checks the tables `[[program]]`.

use multihop_core::Duration;

use super::Nodes;
use crate::document::Fault;
use crate::faults::Faults;
use crate::model::Program;
use crate::read::settings::Keyed;
use crate::tables::ProgramTable;

/// Checks the tables `[[program]]`; `nodes` are nodes and hosts, `duration` is that of the run in seconds.
pub(super) fn programs(
    tables: &[Keyed<ProgramTable>],
    nodes: &Nodes<'_>,
    duration: f64,
    faults: &mut Faults<'_>,
) -> Option<Vec<Program>> {
    let checked: Vec<_> = tables
        .iter()
        .enumerate()
        .map(|(n, Keyed(table))| program(table, nodes, duration, &format!("program.{n}"), faults))
        .collect();
    checked.into_iter().collect()
}

fn program(
    table: &ProgramTable,
    nodes: &Nodes<'_>,
    duration: f64,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<Program> {
    if table.start >= duration {
        let message = format!("found {}, allowed: less than duration, {duration}", table.start);
        faults.push(Fault::at_key(format!("{path}.start"), message));
    }
    if let Some(stop) = table.stop.filter(|stop| *stop <= table.start) {
        let message = format!("found {stop}, allowed: more than start, {}", table.start);
        faults.push(Fault::at_key(format!("{path}.stop"), message));
    }
    let variable = |(n, text): (usize, &String)| {
        let parts = text.split_once('=').filter(|(name, _)| !name.is_empty() && !text.contains('\0'));
        if parts.is_none() {
            let message = format!("found {:?}, allowed: NAME=value", crate::document::shorten(text));
            faults.push(Fault::at_key(format!("{path}.environment.{n}"), message));
        }
        parts.map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let environment: Vec<_> = table.environment.iter().enumerate().map(variable).collect();
    if table.command.contains('\0') {
        faults.push(Fault::at_key(format!("{path}.command"), "has a zero byte"));
    }
    Some(Program {
        node: nodes.find(&table.node, &format!("{path}.node"), faults)?,
        command: table.command.clone(),
        start: Duration::from_secs_f64(table.start),
        stop: table.stop.map(Duration::from_secs_f64),
        environment: environment.into_iter().collect::<Option<_>>()?,
    })
}
