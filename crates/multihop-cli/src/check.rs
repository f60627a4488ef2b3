//! Implements `multihop check`, which reads scenarios and reports their problems.

use std::fmt::Write as _;
use std::path::Path;

use multihop_core::Interface;
use multihop_scenario::{Contents, Extensions, Scenario, Source};
use multihop_sim::budget::budget;

#[cfg(not(feature = "network"))]
use crate::PART;
use crate::args::CheckArgs;
use crate::terminal::{Verbosity, note};
use crate::{CommandError, diagnostics, input, output, table, terminal};

/// Checks scenarios with every combination of their sweeps, networks of emulations, and configurations of routing daemons.
pub(crate) fn check(
    args: &CheckArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let mut checked = Ok(());
    let overrides = args.changes.overrides();
    for file in &args.files {
        match check_one(file, &overrides, extensions) {
            Ok(_) if verbosity.quiet => {}
            Ok(found) => {
                let contents = match verbosity.verbose {
                    0 => String::new(),
                    _ => format!(": {}", found.contents),
                };
                output::line(format_args!("{}: no problems{contents}", file.display()))?;
                if let Some(scenario) = &found.scenario {
                    for line in budget(scenario) {
                        output::line(format_args!("{}: {line}", file.display()))?;
                    }
                }
                if let Some(table) = found.scenario.as_ref().filter(|_| args.links).map(links_of) {
                    output::line(format_args!("{}", table?))?;
                }
                found.notes.iter().for_each(|text| note(format_args!("{}: note: {text}", file.display())));
            }
            Err(error) => {
                match error {
                    CommandError::Input(problems) => diagnostics::print(&problems),
                    CommandError::Usage(problem) => note(format_args!("{}: {problem}", file.display())),
                    CommandError::Other(error) => note(format_args!("{}: {error:#}", file.display())),
                    other => return Err(other),
                }
                checked = Err(CommandError::Reported);
            }
        }
    }
    checked
}

/// Report on a file without problems.
struct Found {
    /// Summary of the contents of the file.
    contents: String,
    /// Notes on settings that are allowed but probably unintended.
    notes: Vec<String>,
    /// The scenario, if the file is one.
    scenario: Option<Scenario>,
}

/// The tables of the links of a scenario, one for each radio.
fn links_of(scenario: &Scenario) -> Result<String, CommandError> {
    let mut tables = String::new();
    for radio in (0..).map(Interface).take(scenario.radios.len()) {
        let found = multihop_sim::links::links(scenario, radio).ok_or_else(|| {
            let most = multihop_sim::links::MAX_STATIONS;
            CommandError::Usage(format!("--links prints the links of at most {most} nodes"))
        })?;
        if scenario.has_several_radios() {
            let before = if radio.0 > 0 { "\n\n" } else { "" };
            _ = writeln!(tables, "{before}radio {}", radio.0);
        }
        tables += &table::links(&found, terminal::width_of_output());
    }
    Ok(tables)
}

fn check_one(
    file: &Path,
    overrides: &[(String, String)],
    extensions: &Extensions,
) -> Result<Found, CommandError> {
    let source = input::source(file)?;
    let contents = match source.contents() {
        #[cfg(feature = "network")]
        Contents::Router => crate::net::check_route(&source, overrides, extensions)?,
        #[cfg(not(feature = "network"))]
        Contents::Router => {
            return Err(CommandError::Usage(format!("no configuration of multihop route {PART}")));
        }
        Contents::Network => {
            let network = Scenario::load_network(&source, overrides, extensions)?;
            format!(
                "{}; has no traffic of its own: multihop emulate FILE -- COMMAND runs a program over it",
                contents(&network)
            )
        }
        Contents::Scenario => return scenario(&source, overrides, extensions),
    };
    Ok(Found { contents, notes: Vec::new(), scenario: None })
}

fn scenario(
    source: &Source,
    overrides: &[(String, String)],
    extensions: &Extensions,
) -> Result<Found, CommandError> {
    let scenario = Scenario::load_with(source, overrides, extensions)?;
    let mut contents = contents(&scenario);
    if scenario.sweep.is_some() {
        let plan = multihop_sim::sweep::Plan::new_with(source, overrides, extensions)?;
        contents += &format!(", {}", counted(plan.runs(), "run"));
    }
    Ok(Found { contents, notes: multihop_sim::notes(&scenario), scenario: Some(scenario) })
}

/// Size of a scenario as text: numbers of nodes and flows, and the duration.
pub(crate) fn contents(scenario: &Scenario) -> String {
    let nodes = counted(scenario.topology.nodes(), "node");
    format!("{nodes}, {}, {} s", counted(scenario.flows.len(), "flow"), scenario.duration.as_secs_f64())
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
