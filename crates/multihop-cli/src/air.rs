//! Implements `multihop air`, the medium of the kernel's Wi-Fi stack.

use multihop_air::{AirResult, AirRun, Options, Quantiles, air as run};
use multihop_scenario::{Extensions, Scenario};

use crate::network::AirArgs;
use crate::terminal::Verbosity;
use crate::{CommandError, input, output};

/// Runs a scenario as the medium of the kernel's Wi-Fi stack.
pub(crate) fn air(args: &AirArgs, verbosity: Verbosity, extensions: &Extensions) -> Result<(), CommandError> {
    let source = input::source(&args.file)?;
    let scenario = Scenario::load_network(&source, &args.changes.overrides(), extensions)?;
    let options = Options { command: args.command.clone(), late_limit: args.late_limit };
    let result = run(&scenario, options).map_err(|error| CommandError::Other(error.into()))?;
    if args.json {
        output::json(&result, false)?;
    } else if !verbosity.quiet {
        output::line(format_args!("{}", summary(&result)))?;
    }
    if !result.air.valid {
        let message =
            "the result is invalid: more than 1% of the events or frames were later than --late-limit";
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
    let late = |late: &Option<Quantiles>| match late {
        Some(late) => {
            format!("median {:.2} ms, 99% quantile {:.2} ms, maximum {:.2} ms", late.p50, late.p99, late.max)
        }
        None => "none".to_owned(),
    };
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
