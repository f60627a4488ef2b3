//! The programs of an emulation: when they start and stop, and how they ended.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, ExitStatus, Stdio};

use multihop_core::{Instant, NodeId};
use multihop_scenario::{Program, Scenario};
use multihop_sim::live::stations;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;

use crate::sandbox::Sandbox;
use crate::stations::address_variables;

/// How a program ended.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramResult {
    /// The node or host whose network it had.
    pub node: u32,
    /// Command line of the program.
    pub command: String,
    /// Exit code of the program; `null` if a signal ended it, or it could not start.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the program was asked to end, at `stop` or at the end of the emulation.
    pub stopped: bool,
    /// Why it could not start.
    pub error: Option<String>,
}

/// All programs of an emulation.
pub(crate) struct Programs {
    programs: Vec<State>,
    /// Whether the last one ends the emulation.
    has_command: bool,
    folder: Option<PathBuf>,
    stdout_is_taken: bool,
    stations: usize,
}

struct State {
    node: NodeId,
    shown: String,
    start: Instant,
    stop: Option<Instant>,
    phase: Phase,
    /// Whether the program leads a process group of its own, which is signalled as a whole.
    leads: bool,
    stopped: bool,
    process: Option<Process>,
}

enum Phase {
    Waiting,
    Starting,
    Running(Child),
    Ended(io::Result<ExitStatus>),
}

impl Programs {
    pub(crate) fn new(
        scenario: &Scenario,
        command: Option<(usize, Vec<OsString>)>,
        folder: Option<PathBuf>,
        stdout_is_taken: bool,
    ) -> Self {
        let has_command = command.is_some();
        let programs = scenario.programs.iter().map(State::of_scenario);
        let programs = programs.chain(command.map(State::of_command)).collect();
        Self { programs, has_command, folder, stdout_is_taken, stations: stations(scenario) }
    }

    /// Starts and stops what is due, and notes what has ended.
    pub(crate) fn update(&mut self, now: Instant, sandbox: &Sandbox) {
        for n in 0..self.programs.len() {
            if matches!(self.programs[n].phase, Phase::Waiting) && self.programs[n].start <= now {
                self.launch(n, sandbox);
            }
        }
        while let Some((n, started)) = sandbox.poll_started() {
            self.programs[n].note_start(started);
        }
        for program in &mut self.programs {
            if program.stop.is_some_and(|stop| stop <= now) {
                program.terminate();
            }
            program.note_end();
        }
    }

    /// When the next program starts or stops.
    pub(crate) fn next(&self) -> Option<Instant> {
        let due = |program: &State| match program.phase {
            Phase::Waiting => Some(program.start),
            Phase::Running(_) if !program.stopped => program.stop,
            _ => None,
        };
        self.programs.iter().filter_map(due).min()
    }

    /// Whether the program that the emulation ends with has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.has_command && self.programs.last().is_some_and(|last| matches!(last.phase, Phase::Ended(_)))
    }

    /// Tells every program to end, and after a while ends it.
    pub(crate) fn end(mut self, mut sandbox: Sandbox) -> Vec<ProgramResult> {
        for program in &mut self.programs {
            program.terminate();
        }
        let patience = std::time::Instant::now();
        while patience.elapsed() < PATIENCE && self.programs.iter_mut().any(|program| !program.note_end()) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for (n, started) in sandbox.kill() {
            self.programs[n].note_start(started);
        }
        let results = self.programs.into_iter().map(State::result).collect();
        sandbox.reap();
        results
    }

    fn launch(&mut self, n: usize, sandbox: &Sandbox) {
        let is_command = self.has_command && n + 1 == self.programs.len();
        let program = &mut self.programs[n];
        let mut process = program.process.take().expect("it starts once");
        process.envs(address_variables(self.stations));
        let folder = self.folder.as_deref().filter(|_| !is_command);
        let output = match folder {
            Some(folder) => to_file(&mut process, folder, n),
            None if self.stdout_is_taken => to_stderr(&mut process),
            None => Ok(()),
        };
        match output {
            Ok(()) => {
                program.phase = Phase::Starting;
                sandbox.start(n, program.node.index(), process);
            }
            Err(error) => program.phase = Phase::Ended(Err(error)),
        }
    }
}

fn to_file(process: &mut Process, folder: &Path, n: usize) -> io::Result<()> {
    let file = File::create(folder.join(format!("program-{n}.txt")))?;
    process.stdout(file.try_clone()?).stderr(file);
    Ok(())
}

fn to_stderr(process: &mut Process) -> io::Result<()> {
    process.stdout(io::stderr().as_fd().try_clone_to_owned()?);
    Ok(())
}

impl State {
    fn of_scenario(program: &Program) -> Self {
        let mut process = Process::new("sh");
        process.args(["-c", &program.command]).stdin(Stdio::null()).process_group(0);
        process.envs(program.environment.iter().map(|(name, value)| (name, value)));
        Self {
            node: program.node,
            shown: program.command.clone(),
            start: Instant::ZERO + program.start,
            stop: program.stop.map(|stop| Instant::ZERO + stop),
            phase: Phase::Waiting,
            leads: true,
            stopped: false,
            process: Some(process),
        }
    }

    /// Creates the program of a command, which stays in the terminal's foreground, so that it can read what a user
    /// types.
    fn of_command((station, command): (usize, Vec<OsString>)) -> Self {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let mut process = Process::new(&command[0]);
        process.args(&command[1..]);
        Self {
            node: NodeId(u32::try_from(station).expect("a checked number of stations")),
            shown: words.join(" "),
            start: Instant::ZERO,
            stop: None,
            phase: Phase::Waiting,
            leads: false,
            stopped: false,
            process: Some(process),
        }
    }

    fn note_start(&mut self, started: io::Result<Child>) {
        self.phase = started.map_or_else(|error| Phase::Ended(Err(error)), Phase::Running);
    }

    /// Tells the program to end, once.
    fn terminate(&mut self) {
        if let Phase::Running(child) = &self.phase
            && !self.stopped
        {
            self.stopped = true;
            let pid = Pid::from_raw(child.id().cast_signed());
            let signal = Signal::SIGTERM;
            // It may have ended in the meantime.
            let _ = if self.leads { killpg(pid, signal) } else { nix::sys::signal::kill(pid, signal) };
        }
    }

    /// Notes the end of the program; whether it does not run.
    fn note_end(&mut self) -> bool {
        if let Phase::Running(child) = &mut self.phase
            && let Some(status) = child.try_wait().transpose()
        {
            self.phase = Phase::Ended(status);
        }
        !matches!(self.phase, Phase::Running(_) | Phase::Starting)
    }

    fn result(self) -> ProgramResult {
        let ended = match self.phase {
            Phase::Running(mut child) => Some(child.wait()),
            Phase::Ended(status) => Some(status),
            Phase::Waiting | Phase::Starting => None,
        };
        let (status, error) = match ended {
            Some(Ok(status)) => (Some(status), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, Some("the emulation ended before its start".to_owned())),
        };
        ProgramResult {
            node: self.node.0,
            command: self.shown,
            exit_code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            stopped: self.stopped,
            error,
        }
    }
}

/// How long programs have to end after SIGTERM.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);
