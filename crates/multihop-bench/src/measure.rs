//! One run of one case: here, in a child of its own, or under callgrind.

use std::fs;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};
use multihop_sim::{Outputs, run};
use serde::{Deserialize, Serialize};

use crate::cases::Case;
use crate::cpu;

/// What one run took.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Sample {
    pub(crate) sim_seconds: f64,
    pub(crate) wall_seconds: f64,
    /// Time that the processor spent on it, whatever else the machine did; only Linux tells.
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) events: u64,
    pub(crate) frames: u64,
    /// Largest resident set of the process; only Linux tells.
    pub(crate) peak_bytes: Option<u64>,
}

impl Sample {
    /// Runs the case in this process.
    pub(crate) fn take(case: &Case, seconds: f64) -> anyhow::Result<Self> {
        let scenario = case.scenario(seconds)?;
        let before = cpu::seconds();
        let result = run(&scenario, Outputs::default(), &mut |_| {})?;
        let after = cpu::seconds();
        Ok(Self {
            sim_seconds: result.sim_seconds,
            wall_seconds: result.wall_seconds.context("a run says how long it took")?,
            cpu_seconds: after.zip(before).map(|(after, before)| after - before),
            events: result.events,
            frames: result.mac.frames.values().sum(),
            peak_bytes: peak_bytes(),
        })
    }

    /// Runs the case in a process of its own, so that the peak of its memory is its own.
    pub(crate) fn in_a_child(case: &Case, seconds: f64) -> anyhow::Result<Self> {
        let this = std::env::current_exe()?;
        Self::read(&output(Command::new(this).args(arguments(case, seconds)))?)
    }

    fn read(output: &Output) -> anyhow::Result<Self> {
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// Instructions, counted by valgrind.
pub(crate) struct Counter(());

/// What traffic costs, without what comes before it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    pub(crate) per_event: f64,
    pub(crate) per_frame: f64,
}

impl Counter {
    /// If valgrind is installed.
    pub(crate) fn find() -> Option<Self> {
        let status = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
        status.is_ok_and(|status| status.success()).then_some(Self(()))
    }

    /// Two runs of different length: set-up is in both and cancels.
    pub(crate) fn count(&self, case: &Case) -> anyhow::Result<Cost> {
        let (short, before) = self.run(case, case.counted[0])?;
        let (long, after) = self.run(case, case.counted[1])?;
        if long.frames <= short.frames {
            bail!("{}: no frame was sent after {} s", case.name, short.sim_seconds);
        }
        let instructions = (after - before) as f64;
        Ok(Cost {
            per_event: instructions / (long.events - short.events) as f64,
            per_frame: instructions / (long.frames - short.frames) as f64,
        })
    }

    fn run(&self, case: &Case, seconds: f64) -> anyhow::Result<(Sample, u64)> {
        let output = output(
            Command::new("valgrind")
                .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                .arg(std::env::current_exe()?)
                .args(arguments(case, seconds)),
        )?;
        let text = String::from_utf8_lossy(&output.stderr);
        let collected = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
        Ok((Sample::read(&output)?, collected.context("valgrind did not say how much it collected")?))
    }
}

fn arguments(case: &Case, seconds: f64) -> [String; 4] {
    ["--one", case.name, "--seconds", &seconds.to_string()].map(str::to_owned)
}

fn output(command: &mut Command) -> anyhow::Result<Output> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}

fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))?;
    Some(1024 * kibibytes.parse::<u64>().ok()?)
}
