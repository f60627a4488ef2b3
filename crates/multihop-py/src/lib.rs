//! The extension module `multihop._core`: conversions, and the command `multihop` for the launcher of the wheel.

mod capture;
#[cfg(target_os = "linux")]
mod command;
mod congestion;
mod interrupt;
#[cfg(all(unix, feature = "network"))]
mod messages;
#[cfg(all(unix, feature = "network"))]
mod net;
mod request;
mod runs;
mod simulation;
mod statistics;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

create_exception!(
    multihop,
    ScenarioError,
    PyValueError,
    "An invalid scenario; the message lists every problem."
);
create_exception!(multihop, RunError, PyRuntimeError, "A run that failed.");

/// Python module `multihop._core`, the compiled part of the package.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use std::fs::File;
    use std::io::{BufWriter, Write};
    use std::ops::ControlFlow;
    use std::path::{Path, PathBuf};

    use multihop_sim::Outputs;
    use pyo3::prelude::*;

    use super::capture::{Filter, checked};
    use super::congestion::{go_on, raised};
    use super::interrupt::Watch;
    use super::request::Request;

    #[pymodule_export]
    use super::congestion::{Ack, Base, PyWindow, RateSample};
    #[pymodule_export]
    use super::interrupt::Flag;
    #[cfg(all(unix, feature = "network"))]
    #[pymodule_export]
    use super::messages::{
        MessageChannel, MessageConnection, MessageListener, messages_connect, messages_listen,
    };
    #[cfg(all(unix, feature = "network"))]
    #[pymodule_export]
    use super::net::{ConnectionHandle, Listener, Opening, tpa_connect, tpa_listen, tpa_token};
    #[pymodule_export]
    use super::runs::{
        Batch, Journal, Shard, files, key, missing_series, notes, perform, plan, sweep_lines, sweep_request,
    };
    #[pymodule_export]
    use super::simulation::Simulation;
    #[pymodule_export]
    use super::statistics::{batch_means, interval, student_t};
    #[pymodule_export]
    use super::{RunError, ScenarioError};

    /// Runs a scenario; the result is the JSON document of `multihop run --json`.
    #[pyfunction]
    #[pyo3(signature = (
        request, trace_path=None, pcap_path=None, pcap_filter=None, record_path=None, cancelled=None
    ))]
    #[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
    fn run(
        py: Python<'_>,
        request: Request,
        trace_path: Option<PathBuf>,
        pcap_path: Option<PathBuf>,
        pcap_filter: Option<Filter>,
        record_path: Option<PathBuf>,
        cancelled: Option<PyRef<'_, Flag>>,
    ) -> PyResult<String> {
        let mut watch = Watch::new(cancelled.map_or_else(Flag::default, |flag| flag.clone()));
        py.detach(|| {
            let scenario = request.load()?;
            let record_path = record_path.filter(|_| scenario.record.is_some());
            let pcap_filter = pcap_filter.map(|filter| checked(filter, &scenario)).transpose()?;
            let outputs = Outputs {
                trace: trace_path.as_deref().map(create).transpose()?,
                pcap: pcap_path.as_deref().map(create).transpose()?,
                pcap_filter: pcap_filter.unwrap_or_default(),
                record: record_path.as_deref().map(create).transpose()?,
                ..Outputs::default()
            };
            let result = multihop_sim::run(&scenario, outputs, &mut |_| {
                if go_on().is_break() { ControlFlow::Break(()) } else { watch.check() }
            });
            if let Some(raised) = raised().or_else(|| watch.raised()) {
                return Err(raised);
            }
            let result = result.map_err(|error| RunError::new_err(error.to_string()))?;
            Ok(serde_json::to_string(&result).expect("every key of a result is a string"))
        })
    }

    /// Raises ScenarioError if the scenario is invalid.
    #[pyfunction]
    #[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
    fn check(request: Request) -> PyResult<()> {
        request.load().map(drop)
    }

    /// The JSON Schema of scenario files, as text.
    #[pyfunction]
    fn schema() -> String {
        multihop_scenario::schema_with(&multihop_routing_extra::extensions()).to_string()
    }

    /// Text of the packaged scenario of this name.
    #[pyfunction]
    fn example(name: &str) -> Option<&'static str> {
        multihop_scenario::Example::find(name).map(|example| example.text)
    }

    /// `release` or `debug`, so that benchmarks can refuse a debug build.
    #[pyfunction]
    const fn build_profile() -> &'static str {
        if cfg!(debug_assertions) { "debug" } else { "release" }
    }

    /// Version and hash of the sources of the simulator: two builds with the same value give the same results.
    #[pyfunction]
    const fn build() -> &'static str {
        multihop_sim::BUILD
    }

    /// Version of the module and everything in it.
    #[pyfunction]
    const fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn create(path: &Path) -> PyResult<Box<dyn Write + Send>> {
        match File::create(path) {
            Ok(file) => Ok(Box::new(BufWriter::new(file))),
            Err(error) => Err(RunError::new_err(format!("cannot write {}: {error}", path.display()))),
        }
    }
}
