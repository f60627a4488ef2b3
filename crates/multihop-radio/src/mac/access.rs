//! Channel access: carrier sense, NAV, interframe spaces, backoff.

use multihop_core::{Duration, Instant};

use super::chosen::by_rules;
use super::{Backoff, Mac, MacConfig, Phase};

/// State of a station's channel access at one instant, for observers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Access {
    /// Whether the carrier is busy.
    pub busy: bool,
    /// Instant until which other stations have reserved the medium.
    pub nav: Instant,
    /// State of the station's backoff.
    pub waiting: Waiting,
    /// Current contention window, in slots.
    pub window: u32,
}

/// State of a station's backoff, for the viewer and for tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Waiting {
    /// The station has no backoff.
    No,
    /// The backoff is suspended because the medium is busy; contains the number of remaining slots.
    Paused(u32),
    /// The backoff counts down. Contains the start of its first slot, and the instant at which no slot remains.
    Running(Instant, Instant),
}

impl Mac {
    /// State of the station's channel access, for observers.
    pub fn access(&self, config: &MacConfig) -> Access {
        let waiting = match self.backoff {
            Backoff::Idle => Waiting::No,
            Backoff::Paused { slots } => Waiting::Paused(slots),
            Backoff::Running { from, .. } => {
                Waiting::Running(from, self.backoff.expires(config.contention.slot))
            }
        };
        Access { busy: self.carrier_busy, nav: self.nav, waiting, window: self.own.front.contention_window }
    }

    /// Whether [`Mac::deadline`] may change when the medium turns busy or idle.
    #[inline]
    pub fn waits_for_carrier(&self) -> bool {
        !self.backoff.is_idle() || self.response_due != Instant::FAR_FUTURE
    }

    /// Whether an exchange ends if the medium turns idle now, so that [`Mac::is_unsettled`] may become true.
    #[inline]
    pub fn gives_up_at_idle(&self, now: Instant, config: &MacConfig) -> bool {
        self.response_due <= now && self.response_may_be_arriving(config)
    }

    /// Handles the medium turning busy.
    #[inline]
    pub fn carrier_busy(&mut self, now: Instant, config: &MacConfig) {
        self.carrier_busy = true;
        // IEEE 802.11 §9.2.3.4: EIFS applies only to the next access after the error.
        self.heard_error = false;
        self.pause_backoff(now, config);
    }

    /// Handles the medium turning idle.
    #[inline]
    pub fn carrier_idle(&mut self, now: Instant, config: &MacConfig) {
        let gives_up = self.gives_up_at_idle(now, config);
        self.carrier_busy = false;
        self.idle_since = self.idle_since.max(now);
        if gives_up {
            self.give_up_waiting(now, config);
        }
        self.resume_backoff(now, config);
    }

    /// Handles the end of a frame that could not be decoded.
    #[inline]
    pub fn receive_error(&mut self, now: Instant, config: &MacConfig) {
        by_rules!(config.rules, receive_error(self, now, config));
    }

    /// Handles the end of a frame that began while the station transmitted.
    #[inline]
    pub fn miss_frame(&mut self, now: Instant, config: &MacConfig) {
        by_rules!(config.rules, miss_frame(self, now, config));
    }

    /// Handles the start of a frame of `airtime` that is too weak to disturb the frame being received.
    pub fn overheard_weak(&mut self, now: Instant, airtime: Duration, config: &MacConfig) {
        by_rules!(config.rules, overhear_weak(self, now, airtime, config));
    }

    /// Begins channel access for a new packet, with a backoff unless the rules allow immediate transmission.
    pub(super) fn begin_access(&mut self, now: Instant, config: &MacConfig) {
        // If a CTS or ACK is due first, the end of that frame starts the backoff.
        let behind_reply = self.sifs_ends != Instant::FAR_FUTURE && self.is_idle(now);
        if self.backoff.is_idle() && !behind_reply {
            if by_rules!(config.rules, begins_at_once(self, now)) && self.pause_ends(config) <= now {
                self.backoff = Backoff::Paused { slots: 0 };
            } else {
                self.draw_backoff(config);
            }
        }
        self.resume_backoff(now, config);
    }

    /// Draws a backoff (paused until the medium is idle).
    pub(super) fn draw_backoff(&mut self, config: &MacConfig) {
        let bound = by_rules!(config.rules, backoff_bound(self.own.front.contention_window));
        self.backoff = Backoff::Paused { slots: self.own.rng.below(bound) };
    }

    pub(super) fn double_contention_window(&mut self, config: &MacConfig) {
        self.own.front.contention_window =
            (2 * self.own.front.contention_window + 1).min(self.rules(config).cw_max);
    }

    pub(super) fn reset_contention_window(&mut self, config: &MacConfig) {
        self.own.front.contention_window = self.rules(config).cw_min;
    }

    /// Suspends the backoff, because the medium is no longer idle.
    #[inline]
    pub(super) fn pause_backoff(&mut self, now: Instant, config: &MacConfig) {
        if config.is_edca() {
            self.pause_backoffs(now, config);
        } else {
            self.end_backoff(now, config);
            self.backoff.pause(now, config.contention.slot);
        }
    }

    /// Ends a backoff whose last slot has passed. Without a waiting packet no deadline announces that
    /// instant.
    #[inline]
    pub(super) fn end_backoff(&mut self, now: Instant, config: &MacConfig) {
        if self.backoff.is_running() && !self.serves && self.backoff.expires(config.contention.slot) <= now {
            self.backoff = Backoff::Idle;
        }
    }

    /// Resumes a paused backoff if only the NAV prevents the transmission, because the end of the NAV is
    /// known.
    #[inline]
    pub(super) fn resume_backoff(&mut self, now: Instant, config: &MacConfig) {
        if config.is_edca() {
            self.resume_backoffs(now, config);
        } else {
            self.resume_front(now, config);
        }
    }

    #[inline]
    pub(super) fn resume_front(&mut self, now: Instant, config: &MacConfig) {
        if self.carrier_busy || self.phase != Phase::Idle || !self.backoff.is_paused() {
            return;
        }
        let idle = self.nav.max(self.idle_since).max(self.pause_ends(config));
        let from = by_rules!(config.rules, backoff_begins(self, idle, now, self.rules(config)));
        self.backoff.resume(from);
    }

    /// Whether carrier sense and NAV are idle and the station does not transmit.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        !self.carrier_busy && self.phase == Phase::Idle && self.nav.max(self.idle_since) <= now
    }

    #[inline]
    pub(super) fn extend_nav(&mut self, until: Instant) {
        self.nav = self.nav.max(until);
    }
}

#[cfg(test)]
mod tests;
