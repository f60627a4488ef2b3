//! A scenario that is advanced from outside, with a port at each node and host through which packets of real
//! programs enter and leave. It has no clock: the caller determines its time.

pub(crate) mod change;
mod counters;
pub(crate) mod interfaces;
mod lateness;
pub(crate) mod recording;
mod replay;

use std::collections::BTreeSet;
use std::io;

use multihop_core::{BitRate, Instant, Interface, NodeId};
use multihop_scenario::{App, Layout, Port, Problems, Scenario, Source, canonical};
use multihop_wire::ParseError;

pub use self::change::{Change, LossKind};
pub use self::counters::{LinkCounters, NodeCounters};
pub use self::interfaces::{StationInterface, interfaces};
pub use self::lateness::{Lateness, Quantiles, keeps_up};
pub use self::recording::{Head, Recording, is_recording, read_head};
pub use self::replay::replay;
use crate::fingerprint::Fingerprint;
use crate::observe::Outputs;
pub use crate::real::{Attempts, EthernetFrame, RealPacket, WifiFrame};
use crate::results::RunResult;
use crate::run::{RunError, observer, wall_clock};
use crate::trace::{Capture, CaptureFilter};
pub use crate::world::{Exit, WifiEvent};
use crate::world::{InterfaceAddresses, World};

/// One run of a scenario with ports. The events depend only on the scenario, its seed, and the packets that
/// entered with their times, not on the number of calls that advance it.
pub struct Live<'a> {
    world: World<'a>,
    scenario: &'a Scenario,
    layout: Layout,
    measures: bool,
    recording: Option<Recording>,
    /// Nodes whose radios are frozen.
    frozen: BTreeSet<u32>,
    wall: Box<dyn Fn() -> std::time::Duration>,
}

impl<'a> Live<'a> {
    /// Creates a scenario at its beginning; `recording` records the packets that enter.
    pub fn new(
        scenario: &'a Scenario,
        outputs: Outputs,
        recording: Option<Recording>,
    ) -> Result<Self, RunError> {
        if scenario.flows.iter().any(|flow| matches!(flow.app, App::Paced { .. })) {
            return Err(RunError::PacedLive);
        }
        let layout = scenario.topology.place(scenario.seed)?;
        let mut observer = observer(scenario, &layout, outputs)?;
        observer.watch_queues(scenario.topology.nodes());
        let mut world = World::new(scenario, &layout, observer);
        world.keep_order();
        Ok(Self {
            world,
            scenario,
            layout,
            measures: false,
            recording,
            frozen: BTreeSet::new(),
            wall: Box::new(wall_clock()),
        })
    }

    /// Virtual time that the network has reached.
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// Instant of the next event in the simulated network; `None` if there is none.
    pub fn next_event(&self) -> Option<Instant> {
        let warm = Instant::ZERO + self.scenario.warmup;
        let event = self.world.next_event();
        if self.measures { event } else { Some(event.map_or(warm, |event| event.min(warm))) }
    }

    /// Handles all events before `end`, which must not be in the past.
    pub fn advance(&mut self, end: Instant) {
        let warm = Instant::ZERO + self.scenario.warmup;
        if !self.measures && warm <= end {
            self.world.run_until(warm);
            self.world.begin_measuring();
            self.measures = true;
        }
        self.world.run_until(end);
    }

    /// Lets a packet of a program at `node` enter now over one of its [`interfaces()`]: an IP packet, or with
    /// TAP interfaces an Ethernet frame. All other bytes are refused.
    ///
    /// # Panics
    ///
    /// If there is no such node or host, or it has no such interface.
    pub fn enter(&mut self, node: NodeId, interface: Interface, bytes: &[u8]) -> Result<(), EntryError> {
        let n = interface.0;
        assert!(
            interfaces::exists(self.scenario, node, interface),
            "no interface {n} of a node or host {node}"
        );
        let entered = Entered::parse(self.scenario, node, interface, bytes)?;
        if let Some(recording) = &mut self.recording {
            recording.entered(self.world.now(), node, interface, bytes)?;
        }
        entered.enter(&mut self.world, node, interface);
        Ok(())
    }

    /// Changes the network now; the error names what is allowed. Freezing a frozen node and thawing another changes nothing.
    pub fn change(&mut self, change: &Change) -> Result<(), ChangeError> {
        change.check(self.scenario).map_err(ChangeError::Refused)?;
        let has_effect = match change {
            Change::Freeze(node) => self.frozen.insert(*node),
            Change::Thaw(node) => self.frozen.remove(node),
            _ => true,
        };
        if !has_effect {
            return Ok(());
        }
        if let Some(recording) = &mut self.recording {
            recording.changed(self.world.now(), change)?;
        }
        self.world.change(change);
        Ok(())
    }

    /// Whether the radios of a node are frozen.
    pub fn is_frozen(&self, node: NodeId) -> bool {
        self.frozen.contains(&node.0)
    }

    /// Counters of a node since the warm-up; `None` for hosts, and in networks of more than 1000 nodes.
    pub fn counters(&self, node: NodeId) -> Option<NodeCounters> {
        (!self.scenario.is_host(node)).then(|| self.world.counters(node)).flatten()
    }

