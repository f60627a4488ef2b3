//! The programs of an emulation: when they start and stop, and how they ended.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeWriter};
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
use serde_json::Value;

use crate::barrier::LIBRARY_PATH;
use crate::captured::Captured;
use crate::request::{Start, Stream};
use crate::sandbox::{Contained, Launch, Sandbox, Words};
use crate::stations::address_variables;

/// The end of a program.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramResult {
    /// Node or host in whose network namespace the program ran.
    pub node: u32,
    /// Command line of the program.
    pub command: String,
    /// Exit code of the program; `null` if a signal ended it, or it could not start.
    pub exit_code: Option<i32>,
    /// Number of the signal that ended the program.
    pub signal: Option<i32>,
    /// Whether the program was asked to end, at `stop` or at the end of the emulation.
    pub stopped: bool,
    /// Reason for which the program could not start.
    pub error: Option<String>,
}

/// All programs of an emulation.
pub(crate) struct Programs {
    programs: Vec<State>,
    /// Index of the program whose end ends the emulation.
    command: Option<usize>,
    place: Place,
    stations: usize,
    /// Programs that have started since the driver last took them.
    started: Vec<(NodeId, u32)>,
    /// Programs that were asked to end at their `stop` since the driver last took them.
    stopped: Vec<Option<u32>>,
}

/// Destination of the programs' output.
pub(crate) struct Place {
    /// Folder with a file for each program of the scenario.
    pub(crate) folder: Option<PathBuf>,
    /// Whether output without a folder goes to standard error.
    pub(crate) stdout_is_taken: bool,
    /// Whether output without a folder is captured for a client.
    pub(crate) is_captured: bool,
    /// Whether programs load the library of virtual time.
    pub(crate) is_preloaded: bool,
}

struct State {
    node: NodeId,
    shown: String,
    start: Instant,
    stop: Option<Instant>,
    phase: Phase,
    /// Whether the program leads its own process group, to which signals are sent as a whole.
    leads: bool,
    /// Whether a client has started the program.
    is_of_client: bool,
    stopped: bool,
    /// How the program starts, until it does.
    launch: Option<Launch>,
    /// Standard output and standard error, if they are captured.
    captured: Option<[Captured; 2]>,
}

enum Phase {
    Waiting,
    Starting,
    Running(Child),
    Ended(io::Result<ExitStatus>),
}

impl Programs {
    pub(crate) fn new(scenario: &Scenario, command: Option<(usize, Vec<OsString>)>, place: Place) -> Self {
        let index = command.as_ref().map(|_| scenario.programs.len());
        let programs = scenario.programs.iter().map(State::of_scenario);
        let programs = programs.chain(command.map(State::of_command)).collect();
        Self {
            programs,
            command: index,
            place,
            stations: stations(scenario),
            started: Vec::new(),
            stopped: Vec::new(),
        }
    }

    /// Adds a program that starts at the next [`update`](Self::update); `None` if there are too many. Returns its number.
    pub(crate) fn add(&mut self, start: Start) -> Option<usize> {
        (self.programs.len() < MAX_PROGRAMS).then(|| {
            self.programs.push(State::of_client(start));
            self.programs.len() - 1
        })
    }

    /// The state of a program; the error names the allowed numbers.
    pub(crate) fn status(&self, program: usize) -> Result<Status, String> {
        let state = self.programs.get(program).ok_or_else(|| self.unknown(program))?;
        Ok(match &state.phase {
            Phase::Waiting | Phase::Starting => Status::Waiting,
            Phase::Running(child) => Status::Running { pid: child.id() },
            Phase::Ended(Ok(status)) => Status::Ended(Ok(*status)),
            Phase::Ended(Err(error)) => Status::Ended(Err(error.to_string())),
        })
    }

    /// Captured output of a program, beginning with byte `from`.
    pub(crate) fn output(&mut self, program: usize, stream: Stream, from: i64) -> Result<Value, String> {
        let unknown = self.unknown(program);
        let state = self.programs.get_mut(program).ok_or(unknown)?;
        let captured = state.captured.as_mut().ok_or_else(|| {
            format!(
                "found program {program}, whose output is in a file of --out, allowed: programs of requests"
            )
        })?;
        let captured = &mut captured[stream as usize];
        captured.update();
        Ok(captured.reply(from))
    }

