//! A run of a case: in this process, in a child process, or under callgrind.

use std::fs;
use std::ops::ControlFlow;
use std::process::{self, Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use multihop_sim::{Outputs, run};
use serde::{Deserialize, Serialize};

use crate::cases::Case;
use crate::cpu;
use crate::networks::Size;

/// A network and the measured interval in simulated seconds.
#[derive(Clone, Copy)]
pub(crate) struct Stretch<'a> {
    pub(crate) case: &'a Case,
    pub(crate) size: Size,
    pub(crate) times: [f64; 2],
}

/// The cost of one stretch, or of several in total.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Sample {
    pub(crate) sim_seconds: f64,
    pub(crate) wall_seconds: f64,
    /// CPU time; Linux only.
    pub(crate) cpu_seconds: Option<f64>,
    /// Number of events of the run; a child process includes the events before the measured interval.
    pub(crate) events: u64,
    pub(crate) frames: u64,
    /// Data among the frames; each MPDU of an aggregate counts.
    pub(crate) mpdus: u64,
    /// Largest resident set of the process since its start; Linux only.
    pub(crate) peak_bytes: Option<u64>,
}

/// Instructions, counted by valgrind.
pub(crate) struct InstructionCounter(());

/// Cost of the simulated traffic, without the setup of the network.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    /// Instructions for each event.
    pub(crate) per_event: f64,
    /// Instructions for each frame.
    pub(crate) per_frame: f64,
    /// Instructions for each MPDU of data; a data frame that is not aggregated counts as one MPDU.
    pub(crate) per_mpdu: f64,
}

/// The clocks at the start of a stretch.
struct Start {
    wall: Instant,
    cpu: Option<f64>,
}

impl Stretch<'_> {
    /// Runs the case in this process; `counted` if callgrind counts its instructions, `lists` if the result has its
    /// lists of nodes, links and queues.
    pub(crate) fn run(&self, counted: bool, lists: bool) -> anyhow::Result<Sample> {
        let scenario = self.case.scenario(self.size, self.times)?;
        let [from, to] = self.times;
        let mut start = Start::now();
        let mut begun = from == 0.0 && !counted;
        let mut control = Ok(());
        let warm = from / to * (1.0 - 1e-9);
        let outputs = Outputs { without_lists: !lists, ..Outputs::default() };
        let result = run(&scenario, outputs, &mut |share| {
            if !begun && share >= warm {
                begun = true;
                if counted {
                    control = count("on");
                }
                start = Start::now();
            } else if counted && share >= 1.0 && control.is_ok() {
                control = count("off");
            }
            ControlFlow::Continue(())
        })?;
        control?;
        Ok(Sample {
            sim_seconds: to - from,
            wall_seconds: start.wall.elapsed().as_secs_f64(),
            cpu_seconds: cpu::seconds().zip(start.cpu).map(|(after, before)| after - before),
            events: result.events,
            frames: result.mac.frames.values().sum(),
            mpdus: result.mac.frames.get("data").copied().unwrap_or(0),
            peak_bytes: peak_bytes(),
        })
    }

    /// Runs the case in a child process, so that the peak memory is that of this run alone.
    pub(crate) fn in_a_child(&self) -> anyhow::Result<Sample> {
        let output = output(Command::new(std::env::current_exe()?).args(self.arguments()))?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn arguments(&self) -> Vec<String> {
        let Self { case, size, times: [from, to] } = self;
        let numbers = [("--nodes", size.nodes.to_string()), ("--seed", size.seed.to_string())];
        let times = [("--from", from.to_string()), ("--seconds", to.to_string())];
        let name = [("--one", case.name.to_owned())];
        let all = name.into_iter().chain(numbers).chain(times);
        all.flat_map(|(key, value)| [key.to_owned(), value]).collect()
    }
}

impl Sample {
    /// Runs all networks of a case in turn.
    pub(crate) fn of(case: &Case) -> anyhow::Result<Self> {
        let mut sum = Self::default();
        for stretch in stretches(case, case.timed) {
            sum = sum.and(&stretch.in_a_child()?);
        }
        Ok(sum)
    }

    fn and(self, other: &Self) -> Self {
        let cpu = self.cpu_seconds.unwrap_or(0.0);
        Self {
            sim_seconds: self.sim_seconds + other.sim_seconds,
            wall_seconds: self.wall_seconds + other.wall_seconds,
            cpu_seconds: other.cpu_seconds.map(|seconds| cpu + seconds),
            events: self.events + other.events,
            frames: self.frames + other.frames,
            mpdus: self.mpdus + other.mpdus,
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
        }
    }
}

/// Events before this moment in all networks of a case.
pub(crate) fn events_before(case: &Case, moment: f64) -> anyhow::Result<u64> {
    if moment == 0.0 {
        return Ok(0);
    }
    stretches(case, [0.0, moment]).map(|stretch| Ok(stretch.in_a_child()?.events)).sum()
}

fn stretches(case: &Case, times: [f64; 2]) -> impl Iterator<Item = Stretch<'_>> {
    let sizes = (1..=case.networks).map(|seed| Size { nodes: case.nodes, seed });
    sizes.map(move |size| Stretch { case, size, times })
}

impl InstructionCounter {
    /// Finds valgrind; `None` if it is not installed.
    pub(crate) fn find() -> Option<Self> {
        let there = |tool| {
            let status = Command::new(tool).arg("--version").stdout(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        (there("valgrind") && there(CONTROL)).then_some(Self(()))
    }

    /// Counts the instructions of every network of a case under valgrind.
    pub(crate) fn count(&self, case: &Case) -> anyhow::Result<Cost> {
        let (mut sum, mut instructions) = (Sample::default(), 0);
        for stretch in stretches(case, case.counted) {
            let (sample, more) = self.run(&stretch)?;
            (sum, instructions) = (sum.and(&sample), instructions + more);
        }
        if sum.frames == 0 {
            bail!("{}: no frame was sent after {} s", case.name, case.counted[0]);
        }
        let events = sum.events - events_before(case, case.counted[0])?;
        Ok(Cost {
            per_event: instructions as f64 / events as f64,
            per_frame: instructions as f64 / sum.frames as f64,
            per_mpdu: instructions as f64 / sum.mpdus as f64,
        })
    }

    fn run(&self, stretch: &Stretch<'_>) -> anyhow::Result<(Sample, u64)> {
        let output = output(
            Command::new("valgrind")
                .args(["--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null"])
                .arg(std::env::current_exe()?)
                .args(stretch.arguments())
                .arg("--counted"),
        )?;
        let text = String::from_utf8_lossy(&output.stderr);
        let collected = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
        let sample = serde_json::from_slice(&output.stdout)?;
        Ok((sample, collected.context("valgrind did not report an instruction count")?))
    }
}

/// Starts or stops callgrind's count of this process.
fn count(state: &str) -> anyhow::Result<()> {
    let process = process::id().to_string();
    output(Command::new(CONTROL).arg("-i").args([state, &process])).map(drop)
}

const CONTROL: &str = "callgrind_control";

impl Start {
    fn now() -> Self {
        Self { wall: Instant::now(), cpu: cpu::seconds() }
    }
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
