//! Requests of the client that controls an emulation, and the replies to them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use multihop_core::{Duration, Instant, NodeId};
use multihop_sim::live::{Change, ChangeError};
use nix::fcntl::OFlag;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::Driver;
use crate::barrier::Barrier;
use crate::control::{Control, Line, MAX_LINE};
use crate::programs::Status;
use crate::request::{Request, Start, parse};
use crate::{EmulateError, Tried};

/// The client, and its requests that wait for an event such as the end of a program.
pub(super) struct ClientState {
    control: Control,
    pending: Vec<Pending>,
    /// Instant at which the output of programs was last read.
    captured: Instant,
}

/// A request that waits for a program.
struct Pending {
    id: Value,
    program: usize,
    until: Until,
}

/// Outcome of a look for requests of the client.
pub(super) enum Served {
    /// The client has ended the emulation, or has closed its input.
    End,
    /// A request was handled.
    Request,
    /// There was no request.
    Nothing,
}

#[derive(Clone, Copy)]
enum Until {
    /// The program runs, or could not start.
    Started,
    /// Waits until the program has ended, or until `deadline`.
    Ended { deadline: Option<Instant> },
}

/// Largest number of requests that are handled before the network advances again.
const TURN: usize = 16;
/// Requests of a client that may wait at the same time.
const MAX_PENDING: usize = 1000;
/// Interval at which the output of programs is read, at most 256 KiB of each (four pipes). A program that writes
/// faster blocks.
const CAPTURE_INTERVAL: Duration = Duration::from_millis(5);

impl ClientState {
    /// Whether no request waits for an event.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether the client has closed its input.
    pub(super) fn is_over(&self) -> bool {
        self.control.is_over()
    }

    pub(super) fn new(control: Control) -> Self {
        Self { control, pending: Vec::new(), captured: Instant::ZERO }
    }

    /// When the next waiting request times out.
    pub(super) fn next(&self) -> Option<Instant> {
        let deadline = |pending: &Pending| match pending.until {
            Until::Ended { deadline } => deadline,
            Until::Started => None,
        };
        self.pending.iter().filter_map(deadline).min()
    }

    fn reply(&self, id: &Value, result: Result<Value, String>) {
        self.control.send(&match result {
            Ok(result) => json!({"id": id, "ok": result}),
            Err(message) => json!({"id": id, "error": message}),
        });
    }
}

