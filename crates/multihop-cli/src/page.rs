//! Pages that repeat the simulation of a run in a browser.

use std::fs::File;
use std::io::{BufReader, Read, Write};
#[cfg(feature = "view")]
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use multihop_scenario::{Extension, Extensions, Problems, Request, Scenario, files};
use multihop_sim::live::{self, identity, is_recording, read_head};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, Progress, RunError, run};
use serde_json::{Value, json};

use crate::interrupt::Interrupt;
use crate::progress::ProgressDisplay;
#[cfg(feature = "view")]
use crate::run_log::RunLog;
use crate::terminal::Verbosity;
use crate::{CommandError, input, output};

/// Page without a scenario; empty if the command was built without it.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/view.html"));
/// Placeholder in the page that the scenario replaces.
const PLACE: &str = "@REQUEST@";
/// Whether this build can write pages with the log of a run, for runs that the page cannot simulate.
const HAS_LOGS: bool = cfg!(feature = "view");
/// Name of the file in a folder of results that identifies the folder's run.
pub(crate) const RUN_FILE: &str = "run.json";

/// A run that can be simulated again.
pub(crate) struct Shown {
    pub(crate) request: Request,
    /// Recording of the packets that entered, if the run was an emulation.
    recording: Option<Vec<u8>>,
    /// Result of the run, if already known.
    result: Option<RunResult>,
}

impl Shown {
    /// The run that a name on the command line refers to: a folder of results, a recording, or a scenario.
    pub(crate) fn named(name: &Path, overrides: &[(String, String)]) -> Result<Self, CommandError> {
        if name.is_dir() {
            return Self::of_folder(name, overrides);
        }
        match recording(name)? {
            Some(recording) => Self::of_recording(name, recording, overrides),
            None => Ok(Self::of(Request::new(&input::source(name)?, overrides))),
        }
    }

    /// Page of a scenario that has not run yet.
    pub(crate) const fn of(request: Request) -> Self {
        Self { request, recording: None, result: None }
    }

    /// Page of a run whose result is known, for comparison.
    pub(crate) fn with_result(self, result: RunResult) -> Self {
        Self { result: Some(result.timeless()), ..self }
    }

    fn of_folder(folder: &Path, overrides: &[(String, String)]) -> Result<Self, CommandError> {
        let path = folder.join(RUN_FILE);
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Self::of_emulation(folder, overrides);
        };
        let damaged = |path: &Path| format!("{} is damaged", path.display());
        let mut request: Request = serde_json::from_str(&text).with_context(|| damaged(&path))?;
        if !overrides.is_empty() {
            request.overrides.extend_from_slice(overrides);
            return Ok(Self::of(request));
        }
        let path = folder.join("result.json");
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let result: RunResult = serde_json::from_str(&text).with_context(|| damaged(&path))?;
        Ok(Self::of(request).with_result(result))
    }

    /// Page of the only recording in a folder of `multihop emulate`.
    fn of_emulation(folder: &Path, overrides: &[(String, String)]) -> Result<Self, CommandError> {
        let mut found = recordings(folder)?;
        let message = match (found.pop(), &found[..]) {
            (Some((path, recording)), []) => return Self::of_recording(&path, recording, overrides),
            (Some((path, _)), _) => {
                let count = found.len() + 1;
                format!(
                    "{} has {count} recordings: give one of them, such as {}",
                    folder.display(),
                    path.display()
                )
            }
            (None, _) => {
                let place = folder.join("run.rec");
                format!(
                    "{} has no {RUN_FILE}, which multihop run --out writes, and no recording, which multihop emulate --record {} \
                     writes",
                    folder.display(),
                    place.display()
                )
            }
        };
        Err(CommandError::Usage(message))
    }

    fn of_recording(
        name: &Path,
        recording: Vec<u8>,
        overrides: &[(String, String)],
    ) -> Result<Self, CommandError> {
        if !overrides.is_empty() {
            let message = "a recording belongs to its scenario and seed: --set and --seed cannot change them";
            return Err(CommandError::Usage(message.to_owned()));
        }
        let head = read_head(&mut &recording[..]);
        let head = head.map_err(|problem| anyhow::anyhow!("{}: the recording {problem}", name.display()))?;
        Ok(Self { request: head.request, recording: Some(recording), result: None })
    }

    /// Loads the scenario that the page shows.
    pub(crate) fn scenario(&self, extensions: &Extensions) -> Result<Scenario, Problems> {
        let load = if self.recording.is_some() { Scenario::load_network } else { Scenario::load_with };
        load(&self.request.source(), &self.request.overrides, extensions)
    }

    /// Simulates the scenario, or replays its recording.
    pub(crate) fn simulate(
        &self,
        scenario: &Scenario,
        progress: Progress<'_>,
    ) -> Result<RunResult, CommandError> {
        let Some(recording) = &self.recording else {
            return run(scenario, Outputs::default(), progress).map_err(failed);
        };
        let identity = identity(&self.request.source(), &self.request.overrides, scenario)?;
        live::replay(scenario, &identity, &mut &recording[..], Outputs::default(), progress).map_err(failed)
    }

    /// Text of the page. The page compares its run with the result, which is simulated now if there is none.
    pub(crate) fn page(&self, extensions: &Extensions, verbosity: Verbosity) -> Result<String, CommandError> {
        if let Some(result) = &self.result {
            return self.page_of(result, extensions);
        }
        let scenario = self.scenario(extensions)?;
        self.check(&scenario)?;
        self.filled(&self.watched(&scenario, verbosity)?.timeless(), &scenario)
    }

    /// Text of the page with this result.
    pub(crate) fn page_of(
        &self,
        result: &RunResult,
        extensions: &Extensions,
    ) -> Result<String, CommandError> {
        let scenario = self.scenario(extensions)?;
        self.check(&scenario)?;
        self.filled(result, &scenario)
    }

    /// Simulates the run with a progress display.
    fn watched(&self, scenario: &Scenario, verbosity: Verbosity) -> Result<RunResult, CommandError> {
        let interrupt = Interrupt::catch()?;
        let mut progress = ProgressDisplay::of_run(scenario, verbosity);
        let result = self.simulate(scenario, &mut |share| {
            progress.show(share);
            interrupt.control()
        });
        drop(progress);
        result.map_err(|error| match error {
            CommandError::Other(error) => interrupt.explain(error, || ": no page is written".to_owned()),
            error => error,
        })
    }

    /// Refuses scenarios that a page cannot show.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), CommandError> {
        if !HAS_LOGS || self.is_recorded() {
            return self.check_simulated(scenario);
        }
        self.check_usual(scenario)
    }

    /// Refuses scenarios that a page cannot simulate.
    pub(crate) fn check_simulated(&self, scenario: &Scenario) -> Result<(), CommandError> {
        if let Some(extension) = unknown_to_pages(scenario) {
            let what =
                format!("{} uses the user-defined protocol {}", self.request.source().name(), extension.name);
            let how =
                if HAS_LOGS { "" } else { ": build this program with the feature view of multihop-cli" };
            return Err(CommandError::Usage(format!("{what}, which a page cannot simulate{how}")));
        }
        self.check_usual(scenario)
    }

    fn check_usual(&self, scenario: &Scenario) -> Result<(), CommandError> {
        let source = self.request.source();
        let refuse = |what: String| Err(CommandError::Usage(format!("{what}, which a page cannot simulate")));
        if let Some((key, path)) = files(&source, &self.request.overrides)?.first() {
            return refuse(format!("{}: {key} names a file, {}", source.name(), path.display()));
        }
        if scenario.flows.iter().any(|flow| flow.app.name() == "paced") {
            return refuse(format!("{} has a flow with app = \"paced\"", source.name()));
        }
        Ok(())
    }

    /// Text of the page with this run and its result.
    pub(crate) fn filled(&self, result: &RunResult, scenario: &Scenario) -> Result<String, CommandError> {
        Ok(filled(&json!({ "runs": [self.data(result, scenario)?] }))?)
    }

    /// The log of a run, for a page that cannot simulate it.
    pub(crate) fn data(&self, result: &RunResult, scenario: &Scenario) -> Result<Value, CommandError> {
        let recording = self.recording.as_ref().map(|bytes| BASE64_STANDARD.encode(bytes));
        let log = if unknown_to_pages(scenario).is_none() { Value::Null } else { log(scenario)? };
        Ok(json!({ "request": self.request, "recording": recording, "result": result, "log": log }))
    }

    /// Whether the page shows the replay of an emulation.
    pub(crate) const fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }
}