    /// Sends a signal to the process group of a program; a program that has ended gets none.
    pub(crate) fn signal(&mut self, program: usize, signal: Signal) -> Result<(), String> {
        let unknown = self.unknown(program);
        let state = self.programs.get_mut(program).ok_or(unknown)?;
        if let Phase::Running(child) = &state.phase {
            state.stopped |=
                matches!(signal, Signal::SIGTERM | Signal::SIGKILL | Signal::SIGINT | Signal::SIGHUP);
            // The program may have ended in the meantime.
            let _ = killpg(Pid::from_raw(child.id().cast_signed()), signal);
        }
        Ok(())
    }

    /// Stops the programs of a node (SIGSTOP) if `is_frozen`, or continues them (SIGCONT).
    pub(crate) fn freeze(&self, node: NodeId, is_frozen: bool) {
        let signal = if is_frozen { Signal::SIGSTOP } else { Signal::SIGCONT };
        for state in self.programs.iter().filter(|state| state.node == node && state.leads) {
            if let Phase::Running(child) = &state.phase {
                let _ = killpg(Pid::from_raw(child.id().cast_signed()), signal);
            }
        }
    }

    /// Takes what all programs have written.
    pub(crate) fn capture(&mut self) {
        self.programs
            .iter_mut()
            .filter_map(|state| state.captured.as_mut())
            .flatten()
            .for_each(Captured::update);
    }

    fn unknown(&self, program: usize) -> String {
        match self.programs.len() {
            0 => format!("found program {program}, allowed: none, because none has been started"),
            count => format!("found program {program}, allowed: 0 to {}", count - 1),
        }
    }

