//! Virtual time: the barrier at which the threads of all programs wait, and which continues one thread at a time.
//!
//! A library in the programs (`preload/`) reports each call that would block. When all threads wait and no byte is left
//! to be moved, the driver advances the time to the next event. Results then depend neither on the speed of the
//! machine nor on what else runs on it.

mod message;
mod process;
mod sockets;
mod stream;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use multihop_core::{Instant, NodeId, earliest};
use multihop_linux::netns::Namespace;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, getsockopt, listen, socket,
};
use nix::unistd::{Pid, getpgid};

use self::message::{Message, kind};
use self::process::Process;
use self::sockets::Sockets;

/// The threads of all programs, and their sockets.
pub(crate) struct Barrier {
    /// Sockets at which threads connect, one for each station.
    listeners: Vec<OwnedFd>,
    /// Processes in the order in which the driver has heard of them.
    processes: BTreeMap<u32, Process>,
    /// Threads in the order in which they have connected.
    threads: BTreeMap<u32, Thread>,
    sockets: Sockets,
    next_number: u32,
    /// Why a program cannot run in virtual time.
    refusal: Option<String>,
}

struct Thread {
    process: u32,
    /// Number of the thread in its process.
    key: i32,
    channel: OwnedFd,
    until: Until,
}

/// Conditions of which any continues a thread.
#[derive(Default)]
struct Until {
    deadline: Option<Instant>,
    descriptor: Option<(OwnedFd, PollFlags)>,
    is_woken: bool,
}

/// The library, for machines on which it can be built.
static PRELOAD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));
/// Name of the library, a file in memory.
const LIBRARY: &str = "multihop-virtual-time";
/// Path of the library for programs: standard error of the first process of the sandbox.
pub(crate) const LIBRARY_PATH: &str = "/proc/1/fd/2";
/// Name of the sockets at which threads connect, in the network namespace of each station.
const CHANNEL: &[u8] = b"multihop-virtual-time";
/// Real time without a call after which a program cannot run in virtual time.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
/// Longest wait for a program before its output is read, ms.
const PAUSE: u8 = 20;

/// Work of the driver while a program runs, such as reading its output. Returns whether the emulation should end.
pub(crate) type Meanwhile<'a> = &'a mut dyn FnMut() -> bool;

impl Barrier {
    /// A barrier without threads, in these stations.
    pub(crate) fn new(namespaces: &[Namespace], mtu: u16) -> io::Result<Self> {
        // Programs keep the usual limit, because they descend from a process that has already been started.
        multihop_linux::wait::raise_limit_of_descriptors();
        let listeners =
            namespaces.iter().map(|namespace| namespace.run(listener)?).collect::<io::Result<_>>()?;
        Ok(Self {
            listeners,
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            sockets: Sockets::new(mtu),
            next_number: 0,
            refusal: None,
        })
    }

    /// Notes that a process has been started at a station, and that it will connect.
    pub(crate) fn expect(&mut self, node: NodeId, pid: u32) {
        let pid = pid.cast_signed();
        if !self.processes.values().any(|process| process.pid == pid) {
            let number = self.number();
            self.processes.insert(number, Process::new(node, pid));
        }
    }

    /// Lets programs and connections do everything that they can do at this instant.
    pub(crate) fn settle(&mut self, now: Instant, meanwhile: Meanwhile<'_>) -> io::Result<()> {
        self.ring_alarms(now);
        let mut spent: BTreeMap<u32, std::time::Duration> = BTreeMap::new();
        loop {
            self.wait_for_expected(meanwhile)?;
            let ready = self.ready(now)?;
            let has_run = !ready.is_empty();
            for thread in ready {
                let Some(process) = self.threads.get(&thread).map(|thread| thread.process) else { continue };
                let begun = std::time::Instant::now();
                self.run(thread, now, meanwhile)?;
                let spent = spent.entry(process).or_default();
                *spent += begun.elapsed();
                if *spent > PATIENCE && self.refusal.is_none() {
                    self.refuse(process, ENDLESS);
                }
                if self.refusal.is_some() {
                    return Ok(());
                }
            }
            let has_moved = self.sockets.advance(now)?;
            if meanwhile() || !(has_moved || has_run) {
                return Ok(());
            }
        }
    }

    /// When the next thread continues by itself, or a timer expires.
    pub(crate) fn next(&self) -> Option<Instant> {
        let threads = self.threads.values().filter(|thread| !self.is_frozen(thread));
        let deadline = threads.filter_map(|thread| thread.until.deadline).min();
        let alarm = self.processes.values().filter_map(|process| process.alarm).min();
        earliest(earliest(deadline, alarm), self.sockets.next())
    }

