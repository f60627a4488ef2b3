//! The loop that moves a simulated network on with the wall clock, and carries packets between it and the programs.

mod requests;
mod stepped;

use std::os::fd::AsFd;
use std::sync::Arc;

use multihop_core::{Duration, Instant, earliest};
use multihop_linux::wait::{self, Doorbell, Signals};
use multihop_scenario::Scenario;
use multihop_sim::live::{EntryError, Lateness, Live, keeps_up};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use signal_hook::consts::SIGCHLD;

use self::requests::{ClientState, Served};
use crate::barrier::Barrier;
use crate::clock::VirtualClock;
use crate::control::Control;
use crate::lateness::EmulationResult;
use crate::programs::Programs;
use crate::readers::Readers;
use crate::sandbox::Sandbox;
use crate::slice;
use crate::stations::{StationPort, Stations};
use crate::{EmulateError, Emulated, Tried};

pub(crate) struct Driver<'a> {
    live: Live<'a>,
    end: Instant,
    stations: Stations,
    programs: Programs,
    sandbox: Sandbox,
    signals: Signals,
    readers: Option<Readers>,
    client: Option<ClientState>,
    /// Rung by requests, and by the start and the end of programs.
    bell: Arc<Doorbell>,
    _ended: Signals,
    /// Names of all nodes and hosts.
    names: Vec<String>,
    epoll: Epoll,
    /// Stations whose ports are not read because their queues are full. `None` if packets for a full queue are
    /// dropped instead.
    paused: Option<Vec<usize>>,
    /// Time before an event from which on the driver polls instead of sleeping, because sleeping may end late.
    awake: Duration,
    clock: VirtualClock,
    wakeups: Lateness,
    deliveries: Lateness,
    entered: u64,
    left: u64,
    ignored: u64,
    buffer: Vec<u8>,
    /// Whether time is virtual: it advances only while all programs wait.
    virtual_time: bool,
}

/// Interfaces of an emulation to its user and to other programs: signals, live captures, and how it waits.
pub(crate) struct Outside {
    pub(crate) signals: Signals,
    pub(crate) readers: Option<Readers>,
    pub(crate) control: Option<Control>,
    pub(crate) bell: Arc<Doorbell>,
    pub(crate) names: Vec<String>,
    pub(crate) busy_wait: bool,
}

/// Poll key of the readers' socket, a number that no port has.
const READERS: u64 = u64::MAX;
/// Poll key of the doorbell, a number that no port has.
const BELL: u64 = u64::MAX - 1;
/// Lateness that is caught up with; from more, virtual time slips.
const TOLERANCE: Duration = Duration::from_millis(1);
/// The longest wait: programs may have ended.
const LONGEST: Duration = Duration::from_millis(20);
/// Time before an event for which the driver polls instead of sleeping, if the options permit it.
const AWAKE: Duration = Duration::from_micros(200);
/// Virtual time between two marks in a recording that is read while it grows.
const MARK_EVERY: Duration = Duration::from_millis(100);
/// Packets read from one port before the others have their turn.
const TURN: usize = 32;

