//! 802.11 DCF: one station's rules for when to send and how to answer (IEEE 802.11 §9.2, and
//! ns-2's Mac802_11 where the flavour says so).
//!
//! The station is told what it hears ([`Mac::receive`], [`Mac::receive_error`]), when the medium
//! around it turns busy or idle, and when its deadline comes; it answers with frames to send.
//! After any call the driver takes [`Mac::poll_done`], then calls [`Mac::serve`].

mod access;
mod backoff;
mod counters;
mod duplicates;
mod exchange;
mod queue;
mod retry;
#[cfg(test)]
mod tests;

use multihop_core::{Duration, Instant, NodeId, Rng};

use self::backoff::Backoff;
pub use self::counters::Counters;
use self::duplicates::Duplicates;
pub use self::queue::Queue;
use crate::airtime::Airtime;
use crate::frame::{BROADCAST, Frame, FrameKind, Outgoing};
use crate::params::{Flavour, MacParams, RadioParams};
use crate::phy_profile::{PhyProfile, RateIndex};

/// What all stations of a scenario share.
#[derive(Clone, Debug)]
pub struct MacConfig {
    /// The rules.
    pub params: MacParams,
    /// How long frames take.
    pub airtime: Airtime,
    /// The intervals and windows of channel access.
    pub contention: Contention,
    /// Unicast data frames of at least this many bytes are announced by RTS.
    announced_from: u32,
}

/// The intervals and windows of channel access.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    /// Slot time.
    pub slot: Duration,
    /// Short interframe space.
    pub sifs: Duration,
    /// DCF interframe space.
    pub difs: Duration,
    /// Extended interframe space.
    pub eifs: Duration,
    /// Smallest contention window, slots.
    pub cw_min: u32,
    /// Largest contention window, slots.
    pub cw_max: u32,
}

/// One station.
///
/// What every frame of others touches is here, in the order of memory, and is one cache line: among
/// thousands of stations each is out of the cache when its turn comes. The rest is elsewhere: with it
/// a station had 512 bytes, so that these lines fell into a quarter of the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Mac {
    backoff: Backoff,
    /// When the frame that follows another by SIFS goes out.
    sifs_ends: Instant,
    /// When the answer to our frame is overdue, or our own frame is over where none is expected.
    response_due: Instant,
    idle_since: Instant,
    /// Others have announced that they use the medium until then.
    nav: Instant,
    phase: Phase,
    /// The answer was overdue, but something was just arriving: its end decides (standard flavour).
    response_may_be_arriving: bool,
    carrier_busy: bool,
    /// The last thing heard was garbage (standard flavour: EIFS instead of DIFS).
    heard_error: bool,
    id: NodeId,
    own: Box<Own>,
}

/// What only the station's own traffic touches.
#[derive(Clone, Debug)]
struct Own {
    done: Option<Done>,
    service: Option<Service>,
    queue: Queue,
    /// The CTS or ACK that is owed.
    reply: Option<Frame>,
    contention_window: u32,
    short_count: u32,
    long_count: u32,
    next_sequence: u16,
    rng: Rng,
    duplicates: Duplicates,
    counters: Counters,
}

/// The packet that the MAC works on.
#[derive(Clone, Copy, Debug)]
struct Service {
    out: Outgoing,
    sequence: u16,
    announced: Announced,
    /// Sent before: the retry bit of its data frame.
    data_retry: bool,
    /// The retry bit of its RTS.
    rts_retry: bool,
}

/// Where the packet in service stands with RTS and CTS.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Announced {
    /// Short or broadcast: no RTS.
    Never,
    /// An RTS has to be answered first.
    NotYet,
    /// The CTS is there.
    Yes,
}

/// What the station itself has on the air or waits for (ns-2's transmit state).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Idle,
    /// RTS sent, CTS awaited.
    Rts,
    /// CTS sent; in the ns2 flavour also: data awaited.
    Cts,
    /// Data sent, ACK awaited (none after a broadcast).
    Data,
    /// Sending an ACK.
    Ack,
}

/// A frame that starts now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmission {
    /// The frame.
    pub frame: Frame,
    /// How long it lasts.
    pub airtime: Duration,
    /// At what rate, after preamble and PLCP header.
    pub rate: RateIndex,
}

/// A packet that the MAC has finished with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Done {
    /// The packet.
    pub out: Outgoing,
    /// Whether it was acknowledged (a broadcast counts as such); if not, the retry limit was met.
    pub delivered: bool,
}

impl MacConfig {
    /// What all stations of a scenario share.
    pub fn new(radio: &RadioParams, params: &MacParams) -> Self {
        Self {
            params: params.clone(),
            airtime: Airtime::new(radio, params),
            contention: Contention::of(radio.phy),
            announced_from: announced_from(radio.phy, params),
        }
    }
}

impl Contention {
    fn of(phy: &PhyProfile) -> Self {
        let &PhyProfile { slot, sifs, cw_min, cw_max, .. } = phy;
        Self { slot, sifs, difs: phy.difs(), eifs: phy.eifs(), cw_min, cw_max }
    }
}