    /// Why a program cannot run in virtual time; the emulation then has no result.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Handles a packet that has left the simulated network.
    pub(crate) fn receive(&mut self, node: NodeId, packet: &[u8], now: Instant) {
        self.sockets.receive(node, packet, now);
    }

    /// The next packet of a program for the simulated network.
    pub(crate) fn poll_packet(&mut self) -> Option<(NodeId, Vec<u8>)> {
        self.sockets.poll_outgoing()
    }

    /// Ports that programs of a node have opened.
    pub(crate) fn ports(&self, node: NodeId) -> Vec<u16> {
        self.sockets.ports(node)
    }

    /// Stops the threads of a node, or lets them go on.
    pub(crate) fn freeze(&mut self, node: NodeId, is_frozen: bool) {
        for process in self.processes.values_mut().filter(|process| process.node == node) {
            process.is_frozen = is_frozen;
        }
    }

    /// Lets all processes of a group, or of all groups, take a signal that was sent to them.
    pub(crate) fn note_signal(&mut self, group: Option<u32>, signal: Signal) {
        let group = group.map(|group| Pid::from_raw(group.cast_signed()));
        for (number, process) in &mut self.processes {
            let own = Pid::from_raw(process.pid);
            if group.is_some_and(|group| getpgid(Some(own)) != Ok(group)) {
                continue;
            }
            if signal == Signal::SIGKILL && group.is_some() {
                process.is_frozen = false;
                while !process.has_ended(PAUSE) {}
            }
            for thread in self.threads.values_mut().filter(|thread| thread.process == *number) {
                thread.until.is_woken = true;
            }
        }
    }

    fn number(&mut self) -> u32 {
        self.next_number += 1;
        self.next_number
    }

    fn is_frozen(&self, thread: &Thread) -> bool {
        self.processes.get(&thread.process).is_some_and(|process| process.is_frozen)
    }

    fn ring_alarms(&mut self, now: Instant) {
        for (number, process) in &mut self.processes {
            if process.alarm.is_some_and(|alarm| alarm <= now) {
                process.alarm = None;
                let _ = kill(Pid::from_raw(process.pid), Signal::SIGALRM);
                for thread in self.threads.values_mut().filter(|thread| thread.process == *number) {
                    thread.until.is_woken = true;
                }
            }
        }
    }

    /// Threads that go on at this instant, in order.
    fn ready(&self, now: Instant) -> io::Result<Vec<u32>> {
        let waiting: Vec<_> = self.threads.iter().filter(|(_, thread)| !self.is_frozen(thread)).collect();
        let mut polled = Vec::new();
        for (_, thread) in &waiting {
            polled.push(PollFd::new(thread.channel.as_fd(), PollFlags::empty()));
            let descriptor = thread.until.descriptor.as_ref();
            let (descriptor, events) = descriptor
                .map_or((thread.channel.as_fd(), PollFlags::empty()), |(fd, events)| (fd.as_fd(), *events));
            polled.push(PollFd::new(descriptor, events));
        }
        poll_now(&mut polled)?;
        let is_ready = |index: usize| polled[index].revents().is_some_and(|events| !events.is_empty());
        let ready = waiting.iter().enumerate().filter(|(n, (_, thread))| {
            let until = &thread.until;
            until.is_woken
                || until.deadline.is_some_and(|deadline| deadline <= now)
                || is_ready(2 * n)
                || is_ready(2 * n + 1)
        });
        Ok(ready.map(|(_, (number, _))| **number).collect())
    }

    /// Continues a thread until it waits again or has ended.
    fn run(&mut self, number: u32, now: Instant, meanwhile: Meanwhile<'_>) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&number) else { return Ok(()) };
        thread.until = Until::default();
        Message::go_on(now).send(&thread.channel);
        let begun = std::time::Instant::now();
        loop {
            let Some(thread) = self.threads.get(&number) else { return Ok(()) };
            if !readable(&thread.channel, PAUSE)? {
                if meanwhile() {
                    return Ok(());
                }
                if begun.elapsed() > PATIENCE {
                    self.refuse_silent(thread.process);
                    return Ok(());
                }
                continue;
            }
            let Some((message, attached)) = Message::receive(&thread.channel)? else {
                self.end_process(self.threads[&number].process, meanwhile);
                break;
            };
            if message.kind == kind::END {
                self.threads.remove(&number);
                break;
            }
            if let Some(process) = self.processes.get_mut(&self.threads[&number].process) {
                process.is_expected = false;
            }
            if message.kind == kind::WAIT {
                let events = PollFlags::from_bits_truncate(message.events.cast_signed());
                let thread = self.threads.get_mut(&number).expect("it has just been found");
                thread.until = Until {
                    deadline: message.instant(),
                    descriptor: attached.map(|descriptor| (descriptor, events)),
                    is_woken: thread.until.is_woken,
                };
                break;
            }
            self.answer(number, message, attached, now, meanwhile)?;
            if self.refusal.is_some() {
                return Ok(());
            }
        }
        self.accept()
    }

