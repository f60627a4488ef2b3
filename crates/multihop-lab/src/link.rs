//! Requests to `multihop emulate --control`, and the replies, which a thread reads.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::Error;

/// Connection to an emulation. Requests may come from several threads.
#[derive(Debug)]
pub(crate) struct Link {
    child: Child,
    requests: Mutex<Option<ChildStdin>>,
    waiting: Arc<Mutex<Waiting>>,
    reader: Option<JoinHandle<Outcome>>,
    /// Nodes of the network: the first event.
    pub(crate) stations: Value,
}

/// Requests without a reply.
#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    replies: HashMap<u64, Sender<Result<Value, String>>>,
    is_over: bool,
}

/// The result of the emulation, or why there is none.
type Outcome = Result<Value, String>;

impl Link {
    /// Starts the command, and writes `line` first.
    pub(crate) fn new(mut command: Command, line: Option<String>) -> Result<Self, Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = command.get_program().to_owned();
        let mut child = command
            .spawn()
            .map_err(|error| Error::Refused(format!("cannot run {}: {error}", name.display())))?;
        let mut stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut stderr = child.stderr.take().expect("a pipe");
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).trim().trim_start_matches("multihop: ").to_owned()
        });
        if let Some(line) = line {
            // A command that has ended says why.
            let _ = writeln!(stdin, "{line}");
        }
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let (ready, stations) = channel();
        let shared = Arc::clone(&waiting);
        let reader = thread::spawn(move || read(stdout, &ready, &shared, errors));
        let requests = Mutex::new(Some(stdin));
        let mut link = Self { child, requests, waiting, reader: Some(reader), stations: Value::Null };
        match stations.recv() {
            Ok(found) => link.stations = found,
            Err(_) => return Err(link.end().map_or_else(|error| error, |_| ended())),
        }
        Ok(link)
    }

    /// Sends a request, and waits for its reply.
    pub(crate) fn ask(&self, what: &str, keys: Value) -> Result<Value, Error> {
        let reply = self.send(what, keys)?;
        reply.recv().map_err(|_| ended())?.map_err(Error::Refused)
    }

    fn send(&self, what: &str, mut keys: Value) -> Result<Receiver<Result<Value, String>>, Error> {
        let (sender, reply) = channel();
        let mut waiting = lock(&self.waiting);
        if waiting.is_over {
            return Err(ended());
        }
        waiting.last += 1;
        keys["id"] = waiting.last.into();
        keys["do"] = json!(what);
        let number = waiting.last;
        waiting.replies.insert(number, sender);
        drop(waiting);
        if let Some(requests) = &mut *lock(&self.requests) {
            // If the command has ended, the reader drops the sender of the reply.
            let _ = writeln!(requests, "{keys}");
        }
        Ok(reply)
    }

    /// Ends the emulation with all programs, and returns its result.
    pub(crate) fn end(&mut self) -> Result<Value, Error> {
        drop(lock(&self.requests).take());
        let reader = self.reader.take().ok_or_else(ended)?;
        let outcome = reader.join().map_err(|_| ended())?;
        let _ = self.child.wait();
        outcome.map_err(|reason| {
            let is_refused = REFUSALS.iter().any(|text| reason.contains(text));
            if is_refused { Error::Unavailable(reason) } else { Error::Refused(reason) }
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.reader.is_some() {
            let _ = self.end();
        }
    }
}

/// Hands out replies until the command ends.
fn read(
    stdout: impl BufRead,
    ready: &Sender<Value>,
    waiting: &Mutex<Waiting>,
    errors: JoinHandle<String>,
) -> Outcome {
    let mut result = None;
    for line in stdout.lines().map_while(Result::ok) {
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else { continue };
        match message["event"].as_str() {
            Some("ready") => {
                let _ = ready.send(message["stations"].take());
            }
            Some("result") => result = Some(message["result"].take()),
            _ => {
                let sender = message["id"].as_u64().and_then(|id| lock(waiting).replies.remove(&id));
                let error = message["error"].as_str().map(str::to_owned);
                let reply = error.map_or_else(|| Ok(message["ok"].take()), Err);
                // Nobody waits for it if the test has gone on.
                let _ = sender.map(|sender| sender.send(reply));
            }
        }
    }
    let mut waiting = lock(waiting);
    waiting.is_over = true;
    waiting.replies.clear();
    drop(waiting);
    let reason = errors.join().unwrap_or_default();
    result.ok_or(if reason.is_empty() { "the emulation has ended".to_owned() } else { reason })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ended() -> Error {
    Error::Refused("the emulation has ended".to_owned())
}

/// Beginnings of messages on machines that do not allow emulations.
const REFUSALS: [&str; 4] = [
    "cannot make a network namespace",
    "cannot make a TUN interface",
    "cannot become root",
    "cannot make a PID",
];
