//! Filters of capture files.

use multihop_core::{Instant, NodeId};
use multihop_scenario::{Scenario, find_station};
use multihop_sim::CaptureFilter;

use crate::CommandError;
use crate::args::CaptureArgs;

/// The filter that the arguments describe.
pub(crate) fn filter(args: &CaptureArgs, scenario: &Scenario) -> Result<CaptureFilter, CommandError> {
    let CaptureArgs { pcap_node, pcap_from, pcap_until, pcap_length } = args;
    let from = Instant::ZERO + pcap_from.unwrap_or_default();
    let until = pcap_until.map(|until| Instant::ZERO + until);
    if let Some(until) = until.filter(|until| *until <= from) {
        let (found, least) = (until.as_secs_f64(), from.as_secs_f64());
        let message =
            format!("--pcap-until: found {found}, allowed: a number above that of --pcap-from, {least}");
        return Err(CommandError::Usage(message));
    }
    Ok(CaptureFilter { nodes: nodes(pcap_node, scenario)?, from, until, length: *pcap_length })
}

/// The nodes with these numbers or names.
fn nodes(wanted: &[String], scenario: &Scenario) -> Result<Vec<NodeId>, CommandError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let layout = scenario.topology.place(scenario.seed).map_err(anyhow::Error::from)?;
    let names: Vec<_> = (0..layout.positions.len()).map(|n| layout.interface_name(n)).collect();
    let find = |text: &String| {
        let number = find_station(&names, text);
        let number = number.map_err(|problem| CommandError::Usage(format!("--pcap-node: {problem}")))?;
        Ok(NodeId(u32::try_from(number).expect("a checked number of nodes")))
    };
    wanted.iter().map(find).collect()
}