    /// Handles a message of the running thread, and replies unless the message needs no reply.
    fn answer(
        &mut self,
        number: u32,
        message: Message,
        attached: Option<OwnedFd>,
        now: Instant,
        meanwhile: Meanwhile<'_>,
    ) -> io::Result<()> {
        let process = self.threads[&number].process;
        let mut reply = message;
        match message.kind {
            kind::WAKE => {
                let mut threads = self.threads.values_mut();
                let woken = threads.find(|thread| thread.process == process && thread.key == message.first);
                if let Some(thread) = woken {
                    thread.until.is_woken = true;
                }
                return Ok(());
            }
            kind::EXEC => self.with(process, |process| process.is_expected = true),
            kind::SPAWNED => {
                self.accept()?;
                if let Some(pid) = attached.as_ref().and_then(process::pid_of) {
                    self.expect(self.processes[&process].node, pid);
                    let child = self.processes.values_mut().find(|child| child.pid.cast_unsigned() == pid);
                    child.expect("it has just been noted").set_first_name(message.text());
                }
                // The order in which processes connect must not depend on real time.
                self.wait_for_expected(meanwhile)?;
            }
            kind::ALARM => {
                let old = self.processes.get(&process).and_then(|process| process.alarm);
                self.with(process, |process| process.alarm = message.instant());
                reply.time = old.map_or(-1, message::nanos);
            }
            kind::SIGNAL => self.pass_signal(message.first, message.second),
            kind::REFUSE => {
                self.refuse(process, &message.text());
            }
            _ => {
                let node = self.processes.get(&process).map_or(NodeId(0), |process| process.node);
                reply = self.sockets.answer(node, message, attached, now);
            }
        }
        if let Some(thread) = self.threads.get(&number) {
            reply.send(&thread.channel);
        }
        Ok(())
    }

    fn with(&mut self, process: u32, change: impl FnOnce(&mut Process)) {
        if let Some(process) = self.processes.get_mut(&process) {
            change(process);
        }
    }

    /// Lets processes take a signal that another process has sent.
    fn pass_signal(&mut self, to: i32, signal: i32) {
        let target = self.processes.values().find(|process| process.inner == to && to > 0);
        if let Some(process) = target.filter(|_| signal == Signal::SIGKILL as i32) {
            while !process.has_ended(PAUSE) {}
        }
        for thread in self.threads.values_mut() {
            thread.until.is_woken = true;
        }
    }

    /// Removes the threads of a process whose channels have ended. Unless the process becomes another program, waits for its
    /// end.
    fn end_process(&mut self, number: u32, meanwhile: Meanwhile<'_>) {
        self.threads.retain(|_, thread| thread.process != number);
        let Some(process) = self.processes.get(&number).filter(|process| !process.is_expected) else {
            return;
        };
        let begun = std::time::Instant::now();
        while !process.has_ended(PAUSE) && !meanwhile() {
            if begun.elapsed() > PATIENCE {
                self.refuse_silent(number);
                return;
            }
        }
        let parent = process.parent;
        self.processes.remove(&number);
        self.wake_process(parent);
    }

    /// Continues the threads of a process, one of which may wait for the end of a child.
    fn wake_process(&mut self, inner: i32) {
        let found = self.processes.iter().find(|(_, process)| process.inner == inner);
        let Some(number) = found.map(|(number, _)| *number) else { return };
        for thread in self.threads.values_mut().filter(|thread| thread.process == number) {
            thread.until.is_woken = true;
        }
    }

