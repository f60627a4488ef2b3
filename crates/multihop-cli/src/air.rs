//! Implements `multihop air`, the medium of the kernel's Wi-Fi stack.

use anyhow::Context;
use multihop_air::{AirResult, AirRun, Options, Quantiles, Wmediumd, WmediumdError, air as run};
use multihop_scenario::{Extensions, Scenario};

use crate::network::AirArgs;
use crate::terminal::Verbosity;
use crate::{CommandError, input, output};

/// Runs a scenario as the medium of the kernel's Wi-Fi stack.
pub(crate) fn air(args: &AirArgs, verbosity: Verbosity, extensions: &Extensions) -> Result<(), CommandError> {
    let overrides = args.changes.overrides();
    let (scenario, addresses) = match args.file.extension() {
        Some(extension) if extension == "cfg" => {
            let text = std::fs::read_to_string(&args.file)
                .with_context(|| format!("cannot read {}", args.file.display()))?;
            let network = Wmediumd::read(&text, &args.file.to_string_lossy());
            let network = network.map_err(|error| CommandError::Usage(error.to_string()))?;
            let scenario = network.scenario(&overrides, extensions);
            let scenario = scenario.map_err(|error| match error {
                WmediumdError::Scenario(problems) => CommandError::Input(problems),
                other => CommandError::Usage(other.to_string()),
            })?;
            (scenario, network.addresses)
        }
        _ => (Scenario::load_network(&input::source(&args.file)?, &overrides, extensions)?, Vec::new()),
    };
    let options = Options {
        command: args.command.clone(),
        late_limit: args.late_limit,
        no_contention: args.no_contention,
        addresses,
    };
    let result = run(&scenario, options).map_err(|error| CommandError::Other(error.into()))?;
    if args.json {
        output::json(&result, false)?;
    } else if !verbosity.quiet {
        output::line(format_args!("{}", summary(&result)))?;
    }
    if !result.air.valid {
        let message = "the result is invalid: more than 1% of the events or frames were later than --late-limit, or more \
                       than 1% of the time was lost";
        return Err(anyhow::anyhow!(message).into());
    }
    match result.air.exit_code {
        Some(code) if code != 0 => Err(anyhow::anyhow!("the command ended with exit code {code}").into()),
        _ => Ok(()),
    }
}

/// Text about a run for the user: frames and lateness.
fn summary(AirRun { run, air }: &AirRun) -> String {
    let AirResult { transmitted, received, acknowledged, retries, strays, refused, .. } = air;
    let late = |late: &Option<Quantiles>| late.map_or("none".to_owned(), |late| late.to_string());
    [
        format!(
            "{}, seed {}: {transmitted} frames transmitted, {acknowledged} acknowledged, {retries} retries, \
             {received} received",
            run.scenario, run.seed
        ),
        format!("{strays} frames to unknown addresses, {refused} frames refused by the kernel"),
        format!("lateness: events {}", late(&air.wakeups_late_ms)),
        format!("          frames {}", late(&air.deliveries_late_ms)),
        format!("time lost by late events: {:.2}%", 1e2 * air.lost_share),
    ]
    .join("\n")
}