impl Mac {
    /// A station with nothing to do.
    pub fn new(id: NodeId, config: &MacConfig, rng: Rng) -> Self {
        Self {
            id,
            phase: Phase::Idle,
            backoff: Backoff::Idle,
            sifs_ends: Instant::FAR_FUTURE,
            response_due: Instant::FAR_FUTURE,
            response_may_be_arriving: false,
            carrier_busy: false,
            idle_since: Instant::ZERO,
            nav: Instant::ZERO,
            heard_error: false,
            own: Box::new(Own {
                done: None,
                service: None,
                queue: Queue::new(config.params.queue_kind, config.params.queue),
                reply: None,
                contention_window: config.contention.cw_min,
                short_count: 0,
                long_count: 0,
                next_sequence: 0,
                rng,
                duplicates: Duplicates::default(),
                counters: Counters::default(),
            }),
        }
    }

    /// Queues a packet; gives back the one that finds no room.
    pub fn enqueue(&mut self, out: Outgoing) -> Option<Outgoing> {
        self.own.queue.push(out)
    }

    /// Takes the next packet from the queue if there is none in service.
    pub fn serve(&mut self, now: Instant, config: &MacConfig) {
        if self.own.service.is_some() {
            return;
        }
        let Some(out) = self.own.queue.pop() else { return };
        let announced = if self.announces(&out, config) { Announced::NotYet } else { Announced::Never };
        self.own.service = Some(Service {
            out,
            sequence: self.own.next_sequence,
            announced,
            data_retry: false,
            rts_retry: false,
        });
        self.own.next_sequence = (self.own.next_sequence + 1) & 0x0fff;
        if config.params.flavour == Flavour::Standard {
            self.own.short_count = 0;
            self.own.long_count = 0;
        }
        self.begin_access(now, config);
    }

    /// The packet that was finished by the last call, if one was.
    pub fn poll_done(&mut self) -> Option<Done> {
        self.own.done.take()
    }

    /// Whether [`Mac::poll_done`] or [`Mac::serve`] have something to do.
    #[inline]
    pub fn is_unsettled(&self) -> bool {
        self.own.done.is_some() || (self.own.service.is_none() && !self.own.queue.is_empty())
    }

    /// When [`Mac::handle_timeout`] has work to do ([`Instant::FAR_FUTURE`]: never).
    #[inline]
    pub fn deadline(&self, config: &MacConfig) -> Instant {
        self.sifs_ends.min(self.response_due).min(self.backoff.expires(config.contention.slot))
    }

    /// Does what is due at `now`; may start a transmission.
    pub fn handle_timeout(&mut self, now: Instant, config: &MacConfig) -> Option<Transmission> {
        if self.response_due <= now {
            self.response_due = Instant::FAR_FUTURE;
            self.response_overdue(now, config);
            None
        } else if self.sifs_ends <= now {
            self.sifs_ends = Instant::FAR_FUTURE;
            self.send_after_sifs(now, config)
        } else if self.backoff.expires(config.contention.slot) <= now {
            self.backoff = Backoff::Idle;
            self.send_after_backoff(now, config)
        } else {
            None
        }
    }

    /// Counts so far.
    pub fn counters(&self) -> &Counters {
        &self.own.counters
    }

    /// Counts so far, to add what the receiver saw.
    pub fn counters_mut(&mut self) -> &mut Counters {
        &mut self.own.counters
    }

    /// Packets in the interface queue.
    pub fn queue(&self) -> &Queue {
        &self.own.queue
    }

    /// The interface queue, for purging a lost neighbour's packets.
    pub fn queue_mut(&mut self) -> &mut Queue {
        &mut self.own.queue
    }

    /// The packet in service.
    pub fn in_service(&self) -> Option<&Outgoing> {
        self.own.service.as_ref().map(|s| &s.out)
    }

    /// Whether a packet is announced by RTS.
    fn announces(&self, out: &Outgoing, config: &MacConfig) -> bool {
        out.to != BROADCAST && is_announced(config.airtime.data_bytes(out), config)
    }
}

/// Whether a unicast data frame of `bytes` needs an RTS.
fn is_announced(bytes: u32, config: &MacConfig) -> bool {
    bytes >= config.announced_from
}

/// The shortest unicast data frame that is announced by RTS. ns-2 counts the PLCP preamble and header as part of the
/// frame and announces at the threshold; the standard, above it.
fn announced_from(phy: &PhyProfile, params: &MacParams) -> u32 {
    let Some(threshold) = params.rts_threshold else { return u32::MAX };
    match params.flavour {
        Flavour::Ns2 => threshold.saturating_sub(phy.plcp_bytes()),
        Flavour::Standard => threshold.saturating_add(1),
    }
}

impl Frame {
    fn control(kind: FrameKind, from: NodeId, to: NodeId, nav: Duration, bytes: u32) -> Self {
        Self { kind, from, to, nav, sequence: 0, retry: false, bytes, body: crate::frame::PacketHandle::NONE }
    }
}