    /// Takes the threads that have connected.
    fn accept(&mut self) -> io::Result<()> {
        for station in 0..self.listeners.len() {
            while let Some(channel) = accept_channel(&self.listeners[station])? {
                let Some((message, _)) = Message::receive(&channel)? else { continue };
                let pid = getsockopt(&channel, PeerCredentials)?.pid();
                let node = NodeId(u32::try_from(station).expect("a checked number of stations"));
                self.expect(node, pid.cast_unsigned());
                let found = self.processes.iter_mut().find(|(_, process)| process.pid == pid);
                let (process, state) = found.expect("it has just been noted");
                let (process, is_first) = (*process, message.kind == kind::START);
                if is_first {
                    (state.inner, state.parent, state.is_expected) = (message.first, message.second, false);
                }
                let key = if is_first { 0 } else { message.second };
                let until = Until { is_woken: true, ..Until::default() };
                let number = self.number();
                self.threads.insert(number, Thread { process, key, channel, until });
            }
        }
        Ok(())
    }

    /// Waits for the processes that have been started and have not connected yet.
    fn wait_for_expected(&mut self, meanwhile: Meanwhile<'_>) -> io::Result<()> {
        let begun = std::time::Instant::now();
        loop {
            self.accept()?;
            let expected = self.processes.iter().find(|(_, process)| process.is_expected);
            let Some((number, process)) = expected.map(|(number, process)| (*number, process)) else {
                return Ok(());
            };
            if process.has_ended(0) {
                self.accept()?;
                if self.processes.get(&number).is_some_and(|process| process.is_expected) {
                    self.refuse(number, NOT_LOADED);
                    return Ok(());
                }
                continue;
            }
            self.with(number, Process::note_name);
            let mut polled: Vec<_> = self
                .listeners
                .iter()
                .map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN))
                .collect();
            poll(&mut polled, PollTimeout::from(1_u8)).or_else(ignore_interrupt)?;
            if meanwhile() {
                return Ok(());
            }
            if begun.elapsed() > STARTING && !self.processes[&number].has_library()
                || begun.elapsed() > PATIENCE
            {
                self.refuse_silent(number);
                return Ok(());
            }
        }
    }

    fn refuse_silent(&mut self, process: u32) {
        let has_library = self.processes.get(&process).is_some_and(Process::has_library);
        self.refuse(process, if has_library { SILENT } else { NOT_LOADED });
    }

    /// Ends the emulation because of what was found in a process.
    fn refuse(&mut self, process: u32, found: &str) {
        let name = self.processes.get_mut(&process).map(|process| process.name().to_owned());
        self.refusal = Some(format!(
            "found {found} in {:?}, allowed in virtual time: programs as in \"Virtual time\" of docs/lab.md",
            name.unwrap_or_default()
        ));
    }
}

/// Reasons for which a program cannot run in virtual time.
const NOT_LOADED: &str = "no library of virtual time (a statically linked or setuid program?)";
const SILENT: &str = "no call for 60 s of real time";
const ENDLESS: &str = "calls for 60 s of real time at one instant of virtual time";

/// Real time within which a started program must load the library of virtual time.
const STARTING: std::time::Duration = std::time::Duration::from_secs(20);

/// The library as a file in memory, open for reading.
pub(crate) fn library() -> io::Result<File> {
    if PRELOAD.is_empty() {
        let message =
            "this multihop was built without virtual time, allowed: Linux with glibc on x86-64 or AArch64";
        return Err(io::Error::other(message));
    }
    let mut file = File::from(memfd_create(LIBRARY, MFdFlags::MFD_CLOEXEC)?);
    file.write_all(PRELOAD)?;
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn listener() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    bind(listener.as_raw_fd(), &UnixAddr::new_abstract(CHANNEL)?)?;
    listen(&listener, Backlog::MAXCONN)?;
    Ok(listener)
}

#[expect(unsafe_code, reason = "the kernel has just made this descriptor for this process")]
fn accept_channel(listener: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    match accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC) {
        // SAFETY: accept4 has made the descriptor, and nothing else owns it.
        Ok(descriptor) => Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) })),
        Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNABORTED) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn readable(channel: &OwnedFd, ms: u8) -> io::Result<bool> {
    let mut polled = [PollFd::new(channel.as_fd(), PollFlags::POLLIN)];
    Ok(poll(&mut polled, PollTimeout::from(ms)).or_else(ignore_interrupt)? > 0)
}

/// Finds the events that descriptors have now.
fn poll_now(polled: &mut [PollFd<'_>]) -> io::Result<()> {
    while let Err(error) = poll(polled, PollTimeout::ZERO) {
        ignore_interrupt(error)?;
    }
    Ok(())
}

fn ignore_interrupt(error: Errno) -> Result<i32, Errno> {
    if error == Errno::EINTR { Ok(0) } else { Err(error) }
}
