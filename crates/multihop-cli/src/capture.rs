//! Filters of capture files.

use multihop_core::Instant;
use multihop_scenario::Scenario;
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
    let nodes = CaptureFilter::find_nodes(scenario, pcap_node);
    let nodes = nodes.map_err(|problem| CommandError::Usage(format!("--pcap-node: {problem}")))?;
    Ok(CaptureFilter { nodes, from, until, length: *pcap_length })
}