impl<'a> Driver<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        live: Live<'a>,
        stations: Stations,
        programs: Programs,
        sandbox: Sandbox,
        outside: Outside,
    ) -> Result<Self, EmulateError> {
        let watch = || WATCH.to_owned();
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).tried(watch)?;
        for (n, port) in (0..).zip(stations.ports()) {
            epoll.add(&port.tun, EpollEvent::new(EpollFlags::EPOLLIN, n)).tried(watch)?;
        }
        let Outside { signals, readers, control, bell, names, busy_wait } = outside;
        epoll.add(&*bell, EpollEvent::new(EpollFlags::EPOLLIN, BELL)).tried(watch)?;
        let ended = Signals::catch_and_ring(&[SIGCHLD], &bell).tried(|| "handle signals".to_owned())?;
        if let Some(readers) = &readers {
            epoll.add(readers, EpollEvent::new(EpollFlags::EPOLLIN, READERS)).tried(watch)?;
        }
        Ok(Self {
            live,
            end: Instant::ZERO + scenario.duration,
            stations,
            programs,
            sandbox,
            signals,
            readers,
            client: control.map(ClientState::new),
            bell,
            _ended: ended,
            names,
            epoll,
            paused: scenario.emulation.back_pressure.then(Vec::new),
            awake: if busy_wait { AWAKE } else { Duration::ZERO },
            clock: VirtualClock::start(),
            wakeups: Lateness::default(),
            deliveries: Lateness::default(),
            entered: 0,
            left: 0,
            ignored: 0,
            buffer: vec![0; 65_536],
            virtual_time: false,
        })
    }

    /// Runs until the end of the scenario, of the command, or until a signal.
    pub(crate) fn run(
        mut self,
        late_limit: Option<Duration>,
        is_followed: bool,
        barrier: Option<Barrier>,
    ) -> Result<Emulated, EmulateError> {
        if let Some(barrier) = barrier {
            self.virtual_time = true;
            return self.run_in_steps(barrier, is_followed);
        }
        wait::wake_on_time();
        slice::shorten();
        let mut marked = Instant::ZERO;
        self.greet();
        loop {
            let now = self.wake();
            self.live.advance(now);
            if is_followed && now >= marked + MARK_EVERY {
                marked = now;
                self.live.tell_readers().tried(|| "write the recording".to_owned())?;
            }
            self.deliver();
            self.resume()?;
            let is_ended = matches!(self.serve_client(now, None)?, Served::End);
            self.programs.update(now, &self.sandbox);
            let is_over = is_ended || self.programs.is_over() || self.live.has_failed();
            if now >= self.end || is_over || self.signals.noted().is_some() {
                break;
            }
            self.wait()?;
        }
        self.finish(late_limit)
    }

    /// Updates the virtual time and returns it. If the next event is too late, the virtual clock is set back by the
    /// delay.
    fn wake(&mut self) -> Instant {
        let now = self.clock.now();
        let Some(due) = self.live.next_event().filter(|due| *due < now) else { return now.min(self.end) };
        let late = now - due;
        self.wakeups.add(late);
        if late <= TOLERANCE {
            return now.min(self.end);
        }
        self.clock.slip(late);
        // Events before an instant are handled, not those at it.
        (due + Duration::from_nanos(1)).max(self.live.now()).min(self.end)
    }

    /// Hands packets that have left the simulated network to the programs.
    fn deliver(&mut self) {
        while let Some(exit) = self.live.poll_exit() {
            self.stations.send(exit.node, exit.interface, &exit.bytes);
            self.left += 1;
            self.deliveries.add(self.clock.now().saturating_since(exit.at));
        }
    }

    /// Waits for the next event, and takes what the programs have sent meanwhile.
    fn wait(&mut self) -> Result<(), EmulateError> {
        let watch = || WATCH.to_owned();
        let next = earliest(self.live.next_event(), self.programs.next());
        let next = earliest(next, self.client.as_ref().and_then(ClientState::next));
        let left = next.map_or(LONGEST, |at| at.saturating_since(self.clock.now()).min(LONGEST));
        let left = left.saturating_sub(self.awake);
        if wait::readable(&[self.epoll.0.as_fd()], Some(left.into())).tried(watch)? == [false] {
            return Ok(());
        }
        let mut events = [EpollEvent::empty(); 64];
        let count = self.epoll.wait(&mut events, EpollTimeout::ZERO).tried(watch)?;
        // Everything that was due before the packets came has happened before they enter.
        let now = self.wake();
        self.live.advance(now);
        for event in &events[..count] {
            match event.data() {
                BELL => self.bell.clear(),
                READERS => {
                    while let Some(reader) = self.readers.as_ref().and_then(Readers::accept) {
                        // A reader that takes nothing is given up.
                        let _ = self.live.add_reader(reader);
                    }
                }
                port => self.read(usize::try_from(port).expect("the number of a port"))?,
            }
        }
        Ok(())
    }

    /// Takes packets that programs have sent over a port.
    fn read(&mut self, port: usize) -> Result<(), EmulateError> {
        for _ in 0..TURN {
            if self.pause(port)? {
                break;
            }
            let StationPort { node, interface, tun } = &self.stations.ports()[port];
            let received = tun.receive(&mut self.buffer);
            let Some(length) = received.tried(|| format!("read from an interface of node {node}"))? else {
                break;
            };
            match self.live.enter(*node, *interface, &self.buffer[..length]) {
                Ok(()) => self.entered += 1,
                Err(EntryError::Packet(_)) => self.ignored += 1,
                Err(EntryError::Recording(error)) => {
                    return Err(error).tried(|| "write the recording".to_owned());
                }
            }
        }
        Ok(())
    }

    /// Stops reading from a port whose queue is full; returns whether the queue is full.
    fn pause(&mut self, port: usize) -> Result<bool, EmulateError> {
        let StationPort { node, interface, .. } = self.stations.ports()[port];
        let Some(paused) = self.paused.as_mut().filter(|_| !self.live.has_room(node, interface)) else {
            return Ok(false);
        };
        paused.push(port);
        self.watch(port, EpollFlags::empty())?;
        Ok(true)
    }

    /// Reads again from ports whose queues have room.
    fn resume(&mut self) -> Result<(), EmulateError> {
        let Some(paused) = &mut self.paused else { return Ok(()) };
        let ports = self.stations.ports();
        let has_room = |port: &mut usize| self.live.has_room(ports[*port].node, ports[*port].interface);
        let ready: Vec<_> = paused.extract_if(.., has_room).collect();
        ready.into_iter().try_for_each(|port| self.watch(port, EpollFlags::EPOLLIN))
    }

    fn watch(&self, port: usize, flags: EpollFlags) -> Result<(), EmulateError> {
        let mut event = EpollEvent::new(flags, port as u64);
        self.epoll.modify(&self.stations.ports()[port].tun, &mut event).tried(|| WATCH.to_owned())
    }

    /// How well the emulation has kept up so far.
    fn lateness(&self, late_limit: Option<Duration>) -> EmulationResult {
        let (wall, lost) = (self.clock.elapsed().as_secs_f64(), self.clock.lost().as_secs_f64());
        let wakeups_late_ms = self.wakeups.quantiles_ms();
        let deliveries_late_ms = self.deliveries.quantiles_ms();
        let lost_share = if wall > 0.0 { lost / wall } else { 0.0 };
        EmulationResult {
            entered: self.entered,
            left: self.left,
            ignored: self.ignored,
            virtual_time: self.virtual_time,
            wakeups_late_ms,
            deliveries_late_ms,
            lost_share,
            valid: keeps_up(late_limit, [wakeups_late_ms, deliveries_late_ms], lost_share),
        }
    }

    fn finish(mut self, late_limit: Option<Duration>) -> Result<Emulated, EmulateError> {
        let emulation = self.lateness(late_limit);
        self.refuse_pending();
        let programs = self.programs.end(self.sandbox);
        let run = self.live.finish()?;
        Ok(Emulated { run, emulation, programs, interrupted: self.signals.noted() })
    }
}

const WATCH: &str = "watch the interfaces";

/// Notes the signals that end an emulation.
pub(crate) fn catch_signals() -> Result<Signals, EmulateError> {
    Signals::catch_ending().tried(|| "handle signals".to_owned())
}
