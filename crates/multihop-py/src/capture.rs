//! Filters of capture files.

use multihop_core::{Duration, Instant};
use multihop_scenario::Scenario;
use multihop_sim::CaptureFilter;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

/// Nodes by number or name, first and last second of the capture, and bytes that are kept of each packet.
pub(crate) type Filter = (Vec<String>, Option<f64>, Option<f64>, Option<u32>);

/// The filter that the arguments of Python's `run` describe.
pub(crate) fn checked((nodes, from, until, length): Filter, scenario: &Scenario) -> PyResult<CaptureFilter> {
    let problem = |name: &str, text: String| PyValueError::new_err(format!("{name}: {text}"));
    let nodes = CaptureFilter::find_nodes(scenario, &nodes).map_err(|text| problem("pcap_nodes", text))?;
    let from = from.unwrap_or(0.0);
    if !(from.is_finite() && from >= 0.0) {
        return Err(problem("pcap_from", format!("found {from}, allowed: a number from 0")));
    }
    if let Some(until) = until.filter(|until| !(until.is_finite() && *until > from)) {
        let text = format!("found {until}, allowed: a number above pcap_from, {from}");
        return Err(problem("pcap_until", text));
    }
    if let Some(length) = length.filter(|length| *length < CaptureFilter::MIN_LENGTH) {
        let least = CaptureFilter::MIN_LENGTH;
        return Err(problem("pcap_length", format!("found {length}, allowed: a whole number from {least}")));
    }
    let at = |seconds: f64| Instant::ZERO + Duration::from_secs_f64(seconds);
    Ok(CaptureFilter { nodes, from: at(from), until: until.map(at), length })
}
