//! `multihop view`: a page that simulates a scenario again, in a browser.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use multihop_scenario::{Extensions, Scenario, Source, files};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run};
use serde_json::json;

use crate::args::ViewArgs;
use crate::interrupt::Interrupt;
use crate::progress::ProgressDisplay;
use crate::terminal::Verbosity;
use crate::{CommandError, input, output};

/// The page without a scenario; empty if the command was built without it.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/view.html"));
/// Where the scenario belongs.
const PLACE: &str = "@REQUEST@";

/// Writes the page of a scenario.
pub(crate) fn view(
    args: &ViewArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let source = input::source(&args.file)?;
    let overrides = args.overrides();
    let scenario = Scenario::load_with(&source, &overrides, extensions)?;
    check(&source, &overrides, &scenario)?;
    let Some((before, after)) = PAGE.split_once(PLACE) else {
        let how = "make build includes it where Node 20 and rustup are installed";
        return Err(anyhow::anyhow!("this command was built without the page of multihop view; {how}").into());
    };
    let request = request(&source, &overrides, &result(&scenario, verbosity)?)?;
    let path = args.out.clone().unwrap_or_else(|| beside(&args.file));
    let (mut out, file) = output::file(&path)?;
    let written = [before, &request, after].iter().try_for_each(|part| out.write_all(part.as_bytes()));
    written.and_then(|()| out.flush()).with_context(|| format!("cannot write {}", path.display()))?;
    drop(out);
    file.keep()?;
    Ok(output::line(format_args!("{}: open it in a browser", path.display()))?)
}

/// The page's name if none is given: that of the scenario, with another suffix.
fn beside(scenario: &Path) -> PathBuf {
    if scenario == Path::new("-") { PathBuf::from("view.html") } else { scenario.with_extension("html") }
}

/// The result to which the page compares its own.
fn result(scenario: &Scenario, verbosity: Verbosity) -> Result<RunResult, CommandError> {
    let interrupt = Interrupt::catch()?;
    let mut progress = ProgressDisplay::new(&scenario.name, verbosity);
    let result = run(scenario, Outputs::default(), &mut |share| {
        progress.show(share);
        interrupt.control()
    });
    drop(progress);
    let result =
        result.map_err(|error| interrupt.explain(error.into(), || ": no page is written".to_owned()))?;
    Ok(result.timeless())
}

/// Refuses what a page cannot simulate.
fn check(source: &Source, overrides: &[(String, String)], scenario: &Scenario) -> Result<(), CommandError> {
    let refuse = |what: String| Err(CommandError::Usage(format!("{what}, which a page cannot simulate")));
    if let Some((key, path)) = files(source, overrides)?.first() {
        return refuse(format!("{}: {key} names a file, {}", source.name(), path.display()));
    }
    if let Some(extension) = scenario.extensions().first() {
        return refuse(format!("{} uses the user-defined protocol {}", source.name(), extension.name));
    }
    if scenario.flows.iter().any(|flow| flow.app.name() == "paced") {
        return refuse(format!("{} has a flow with app = \"paced\"", source.name()));
    }
    Ok(())
}

/// The scenario and its result, for the page's script element.
fn request(source: &Source, overrides: &[(String, String)], result: &RunResult) -> anyhow::Result<String> {
    let (text, name, is_json) = match source {
        Source::Toml { text, name } => (text, name, false),
        Source::Json { text, name } => (text, name, true),
    };
    let request = json!({ "text": text, "name": name, "json": is_json, "overrides": overrides });
    let page = json!({ "request": request, "result": result });
    let text = serde_json::to_string(&page).context("cannot write the scenario as JSON")?;
    // `</script>` would end the element.
    Ok(text.replace('<', "\\u003c"))
}
