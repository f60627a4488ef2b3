//! Stand-by: the path is considered lost, and the connection waits for it instead of backing off.
//!
//! Two events start it: a notice that a link failed (`elfn.rs`), and a retransmission timeout that
//! means a disconnection to ADTCP (`report.rs`). Both pass a [`Standby`], which defines the rest:
//!
//! * The retransmission timer is off, and no data leaves except one probe per `interval`, the first one
//!   `at_once` or an interval after the start. ACKs of the peer's data are sent as usual. Probes are not paced.
//! * Window, threshold, timeout and backoff do not change. After a timeout, but not after a notice,
//!   the sender continues at the first hole.
//! * An ACK ends it (`exit`). The window and the timeout are then set (`restore`), the timer
//!   restarts, and only then is the ACK processed like any other.
//! * With `max_probes`, the connection ends one interval after the last of them.

use multihop_core::{Duration, Instant};
use multihop_wire::tcp::Segment;

use super::outage::{Exit, Probe, ProbeInterval, Restore, Standby, Waiting};
use super::timer::Timer;
use super::{Event, TcpEnd};

impl TcpEnd {
    /// Puts the sender on stand-by, unless it already is. `lost` is the position of a lost segment, if known.
    pub(super) fn stand_by(&mut self, now: Instant, plan: Standby, lost: Option<u64>) {
        if let Some(waiting) = &mut self.waiting {
            waiting.lost = waiting.lost.into_iter().chain(lost).min();
            return;
        }
        self.counters.standbys += 1;
        self.note_outage();
        for timer in [Timer::Retransmit, Timer::Persist, Timer::Pace, Timer::Reorder, Timer::Tail] {
            self.timers.stop(timer);
        }
        self.waiting = Some(Waiting { plan, lost, probes: 0, due: plan.at_once });
        self.start_probe_timer(now);
    }

    pub(super) fn on_probe_timer(&mut self) {
        let Some(waiting) = &mut self.waiting else { return };
        if waiting.plan.probing.max_probes.is_some_and(|limit| waiting.probes >= limit) {
            self.finish(Event::TimedOut);
        } else {
            waiting.due = true;
        }
    }

    /// Builds the next probe of the path, if one is due.
    pub(super) fn next_probe(&mut self, now: Instant) -> Option<Segment> {
        let waiting = self.waiting.as_mut().filter(|waiting| waiting.due)?;
        waiting.due = false;
        waiting.probes = waiting.probes.saturating_add(1);
        let (position, most) = match waiting.plan.end.probe {
            Probe::First => (self.send.una, self.mss),
            Probe::LowestLost => (waiting.lost.unwrap_or(self.send.una).max(self.send.una), self.mss),
            Probe::FirstBytes(bytes) => (self.send.una, u32::from(bytes.max(1)).min(self.mss)),
        };
        self.counters.probes += 1;
        self.start_probe_timer(now);
        let sent = self.send.max.min(self.send.queue.end()).saturating_sub(position);
        let len = u32::try_from(sent).unwrap_or(u32::MAX).min(most);
        Some(self.transmit(now, position, len))
    }

    /// Ends stand-by after an ACK, if the exit condition holds. `is_new`: the ACK acknowledges new data.
    pub(super) fn on_ack_in_standby(&mut self, now: Instant, is_new: bool) {
        let Some(waiting) = &mut self.waiting else { return };
        if !is_new && waiting.plan.end.exit == Exit::New {
            // The probe arrived; only data before it is missing.
            waiting.lost = None;
            return;
        }
        let restore = waiting.plan.end.restore;
        self.waiting = None;
        self.timers.stop(Timer::Probe);
        match restore {
            Restore::Keep => {}
            Restore::Window | Restore::RtoWindow => self.congestion.control_mut().window_mut().shrink(),
            Restore::RouteChange => self.resume(),
        }
        self.congestion.control_mut().on_path_restored(now);
        if restore == Restore::RtoWindow {
            self.rtt.restart();
        }
        self.restart_retransmit_timer(now);
    }

    /// Restores the state before stand-by (ADTCP, section 4.1). The timeout had moved the sender back to the
    /// first hole. The sender continues at its former position; the scoreboard, or without SACK partial ACKs,
    /// show the missing segments.
    fn resume(&mut self) {
        self.congestion.control_mut().window_mut().resume();
        if !self.sack {
            self.send.next = self.send.max;
            self.recovery.resume(self.send.max);
        }
    }

    fn start_probe_timer(&mut self, now: Instant) {
        let Some(waiting) = &self.waiting else { return };
        let interval = match waiting.plan.probing.interval {
            ProbeInterval::Fixed(interval) => interval.max(FLOOR),
            ProbeInterval::RoundTrips => {
                self.rtt.srtt().map_or(SLOWEST, |srtt| (srtt * ROUND_TRIPS).clamp(FASTEST, SLOWEST))
            }
        };
        self.timers.set(Timer::Probe, now + interval);
    }
}

const ROUND_TRIPS: u64 = 4;
const FASTEST: Duration = Duration::from_millis(200);
const SLOWEST: Duration = Duration::from_secs(2);
/// Shortest timeout: a timer of zero would expire endlessly at one instant.
const FLOOR: Duration = Duration::from_micros(1);
