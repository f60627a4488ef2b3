//! Programs that run at the nodes of a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::Error;
use crate::net::{Node, Station, unreadable};

/// A command line before its start.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    node: Node<'a>,
    line: String,
    environment: Map<String, Value>,
    directory: Option<PathBuf>,
    image: Option<PathBuf>,
    listens: Option<u16>,
}

/// A program that was started at a node.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    node: Node<'a>,
    line: String,
    number: u64,
    pid: Option<u64>,
}

impl<'a> Node<'a> {
    /// A command line for `sh`, which can be given variables, a folder or an image before its start.
    pub fn command(&self, line: &str) -> Command<'a> {
        Command::new(*self, line)
    }

    /// Starts a command line.
    pub fn start(&self, line: &str) -> Result<Program<'a>, Error> {
        self.command(line).start()
    }

    /// Runs a command line to its end, and returns its standard output. Fails with [`Error::Program`] unless the exit
    /// code is 0 before `timeout`, a virtual time.
    pub fn run(&self, line: &str, timeout: Duration) -> Result<String, Error> {
        self.command(line).run(timeout)
    }
}

impl<'a> Command<'a> {
    pub(crate) fn new(node: Node<'a>, line: &str) -> Self {
        let line = node.net.filled(line);
        let environment = Map::new();
        Self { node, line, environment, directory: None, image: None, listens: None }
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// Runs the line in a copy of a container's image: a folder with an OCI image layout, or with the root of a system.
    /// An empty line runs the image's own program.
    #[must_use]
    pub fn image(mut self, folder: impl Into<PathBuf>) -> Self {
        self.image = Some(folder.into());
        self
    }

    /// Makes [`start`](Self::start) wait until a socket of the node has this TCP or UDP port, for at most 10 s.
    #[must_use]
    pub fn listens(mut self, port: u16) -> Self {
        self.listens = Some(port);
        self
    }

    /// Starts the program.
    pub fn start(self) -> Result<Program<'a>, Error> {
        let mut keys = json!({"node": self.node.number, "environment": self.environment});
        if self.image.is_none() || !self.line.is_empty() {
            keys["command"] = self.line.as_str().into();
        }
        if let Some(directory) = &self.directory {
            keys["directory"] = json!(directory);
        }
        if let Some(image) = &self.image {
            keys["image"] = json!(std::path::absolute(image).map_err(unreadable)?);
        }
        let started = self.node.net.link.ask("start", keys)?;
        let number = started["program"].as_u64().ok_or_else(|| unreadable(&started))?;
        let program = Program { node: self.node, line: self.line, number, pid: started["pid"].as_u64() };
        if let Some(port) = self.listens {
            program.wait_until_listening(port)?;
        }
        Ok(program)
    }

    /// Runs the program to its end, and returns its standard output, as [`Node::run`] does.
    pub fn run(self, timeout: Duration) -> Result<String, Error> {
        let program = self.start()?;
        match program.wait(timeout)? {
            Some(0) => program.output(),
            Some(code) if code > 0 => Err(program.failure(&format!("ended with exit code {code}"))),
            Some(signal) => Err(program.failure(&format!("ended with signal {}", -signal))),
            None => {
                program.kill()?;
                Err(program.failure(&format!("has not ended after {timeout:?}")))
            }
        }
    }
}

impl Program<'_> {
    /// Waits for the end, at most for `timeout` of virtual time. Returns the exit code, or minus the number of the signal
    /// that ended the program; `None` if it has not ended.
    pub fn wait(&self, timeout: Duration) -> Result<Option<i64>, Error> {
        let ended = self.ask("wait", json!({"timeout": timeout.as_secs_f64()}))?;
        let signal = ended["signal"].as_i64().map(|signal| -signal);
        Ok(ended["exit_code"].as_i64().or(signal))
    }

    /// Whether the program has not ended.
    pub fn is_running(&self) -> Result<bool, Error> {
        Ok(self.wait(Duration::ZERO)?.is_none())
    }

    /// Standard output so far; of more than 4 MB, the newest part.
    pub fn output(&self) -> Result<String, Error> {
        self.text("stdout", 0)
    }

    /// Standard error so far; of more than 4 MB, the newest part.
    pub fn errors(&self) -> Result<String, Error> {
        self.text("stderr", 0)
    }

    /// Kills the program and its children by SIGKILL.
    pub fn kill(&self) -> Result<(), Error> {
        self.signal("KILL")
    }

    /// Sends a signal, such as `TERM` or `INT`, to the program and its children.
    pub fn signal(&self, name: &str) -> Result<(), Error> {
        self.ask("signal", json!({"signal": name})).map(drop)
    }

    fn wait_until_listening(&self, port: u16) -> Result<(), Error> {
        let start = Instant::now();
        while !self.pid.is_some_and(|pid| has_port(pid, port)) {
            if !self.is_running()? {
                return Err(self.failure(&format!("ended before port {port} was open")));
            }
            if start.elapsed() > LISTEN_TIMEOUT {
                return Err(self.failure(&format!("has not opened port {port} in {LISTEN_TIMEOUT:?}")));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// An error with the last lines of the program.
    fn failure(&self, what: &str) -> Error {
        let both = ["stdout", "stderr"].map(|stream| self.text(stream, -4000).unwrap_or_default()).concat();
        let lines: Vec<_> = both.lines().rev().take(20).collect();
        let last: String = lines.iter().rev().map(|line| format!("\n{line}")).collect();
        Error::Program(format!("{:?} at {} {what}{last}", self.line, self.node.name()))
    }

    fn text(&self, stream: &str, from: i64) -> Result<String, Error> {
        let (mut text, mut from) = (String::new(), from);
        loop {
            let piece = self.ask("output", json!({"stream": stream, "from": from}))?;
            text += piece["text"].as_str().unwrap_or_default();
            from = piece["next"].as_i64().unwrap_or_default();
            if from >= piece["end"].as_i64().unwrap_or_default() {
                return Ok(text);
            }
        }
    }

    fn ask(&self, what: &str, mut keys: Value) -> Result<Value, Error> {
        keys["program"] = self.number.into();
        self.node.net.link.ask(what, keys)
    }
}

impl crate::Net {
    /// Replaces `{4}` by the address of node 4, and `{4:6}` by its IPv6 address.
    fn filled(&self, line: &str) -> String {
        let replace = |line: String, (number, station): (usize, &Station)| station.fill(&line, number);
        self.stations.iter().enumerate().fold(line.to_owned(), replace)
    }
}

/// Whether a socket in the network of a process has a local port: a TCP socket that listens, or a UDP socket.
fn has_port(pid: u64, port: u16) -> bool {
    let suffix = format!(":{port:04X}");
    ["tcp", "tcp6", "udp", "udp6"].iter().any(|kind| {
        let table = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("net").join(kind));
        table.unwrap_or_default().lines().skip(1).any(|line| {
            let mut words = line.split_whitespace().skip(1);
            let local = words.next().unwrap_or_default();
            let state = words.nth(1).unwrap_or_default();
            local.ends_with(&suffix) && (kind.starts_with("udp") || state == LISTEN)
        })
    })
}

/// Longest wait for the port of a program.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);
/// State of a listening TCP socket in Linux.
const LISTEN: &str = "0A";
