//! The commands that use real networks, as processes on this host.

mod code;
mod files;
mod group;
mod keys;
mod metrics;
mod perf;
mod route;
mod route_page;
#[cfg(target_os = "linux")]
mod sandbox;
mod signals;
mod tunnel;
mod unit;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Folder;

/// A command that runs, and is killed when the test ends.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    errors: Arc<Mutex<String>>,
    /// Thread that ends when all lines on standard error have been read.
    errors_end: Option<JoinHandle<()>>,
}

/// Exit code and output of a command.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Running {
    fn new(folder: &Folder, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
        Self::of(command.args(args), folder)
    }

    fn of(command: &mut Command, folder: &Folder) -> Self {
        let command = command.current_dir(folder.path()).env_remove("MULTIHOP_TOKEN");
        let command = command.env("XDG_DATA_HOME", folder.path().join("data"));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let errors = Arc::new(Mutex::new(String::new()));
        let read = Arc::clone(&errors);
        let errors_end = Some(thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).unwrap() > 0 {
                read.lock().unwrap().push_str(&line);
                line.clear();
            }
        }));
        Self { child, stdout, errors, errors_end }
    }

    /// Waits for a line in its error output.
    fn complains(&self, part: &str) {
        until(|| self.errors.lock().unwrap().lines().any(|line| line.contains(part)));
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits until the command listens; returns its address.
    fn address(&mut self) -> String {
        let line = self.line();
        match line.strip_prefix("listening on ") {
            Some(address) => address.to_owned(),
            None => panic!("{line:?}, and then: {:?}", self.end(Duration::ZERO)),
        }
    }

    /// The command that this one prints for the other host, which has one address.
    fn advice(&mut self) -> String {
        assert_eq!(self.line(), "on the other host:");
        self.line().trim().to_owned()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    /// Waits at most for this long until the command ends. A thread reads the output meanwhile, so that the
    /// command never waits for a full pipe.
    fn end(&mut self, limit: Duration) -> Said {
        let mut stdout = String::new();
        let (child, output) = (&mut self.child, &mut self.stdout);
        let status = thread::scope(|scope| {
            scope.spawn(|| output.read_to_string(&mut stdout).unwrap());
            let status = end_within(child, limit);
            if status.is_none() {
                child.kill().unwrap();
            }
            status
        });
        self.errors_end.take().unwrap().join().unwrap();
        let stderr = self.errors.lock().unwrap().clone();
        assert!(status.is_some(), "still running: {stdout:?} {stderr:?}");
        Said { code: status.and_then(|status| status.code()), stdout, stderr }
    }

    fn succeeds(&mut self) -> Said {
        let said = self.end(SOON);
        assert_eq!(said.code, Some(0), "{said:?}");
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The exit status of a process, if it ends within this time.
fn end_within(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let begin = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return Some(status),
            None if begin.elapsed() > limit => return None,
            None => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Waits until a condition holds.
fn until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < SOON, "the condition does not hold in time");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Long enough on a busy machine.
const SOON: Duration = Duration::from_secs(60);
const UNPROTECTED: &str = "--plain: no protection: anybody on the path can read and modify the traffic\n";