impl Driver<'_> {
    /// Tells the client that the emulation begins, and the addresses of all nodes and hosts.
    pub(super) fn greet(&self) {
        let Some(client) = &self.client else { return };
        let station = |(node, name): (NodeId, &String)| json!({"name": name, "address": node.addr().to_string(), "address6": node.addr6().to_string()});
        let stations: Vec<_> = (0..).map(NodeId).zip(&self.names).map(station).collect();
        client.control.send(&json!({"event": "ready", "stations": stations}));
    }

    /// Answers requests of the client; in virtual time one request, because programs go on before the next.
    pub(super) fn serve_client(
        &mut self,
        now: Instant,
        mut barrier: Option<&mut Barrier>,
    ) -> Result<Served, EmulateError> {
        let mut served = Served::Nothing;
        for _ in 0..if barrier.is_some() { 1 } else { TURN } {
            let Some(line) = self.client.as_ref().and_then(|client| client.control.poll()) else { break };
            let (id, request) = match line {
                Line::End => return Ok(Served::End),
                Line::TooLong => {
                    (Value::Null, Err(format!("found a longer line, allowed: at most {MAX_LINE} bytes")))
                }
                Line::Request(line) if line.trim_ascii().is_empty() => continue,
                Line::Request(line) => parse(&line, &self.names),
            };
            served = Served::Request;
            let is_end = request == Ok(Request::End);
            let result = match request {
                Ok(request) => self.perform(&id, request, now, barrier.as_deref_mut())?,
                Err(message) => Some(Err(message)),
            };
            if let (Some(client), Some(result)) = (&self.client, result) {
                client.reply(&id, result);
            }
            if is_end {
                return Ok(Served::End);
            }
        }
        self.answer_pending(now);
        Ok(served)
    }

    /// Performs a request and returns the reply; `None` if the reply follows later.
    fn perform(
        &mut self,
        id: &Value,
        request: Request,
        now: Instant,
        barrier: Option<&mut Barrier>,
    ) -> Result<Option<Result<Value, String>>, EmulateError> {
        Ok(match request {
            Request::Start(start) if start.image.is_some() && barrier.is_some() => {
                Some(Err("found an image in virtual time, allowed: programs of this machine".to_owned()))
            }
            Request::Start(start) => self.start(id, start).err().map(Err),
            Request::Wait { program, timeout } => {
                let until = Until::Ended { deadline: timeout.map(|timeout| now + timeout) };
                self.wait_for(id, program, until).err().map(Err)
            }
            Request::Output { program, stream, from } => Some(self.programs.output(program, stream, from)),
            Request::Signal { program, signal } => Some(self.signal(program, signal, barrier)),
            Request::Change(change) => Some(self.change(&change, barrier)?),
            Request::Counters { node } => Some(self.counters(node)),
            Request::Ports { node } => Some(match barrier {
                Some(barrier) => Ok(json!({"open": barrier.ports(node_id(node))})),
                None => Err("found real time, allowed in virtual time (--virtual-time)".to_owned()),
            }),
            Request::Capture { file } => {
                let captured = create(&file).and_then(|file| self.live.add_reader(Box::new(file)));
                Some(
                    captured
                        .map(|()| json!({}))
                        .map_err(|error| format!("cannot write {}: {error}", file.display())),
                )
            }
            Request::Status => Some(Ok(json!({"time": now.as_secs_f64(), "emulation": self.lateness(None)}))),
            Request::End => Some(Ok(json!({}))),
        })
    }

    fn start(&mut self, id: &Value, start: Start) -> Result<(), String> {
        let node = node_id(start.station);
        if self.live.is_frozen(node) {
            return Err(format!("found the frozen node {node}, allowed: a node after thaw"));
        }
        let program = self.programs.add(start);
        let program =
            program.ok_or("found a program after the 1000th, allowed: at most 1000 in one emulation")?;
        self.wait_for(id, program, Until::Started)
    }

    fn wait_for(&mut self, id: &Value, program: usize, until: Until) -> Result<(), String> {
        self.programs.status(program)?;
        let Some(client) = &mut self.client else { return Ok(()) };
        if client.pending.len() >= MAX_PENDING {
            return Err(format!("found more than {MAX_PENDING} waiting requests, allowed: {MAX_PENDING}"));
        }
        client.pending.push(Pending { id: id.clone(), program, until });
        Ok(())
    }

    fn signal(
        &mut self,
        program: usize,
        signal: Signal,
        barrier: Option<&mut Barrier>,
    ) -> Result<Value, String> {
        if barrier.is_some() && matches!(signal, Signal::SIGSTOP | Signal::SIGCONT) {
            return Err(format!("found {signal} in virtual time, allowed: freeze and thaw of the node"));
        }
        self.programs.signal(program, signal)?;
        if let (Some(barrier), Status::Running { pid }) = (barrier, self.programs.status(program)?) {
            barrier.note_signal(Some(pid), signal);
        }
        Ok(json!({}))
    }

    fn change(
        &mut self,
        change: &Change,
        barrier: Option<&mut Barrier>,
    ) -> Result<Result<Value, String>, EmulateError> {
        match self.live.change(change) {
            Ok(()) => {}
            Err(ChangeError::Refused(message)) => return Ok(Err(message)),
            Err(ChangeError::Recording(error)) => {
                return Err(error).tried(|| "write the recording".to_owned());
            }
        }
        let (node, is_frozen) = match *change {
            Change::Freeze(node) => (NodeId(node), true),
            Change::Thaw(node) => (NodeId(node), false),
            _ => return Ok(Ok(json!({}))),
        };
        match barrier {
            Some(barrier) => barrier.freeze(node, is_frozen),
            None => self.programs.freeze(node, is_frozen),
        }
        Ok(Ok(json!({})))
    }

    fn counters(&self, node: usize) -> Result<Value, String> {
        let node = node_id(node);
        let counters = self.live.counters(node).ok_or_else(|| {
            format!("found {node}, allowed: nodes with a radio, in networks of up to 1000 nodes")
        })?;
        serde_json::to_value(counters).map_err(|error| error.to_string())
    }

    /// Answers requests whose program has started or ended, and those that have waited for long enough.
    fn answer_pending(&mut self, now: Instant) {
        let Some(client) = &mut self.client else { return };
        if now >= client.captured + CAPTURE_INTERVAL {
            client.captured = now;
            self.programs.capture();
        }
        let mut pending = std::mem::take(&mut client.pending);
        pending.retain(|waiting| {
            let status = self.programs.status(waiting.program);
            let reply = status.map_or_else(|error| Some(Err(error)), |status| waiting.reply(&status, now));
            if let (Some(reply), Some(client)) = (&reply, &self.client) {
                client.reply(&waiting.id, reply.clone());
            }
            reply.is_none()
        });
        if let Some(client) = &mut self.client {
            client.pending = pending;
        }
    }

    /// Answers all requests that still wait: the emulation has ended.
    pub(super) fn refuse_pending(&mut self) {
        let Some(client) = &mut self.client else { return };
        for waiting in std::mem::take(&mut client.pending) {
            client.reply(&waiting.id, Err("the emulation has ended".to_owned()));
        }
    }
}

impl Pending {
    /// The reply, if the program's state decides it.
    fn reply(&self, status: &Status, now: Instant) -> Option<Result<Value, String>> {
        match (self.until, status) {
            (Until::Started, Status::Waiting) => None,
            (Until::Started, Status::Running { pid }) => {
                Some(Ok(json!({"program": self.program, "pid": pid})))
            }
            (Until::Started, Status::Ended(Ok(_))) => Some(Ok(json!({"program": self.program, "pid": null}))),
            (_, Status::Ended(Err(error))) => Some(Err(format!("cannot start the program: {error}"))),
            (Until::Ended { .. }, Status::Ended(Ok(status))) => Some(Ok(ended(*status))),
            (Until::Ended { deadline }, _) if deadline.is_some_and(|deadline| deadline <= now) => {
                Some(Ok(json!({"ended": false})))
            }
            (Until::Ended { .. }, _) => None,
        }
    }
}

fn node_id(station: usize) -> NodeId {
    NodeId(u32::try_from(station).expect("a checked number of stations"))
}

/// Creates a file. A FIFO that nobody reads is refused: opening it would wait for a reader.
fn create(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK.bits();
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path)
}

fn ended(status: ExitStatus) -> Value {
    json!({"ended": true, "exit_code": status.code(), "signal": status.signal()})
}
