use multihop_core::{Instant, LostSegment, Notice, SegmentId};

use super::TpaEnd;
use super::config::Config;
use super::state::Phase;
use super::timers::Timer;

/// The phase of the sender, and its causes (§3.3, §3.5).
#[derive(Clone, Debug)]
pub(super) struct Phases {
    pub(super) phase: Phase,
    /// Number of segment timers that expired in succession.
    expiries: u8,
    /// Number of ACKs in a row.
    acks: u8,
    /// Number of the first transmission since freezing, counted over the whole connection.
    frozen_from: u64,
    /// Whether a notice reported the failure. The loss of earlier segments then does not show whether the
    /// route works now.
    told: bool,
    /// Whether the route is known to be lost, and a notice will report its return.
    route_lost: bool,
    /// Whether to send one segment as a probe.
    pub(super) ask: bool,
}

impl Phases {
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::Normal,
            expiries: 0,
            acks: 0,
            frozen_from: 0,
            told: false,
            route_lost: false,
            ask: false,
        }
    }
}

impl TpaEnd {
    /// The congestion window in segments.
    pub fn cwnd(&self) -> u8 {
        match self.phases.phase {
            Phase::Normal => self.config.cwnd_max,
            Phase::Congested | Phase::Freeze => 1,
        }
    }

    /// Handles the expired timers of segments in flight.
    pub(super) fn on_segments_due(&mut self, now: Instant) {
        while let Some((_, position)) = self.send.block.first_due().filter(|&(due, _)| due <= now) {
            self.on_expiry(position);
        }
    }

    fn on_expiry(&mut self, position: u8) {
        self.counters.timeouts += 1;
        // §3.3: only segments sent in the congested or freeze state double the timeout. The expiry that
        // causes this state, and those of the same window, do not.
        if !self.send.transmissions.was_calm(self.send.block.piece(position).transmission) {
            self.rtt.back_off();
        }
        self.send.block.on_lost(position);
        let Config { notices, th_cong, th_route, .. } = self.config;
        let phases = &mut self.phases;
        phases.acks = 0;
        phases.expiries = phases.expiries.saturating_add(1);
        match phases.phase {
            Phase::Normal if notices && phases.expiries >= th_cong => {
                phases.phase = Phase::Congested;
                self.counters.congested += 1;
            }
            Phase::Normal if !notices && phases.expiries >= th_route => self.freeze(false),
            _ => {}
        }
    }

    /// Handles an ACK of new segments of the block.
    pub(super) fn on_news(&mut self) {
        let phases = &mut self.phases;
        phases.expiries = 0;
        phases.acks = phases.acks.saturating_add(1);
        // §3.5: if only timeouts indicate a problem, congested and freeze are one state.
        let may_be_congested = match phases.phase {
            Phase::Normal => false,
            Phase::Congested => true,
            Phase::Freeze => !phases.told,
        };
        if may_be_congested && phases.acks >= self.config.th_ack {
            self.return_to_normal();
        }
    }

    /// Ends freezing if an ACK names a transmission `number` sent since freezing began, which shows that the route is
    /// restored.
    pub(super) fn on_named(&mut self, number: u64) {
        if self.phases.phase == Phase::Freeze && number >= self.phases.frozen_from {
            self.phases.expiries = 0;
            self.return_to_normal();
        }
    }

    /// Returns to the normal state. The backoff of the timeout remains until the next sample: if late ACKs are no
    /// samples, a timeout that is too short would otherwise never grow.
    fn return_to_normal(&mut self) {
        if self.phases.phase == Phase::Freeze {
            self.end_silence();
            self.rtt.end_freeze();
        }
        self.phases.phase = Phase::Normal;
    }

    /// Enters the freeze state: the route is assumed broken, because of a notice (`told`) or of expired
    /// timers.
    fn freeze(&mut self, told: bool) {
        let phases = &mut self.phases;
        let frozen = phases.phase == Phase::Freeze;
        if !frozen || (told && !phases.told) {
            phases.phase = Phase::Freeze;
            phases.told = told;
            phases.frozen_from = self.send.transmissions.next();
            self.counters.freezes += u64::from(!frozen);
        }
    }

    pub(super) fn on_notice(&mut self, now: Instant, notice: &Notice) {
        match notice {
            Notice::PathInfo { hops } => {
                if let Some(pacer) = &mut self.pacer {
                    pacer.set_hops(*hops);
                }
            }
            Notice::LinkFailed(lost) => self.on_link_failure(now, *lost),
            Notice::RouteLost if self.config.route_notices && self.flight() > 0 => {
                self.freeze(true);
                self.lose_route(now);
            }
            Notice::RouteRestored => {
                self.end_silence();
                self.probe_restored_route();
            }
            Notice::RouteLost => {}
        }
    }

    fn on_link_failure(&mut self, now: Instant, lost: LostSegment) {
        let Some(position) = self.lost_in_flight(lost) else { return };
        let transmission = self.send.block.piece(position).transmission;
        // §3.3: a frozen sender sends a probe when its timer expires, not at each notice: without a
        // route, the response to a probe may be another notice at once.
        let knows = self.phases.phase == Phase::Freeze && self.phases.told;
        let is_probe = knows && transmission >= self.phases.frozen_from;
        if !is_probe {
            self.counters.notices += 1;
            self.send.block.on_lost(position);
            self.freeze(true);
        }
        if self.config.route_notices {
            self.lose_route(now);
        }
    }

    /// Position of a lost segment; `None` if it is not in flight.
    fn lost_in_flight(&self, lost: LostSegment) -> Option<u8> {
        let SegmentId::Tpa { block, position } = lost.segment else { return None };
        let ours = self.ports.have_sent(lost) && block == self.sending().0;
        (ours && self.send.block.in_flight.contains(position)).then_some(position)
    }

    /// Sends one probe and then waits for a route, because on-demand routing searches only for packets.
    // DEVIATION tpa-2: With route notices a frozen sender sends one segment at first, then one per `silence_max`. In
    // TPA (3.3) it is silent; the segment makes on-demand routing search.
    fn lose_route(&mut self, now: Instant) {
        if !self.phases.route_lost {
            (self.phases.route_lost, self.phases.ask) = (true, true);
            self.timers.set(Timer::Silence, now + self.config.silence_max);
        }
    }

    fn end_silence(&mut self) {
        self.phases.route_lost = false;
        self.phases.ask = false;
        self.timers.stop(Timer::Silence);
    }

    /// Marks every segment sent before the route was restored as lost, so that the next segment leaves at
    /// once.
    fn probe_restored_route(&mut self) {
        if !self.config.probe_restored || self.phases.phase != Phase::Freeze {
            return;
        }
        while let Some((_, position)) = self.send.block.first_due() {
            self.send.block.on_lost(position);
        }
    }

    /// Whether the sender is silent until a notice reports that its route is restored.
    pub(super) fn is_silent(&self) -> bool {
        self.phases.phase == Phase::Freeze && self.phases.route_lost && !self.phases.ask
    }

    /// Delays the next probe, if the leaving segment is a probe of the route.
    pub(super) fn on_probe_of_route(&mut self, now: Instant) {
        if self.phases.ask {
            self.phases.ask = false;
            self.timers.set(Timer::Silence, now + self.config.silence_max);
        }
    }
}