/// First protocol of a scenario that the page's simulator does not contain, so that the page cannot simulate the
/// scenario.
fn unknown_to_pages(scenario: &Scenario) -> Option<Extension> {
    multihop_routing_extra::extensions().first_missing(scenario)
}

/// The log of a run.
#[cfg(feature = "view")]
fn log(scenario: &Scenario) -> Result<Value, CommandError> {
    let interrupt = Interrupt::catch()?;
    let log = RunLog::of(scenario, |_| match interrupt.control() {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(RunError::Cancelled.into()),
    });
    let log = log.map_err(|error| interrupt.explain(error, || ": no page is written".to_owned()))?;
    Ok(serde_json::to_value(log).map_err(anyhow::Error::from)?)
}

#[cfg(not(feature = "view"))]
fn log(_: &Scenario) -> Result<Value, CommandError> {
    unreachable!("a page without logs is checked")
}

/// Text of the page with its data.
pub(crate) fn filled(shown: &Value) -> anyhow::Result<String> {
    let Some((before, after)) = PAGE.split_once(PLACE) else {
        let how = "make build includes it where Node 20 and rustup are installed";
        anyhow::bail!("this command was built without the page of multihop view; {how}");
    };
    // `</script>` in the data would end the element.
    let shown = shown.to_string().replace('<', "\\u003c");
    Ok([before, &shown, after].concat())
}

/// Writes a page, into a new folder if need be.
pub(crate) fn write(page: &str, path: &Path) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        output::folder(parent)?;
    }
    let (mut out, file) = output::file(path)?;
    let written = out.write_all(page.as_bytes()).and_then(|()| out.flush());
    written.with_context(|| format!("cannot write {}", path.display()))?;
    drop(out);
    file.keep()
}

/// Default path of the page: that of the scenario or recording with another suffix, or a name in a folder.
pub(crate) fn beside(name: &Path) -> PathBuf {
    if name == Path::new("-") {
        PathBuf::from("view.html")
    } else if name.is_dir() {
        name.join("view.html")
    } else {
        name.with_extension("html")
    }
}

/// Recordings in a folder, as paths and contents.
fn recordings(folder: &Path) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    Ok(paths.into_iter().filter_map(|path| Some((path.clone(), recording(&path).ok()??))).collect())
}

/// The contents of a file; `None` if it is no recording.
fn recording(name: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    // A pipe can be read only once.
    if !name.is_file() {
        return Ok(None);
    }
    let cannot = || format!("cannot read {}", name.display());
    let mut file = BufReader::new(File::open(name).with_context(cannot)?);
    let mut bytes = Vec::new();
    (&mut file).take(64).read_to_end(&mut bytes).with_context(cannot)?;
    if !is_recording(&bytes) {
        return Ok(None);
    }
    file.read_to_end(&mut bytes).with_context(cannot)?;
    Ok(Some(bytes))
}

fn failed(error: RunError) -> CommandError {
    CommandError::Other(error.into())
}
