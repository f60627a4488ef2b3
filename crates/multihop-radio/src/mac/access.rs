//! Channel access: carrier sense, NAV, interframe spaces, backoff.

use multihop_core::{Duration, Instant};

use super::{Backoff, Contention, Mac, MacConfig, Phase};
use crate::params::Flavour;

/// What a station knows of the medium, and waits for, at an instant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Access {
    /// Whether the carrier is busy.
    pub busy: bool,
    /// Other stations have reserved the medium until then.
    pub nav: Instant,
    /// Its backoff.
    pub waiting: Waiting,
    /// Contention window, slots.
    pub window: u32,
}

/// A backoff, as others see it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Waiting {
    /// No backoff.
    No,
    /// The medium is busy; so many slots are left.
    Paused(u32),
    /// Slots count from the first instant; the second is when none is left.
    Running(Instant, Instant),
}

impl Mac {
    /// What the station knows of the medium, and waits for.
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

    /// The medium around the station turned busy.
    #[inline]
    pub fn carrier_busy(&mut self, now: Instant, config: &MacConfig) {
        self.carrier_busy = true;
        // IEEE 802.11 §9.2.3.4: EIFS applies only directly after the error.
        self.heard_error = false;
        self.pause_backoff(now, config);
    }

    /// The medium around the station turned idle.
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

    /// A frame ended that could not be decoded.
    #[inline]
    pub fn receive_error(&mut self, now: Instant, config: &MacConfig) {
        if config.params.eifs {
            match config.params.flavour {
                // ns-2 keeps EIFS as NAV, so that a DIFS follows it.
                Flavour::Ns2 => self.extend_nav(now + config.contention.eifs),
                Flavour::Standard => self.heard_error = true,
            }
        }
    }

    /// A frame ended that the station missed, because it transmitted when the frame began.
    ///
    /// EIFS follows a reception with an error (IEEE 802.11-2020 §10.3.2.3.7), and here was no reception. ns-2 takes the frame for
    /// an error.
    #[inline]
    pub fn miss_frame(&mut self, now: Instant, config: &MacConfig) {
        if config.params.flavour == Flavour::Ns2 {
            self.receive_error(now, config);
        }
    }

    /// A frame of `airtime` began that is too weak to disturb the one being received.
    ///
    /// ns-2 sets its NAV from it; the standard has no such rule.
    pub fn overheard_weak(&mut self, now: Instant, airtime: Duration, config: &MacConfig) {
        if config.params.flavour == Flavour::Ns2 {
            let space = if config.params.eifs { config.contention.eifs } else { Duration::ZERO };
            self.extend_nav(now + airtime + space);
        }
    }

    /// Begins with a new packet: backoff first, unless the standard allows immediate transmission.
    pub(super) fn begin_access(&mut self, now: Instant, config: &MacConfig) {
        // If a CTS or ACK is due first, the end of that frame starts the backoff.
        let behind_reply = self.sifs_ends != Instant::FAR_FUTURE && self.is_idle(now);
        if self.backoff.is_idle() && !behind_reply {
            let at_once = config.params.flavour == Flavour::Standard && self.is_idle(now);
            if at_once {
                self.backoff = Backoff::Paused { slots: 0 };
            } else {
                self.draw_backoff(config);
            }
        }
        self.resume_backoff(now, config);
    }

    /// Draws a backoff (paused until the medium is idle).
    pub(super) fn draw_backoff(&mut self, config: &MacConfig) {
        let bound = match config.params.flavour {
            // ns-2 draws 0..cw-1, the standard 0..cw.
            Flavour::Ns2 => self.own.front.contention_window,
            Flavour::Standard => self.own.front.contention_window + 1,
        };
        self.backoff = Backoff::Paused { slots: self.own.rng.below(bound) };
    }

    pub(super) fn double_contention_window(&mut self, config: &MacConfig) {
        self.own.front.contention_window =
            (2 * self.own.front.contention_window + 1).min(self.rules(config).cw_max);
    }

    pub(super) fn reset_contention_window(&mut self, config: &MacConfig) {
        self.own.front.contention_window = self.rules(config).cw_min;
    }

    /// The medium is no longer idle.
    #[inline]
    pub(super) fn pause_backoff(&mut self, now: Instant, config: &MacConfig) {
        if config.is_edca() {
            self.pause_backoffs(now, config);
        } else {
            self.end_backoff(now, config);
            self.backoff.pause(now, config.contention.slot);
        }
    }

    /// A backoff may end without a deadline if no packet waits for that.
    #[inline]
    pub(super) fn end_backoff(&mut self, now: Instant, config: &MacConfig) {
        if self.backoff.is_running() && !self.serves && self.backoff.expires(config.contention.slot) <= now {
            self.backoff = Backoff::Idle;
        }
    }

    /// Resumes a paused backoff if only the NAV keeps the station from transmitting: its end is known.
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
        let &Contention { difs, eifs, .. } = self.rules(config);
        let from = match config.params.flavour {
            Flavour::Ns2 => self.nav.max(self.idle_since).max(now) + difs,
            Flavour::Standard => {
                let space = if self.heard_error { eifs } else { difs };
                (self.nav.max(self.idle_since) + space).max(now)
            }
        };
        self.backoff.resume(from);
    }

    /// Whether carrier sense and NAV are idle and the station transmits nothing itself.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        !self.carrier_busy && self.phase == Phase::Idle && self.nav.max(self.idle_since) <= now
    }

    #[inline]
    pub(super) fn extend_nav(&mut self, until: Instant) {
        self.nav = self.nav.max(until);
    }
}