    /// Whether another packet that enters over an interface of `node` finds room: in the queue of the interface's radio, under
    /// TUN in the queues of all radios of the node, or on the wire of a host.
    pub fn has_room(&self, node: NodeId, interface: Interface) -> bool {
        self.world.has_room(node, interface)
    }

    /// The next packet that has left the network.
    pub fn poll_exit(&mut self) -> Option<Exit> {
        self.world.poll_exit()
    }

    /// Lets an 802.11 frame of a real Wi-Fi stack enter the queue of a node's radio now. The receiver is a node, or
    /// [`NodeId::BROADCAST`]. [`poll_wifi`](Self::poll_wifi) returns the outcome with the frame's `cookie`. `rates` are
    /// the rates of its transmissions under `rate_control = "kernel"`; other rate controls ignore them. Recordings do not
    /// contain such frames.
    pub fn enter_wifi(
        &mut self,
        node: NodeId,
        interface: Interface,
        to: NodeId,
        bytes: &[u8],
        cookie: u64,
        rates: &[BitRate],
    ) {
        self.world.enter_wifi(node, interface, to, bytes, cookie, rates);
    }

    /// The next event for a real Wi-Fi stack: a received frame, or the outcome of a frame that entered.
    pub fn poll_wifi(&mut self) -> Option<WifiEvent> {
        self.world.poll_wifi()
    }

    /// Mean power of a node's signal at another node now, dBm; `None` if the receiver does not sense it.
    pub fn signal_dbm(&mut self, interface: Interface, from: NodeId, to: NodeId) -> Option<f64> {
        self.world.signal_dbm(interface, from, to)
    }

    /// Bit rate of data frames from one node to another: the scenario's rate, or the present choice of rate control.
    pub fn wifi_rate(&self, interface: Interface, from: NodeId, to: NodeId) -> BitRate {
        self.world.wifi_rate(interface, from, to)
    }

    /// Adds a reader of a live capture: from now on all frames are written to `out`, until a write fails.
    pub fn add_reader(&mut self, out: Box<dyn io::Write + Send>) -> io::Result<()> {
        let reader = Capture::new(out, self.scenario, &self.layout, CaptureFilter::default())?;
        self.world.observer_mut().add_reader(reader);
        Ok(())
    }

    /// Writes the current virtual time to the recording, so that programs that read the growing recording can
    /// advance to this time.
    pub fn tell_readers(&mut self) -> io::Result<()> {
        let now = self.world.now();
        self.recording.as_mut().map_or(Ok(()), |recording| recording.passed(now))
    }

    /// Whether writing an output has failed. The run should then end: [`finish`](Self::finish) returns the error.
    pub fn has_failed(&self) -> bool {
        self.world.observer().has_failed()
    }

    /// Ends the run now.
    pub fn finish(self) -> Result<RunResult, RunError> {
        if let Some(recording) = self.recording {
            recording.finish(self.world.now())?;
        }
        let (result, observer) = self.world.finish((self.wall)());
        observer.finish()?;
        Ok(result)
    }
}

/// Packet or frame that was read from a real interface and enters the simulation.
pub(crate) enum Entered {
    Packet(RealPacket),
    Frame(EthernetFrame),
}

impl Entered {
    /// Parses a packet or frame that arrived at an interface of a node.
    pub(crate) fn parse(
        scenario: &Scenario,
        node: NodeId,
        interface: Interface,
        bytes: &[u8],
    ) -> Result<Self, ParseError> {
        Ok(match scenario.port(node) {
            Port::Tun => Self::Packet(RealPacket::parse(bytes)?),
            Port::Tap => {
                let mac = InterfaceAddresses::new(scenario).number(interface, node).mac();
                Self::Frame(EthernetFrame::parse(mac, bytes)?)
            }
        })
    }

    /// Puts the packet or frame into the network at a node.
    pub(crate) fn enter(self, world: &mut World<'_>, node: NodeId, interface: Interface) {
        match self {
            Self::Packet(packet) => world.enter(node, packet),
            Self::Frame(frame) => world.enter_ethernet(node, interface, frame),
        }
    }
}

/// Reason for which a packet did not enter.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// The bytes are no packet of this kind, or are too long.
    #[error("not a valid packet of the network: {0}")]
    Packet(#[from] ParseError),
    /// The entry could not be recorded.
    #[error("cannot write the recording: {0}")]
    Recording(#[from] io::Error),
}

/// Reason for which a network was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The scenario has no such change; the message names what is allowed.
    #[error("{0}")]
    Refused(String),
    /// The change could not be recorded.
    #[error("cannot write the recording: {0}")]
    Recording(#[from] io::Error),
}

/// Number of nodes and hosts of a scenario, each of which has a port.
pub fn stations(scenario: &Scenario) -> usize {
    scenario.topology.nodes() + scenario.hosts.len()
}

/// Hash of the scenario (without its name) and the seed. Together with the entering packets they determine a
/// run.
pub fn identity(
    source: &Source,
    overrides: &[(String, String)],
    scenario: &Scenario,
) -> Result<String, Problems> {
    let mut fingerprint = Fingerprint::new();
    fingerprint.add(canonical(source, overrides)?.as_bytes());
    fingerprint.add(format!("\n{}", scenario.seed).as_bytes());
    Ok(fingerprint.digits())
}