    /// Starts and stops the programs that are due, and records those that have ended.
    pub(crate) fn update(&mut self, now: Instant, sandbox: &Sandbox) {
        for n in 0..self.programs.len() {
            if matches!(self.programs[n].phase, Phase::Waiting) && self.programs[n].start <= now {
                self.launch(n, sandbox);
            }
        }
        while let Some((n, started)) = sandbox.poll_started() {
            self.started.extend(started.as_ref().ok().map(|child| (self.programs[n].node, child.id())));
            self.programs[n].note_start(started);
        }
        for program in &mut self.programs {
            if program.stop.is_some_and(|stop| stop <= now) {
                self.stopped.extend(program.terminate());
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

    /// Whether a program is between its start and its first instruction.
    pub(crate) fn are_starting(&self) -> bool {
        self.programs.iter().any(|program| matches!(program.phase, Phase::Starting))
    }

    pub(crate) fn are_running(&self) -> bool {
        self.programs.iter().any(|program| matches!(program.phase, Phase::Running(_)))
    }

    /// Programs that have started since the last call, with their nodes and process numbers.
    pub(crate) fn take_started(&mut self) -> Vec<(NodeId, u32)> {
        std::mem::take(&mut self.started)
    }

    /// Process groups of programs that were asked to end since the last call; `None` for the one of a command.
    pub(crate) fn take_stopped(&mut self) -> Vec<Option<u32>> {
        std::mem::take(&mut self.stopped)
    }

    /// Asks every program to end, and returns their process groups.
    pub(crate) fn terminate(&mut self) -> Vec<Option<u32>> {
        self.programs.iter_mut().filter_map(State::terminate).collect()
    }

    /// Whether the program that the emulation ends with has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.command.is_some_and(|n| matches!(self.programs[n].phase, Phase::Ended(_)))
    }

    /// Stops every program with SIGTERM, and kills those that do not end in time.
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
        let is_command = self.command == Some(n);
        let program = &mut self.programs[n];
        let mut launch = program.launch.take().expect("it starts once");
        let Place { folder, stdout_is_taken, is_captured, is_preloaded } = &self.place;
        let folder = folder.as_deref().filter(|_| !is_command && !program.is_of_client);
        let addresses = address_variables(self.stations);
        let output = match &mut launch {
            Launch::Here(process) => {
                process.envs(addresses);
                if *is_preloaded {
                    process.env("LD_PRELOAD", LIBRARY_PATH);
                }
                match folder {
                    Some(folder) => to_file(process, folder, n),
                    None if *is_captured => to_memory(process).map(|both| program.captured = Some(both)),
                    None if *stdout_is_taken => to_stderr(process),
                    None => Ok(()),
                }
            }
            Launch::Contained(contained) => {
                contained.environment.extend(addresses);
                captured().map(|(streams, output)| {
                    program.captured = Some(streams);
                    contained.output = Some(output);
                })
            }
        };
        match output {
            Ok(()) => {
                program.phase = Phase::Starting;
                sandbox.start(n, program.node.index(), launch);
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

fn to_memory(process: &mut Process) -> io::Result<[Captured; 2]> {
    let (streams, [stdout, stderr]) = captured()?;
    process.stdout(stdout).stderr(stderr);
    Ok(streams)
}

/// Two captured streams, and the ends that a program writes to.
fn captured() -> io::Result<([Captured; 2], [PipeWriter; 2])> {
    let (stdout, stderr) = (Captured::new()?, Captured::new()?);
    Ok(([stdout.0, stderr.0], [stdout.1, stderr.1]))
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
            ..Self::waiting(program.node, Launch::Here(process))
        }
    }

    fn of_client(start: Start) -> Self {
        let Start { station, words, environment, directory, image } = start;
        let shown = words.texts().join(" ");
        let node = NodeId(u32::try_from(station).expect("a checked number of stations"));
        let launch = match image {
            Some(image) => {
                let environment = environment.into_iter().collect();
                Launch::Contained(Contained { image, words, environment, directory, output: None })
            }
            None => {
                let words = match words {
                    Words::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line],
                    Words::Arguments(words) => words,
                    Words::OfImage => unreachable!("a request without an image has a command"),
                };
                let mut process = Process::new(&words[0]);
                process.args(&words[1..]).stdin(Stdio::null()).process_group(0).envs(environment);
                if let Some(directory) = directory {
                    process.current_dir(directory);
                }
                Launch::Here(process)
            }
        };
        Self { shown, is_of_client: true, ..Self::waiting(node, launch) }
    }

    /// A program that starts at once, and leads a process group.
    fn waiting(node: NodeId, launch: Launch) -> Self {
        Self {
            node,
            shown: String::new(),
            start: Instant::ZERO,
            stop: None,
            phase: Phase::Waiting,
            leads: true,
            is_of_client: false,
            stopped: false,
            launch: Some(launch),
            captured: None,
        }
    }

    /// Creates the program of a command, which stays in the terminal's foreground, so that it can read what a user
    /// types.
    fn of_command((station, command): (usize, Vec<OsString>)) -> Self {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let mut process = Process::new(&command[0]);
        process.args(&command[1..]);
        let node = NodeId(u32::try_from(station).expect("a checked number of stations"));
        Self { shown: words.join(" "), leads: false, ..Self::waiting(node, Launch::Here(process)) }
    }

    fn note_start(&mut self, started: io::Result<Child>) {
        self.phase = started.map_or_else(|error| Phase::Ended(Err(error)), Phase::Running);
    }

    /// Asks the program to end, once. Returns its process group, or `None` inside for a command.
    fn terminate(&mut self) -> Option<Option<u32>> {
        if let Phase::Running(child) = &self.phase
            && !self.stopped
        {
            self.stopped = true;
            let pid = Pid::from_raw(child.id().cast_signed());
            let signal = Signal::SIGTERM;
            // The program may have ended in the meantime.
            let _ = if self.leads { killpg(pid, signal) } else { nix::sys::signal::kill(pid, signal) };
            return Some(self.leads.then(|| child.id()));
        }
        None
    }

    /// Records the end of the program, if it has ended; returns true if it does not run.
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

/// State of a program for a client.
pub(crate) enum Status {
    /// The program has not started yet.
    Waiting,
    /// The program runs as this process.
    Running { pid: u32 },
    /// The program has ended, or could not start for this reason.
    Ended(Result<ExitStatus, String>),
}

/// Largest number of programs of an emulation that a client controls.
const MAX_PROGRAMS: usize = 1000;
/// Time for programs to end after SIGTERM, before they are killed.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);
