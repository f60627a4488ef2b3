//! Opening, watching and closing of a connection.
//!
//! [`Lifecycle`] is a state machine without segment formats and sequence numbers. The transport that owns it
//! checks the numbers of arriving segments, reports their meaning, and sends the requested SYNs and
//! keepalives in its own format. The transport drains [`poll_syn`](Lifecycle::poll_syn) whenever it chooses
//! the next segment.
//!
//! Closing belongs to the data stream: a transport transmits FIN like data, and reports with
//! [`set_finished`](Lifecycle::set_finished) which side has finished.

use core::mem;

use multihop_core::{Duration, Instant, Timers};

mod config;
mod state;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use state::State;

/// Opening, watching and closing of one end of a connection.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    config: Config,
    state: State,
    /// Whether the connection began by listening.
    is_passive: bool,
    /// Whether the application has closed this side.
    is_closing: bool,
    /// Number of SYNs sent, which is also the number of the next attempt.
    attempts: u8,
    /// SYNs that were not answered in time.
    unanswered: u8,
    /// Departure of the newest SYN.
    syn_sent: Option<Instant>,
    /// Attempt number in the newest SYN of the peer.
    peer_attempt: u8,
    is_syn_due: bool,
    is_keepalive_due: bool,
    timers: Timers<Timer, 4>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Timer {
    Syn,
    KeepAlive,
    User,
    Linger,
}

/// A SYN that the transport must send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Syn {
    /// Number of the attempt: 0, then one more for each retransmission.
    pub attempt: u8,
    /// The attempt of the peer's SYN that this one answers; `None` in the first SYN of a connection.
    pub answers: Option<u8>,
}

/// Reason for which a timer ends a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// The peer has not answered in time.
    TimedOut,
    /// Both sides had closed, and the time for late segments is over.
    Closed,
}

/// The effect of [`Lifecycle::shutdown`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shutdown {
    /// Nothing to do: this side was closed before, or no connection exists.
    NoEffect,
    /// The connection ends: it was not open yet, and has nothing to send.
    Over,
    /// The FIN will follow the queued data.
    Closing,
}

impl Lifecycle {
    /// A lifecycle in state [`Closed`](State::Closed).
    pub fn new(config: Config) -> Self {
        Self {
            config,
            state: State::Closed,
            is_passive: false,
            is_closing: false,
            attempts: 0,
            unanswered: 0,
            syn_sent: None,
            peer_attempt: 0,
            is_syn_due: false,
            is_keepalive_due: false,
            timers: Timers::new([Timer::Syn, Timer::KeepAlive, Timer::User, Timer::Linger]),
        }
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the connection began by listening.
    pub fn is_passive(&self) -> bool {
        self.is_passive
    }

    /// Whether the application has closed this side.
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Whether a SYN has been sent, which the peer may answer.
    pub fn has_sent_syn(&self) -> bool {
        self.syn_sent.is_some()
    }

    /// Begins to open the connection with a SYN. The connection must be closed.
    pub fn connect(&mut self) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.is_syn_due = true;
        }
    }

    /// Retransmits the SYN at once, if the peer has not answered it.
    pub fn repeat_syn(&mut self) {
        self.is_syn_due |= matches!(self.state, State::SynSent | State::SynReceived);
    }

    /// Waits for the peer to open the connection. The connection must be closed.
    pub fn listen(&mut self) {
        if self.state == State::Closed {
            self.is_passive = true;
            self.state = State::Listen;
        }
    }

    /// Closes the sending side of the connection. `has_data`: the application has queued data.
    pub fn shutdown(&mut self, has_data: bool) -> Shutdown {
        match self.state {
            State::Closed => return Shutdown::NoEffect,
            _ if self.is_closing => return Shutdown::NoEffect,
            State::Listen | State::SynSent if !has_data => return Shutdown::Over,
            _ => {}
        }
        self.is_closing = true;
        Shutdown::Closing
    }

    /// Whether the peer has state of the connection, so that an abort must send a reset.
    pub fn is_known_to_peer(&self) -> bool {
        self.state.is_connected() || self.state == State::SynReceived
    }

    /// Ends the connection without notifying the peer.
    pub fn end(&mut self) {
        self.state = State::Closed;
        self.is_keepalive_due = false;
        for timer in [Timer::Syn, Timer::KeepAlive, Timer::User, Timer::Linger] {
            self.timers.stop(timer);
        }
    }

    /// Handles a SYN of the peer that does not answer one of this end, in [`Listen`](State::Listen),
    /// [`SynSent`](State::SynSent) or [`SynReceived`](State::SynReceived). The lifecycle then requests a SYN that
    /// answers it.
    pub fn on_syn(&mut self, attempt: u8) {
        self.peer_attempt = attempt;
        self.state = State::SynReceived;
        self.is_syn_due = true;
    }

    /// Handles the peer's first segment that shows that both ends know each other's numbers. `answered` is
    /// the attempt number of this end's SYN that the segment answers, if it names one. Returns the round trip
    /// of the newest attempt.
    pub fn establish(&mut self, now: Instant, answered: Option<u8>) -> Option<Duration> {
        self.state = State::Established;
        self.is_syn_due = false;
        self.timers.stop(Timer::Syn);
        self.restart_keepalive(now);
        let newest = self.attempts.wrapping_sub(1);
        self.syn_sent.filter(|_| answered == Some(newest)).map(|sent| now.saturating_since(sent))
    }

    /// Restarts the keepalive and user timeouts after a valid segment of the peer.
    pub fn on_segment(&mut self, now: Instant) {
        self.restart_keepalive(now);
    }

    /// Ends the wait for an answer, because the peer has answered.
    pub fn on_answer(&mut self, now: Instant) {
        if let Some(timeout) = self.config.user_timeout {
            self.timers.set(Timer::User, now + timeout);
        }
    }

    /// Sets whether this end waits for an answer of the peer. Must be called before the driver waits for events.
    pub fn set_waiting(&mut self, now: Instant, is_waiting: bool) {
        if !self.state.is_connected() {
            return;
        }
        if !is_waiting {
            self.timers.stop(Timer::User);
        } else if self.timers.at(Timer::User).is_none() {
            self.on_answer(now);
        }
    }

    /// Sets whether the peer has acknowledged this end's FIN, and whether the peer's stream has arrived completely.
    /// Returns whether the connection has begun to linger; [`start_linger`](Self::start_linger) must follow.
    pub fn set_finished(&mut self, is_fin_acked: bool, has_peer_finished: bool) -> bool {
        if !self.state.is_connected() {
            return false;
        }
        self.state = match (self.is_closing, is_fin_acked, has_peer_finished) {
            (_, true, true) => State::Linger,
            (_, true, false) => State::HalfClosed,
            (true, false, true) => State::LastAck,
            (true, false, false) => State::FinSent,
            (false, _, true) => State::PeerClosed,
            (false, _, false) => State::Established,
        };
        self.state == State::Linger
    }

    /// Answers late segments from now on, for the time of [`Config::linger`].
    pub fn start_linger(&mut self, now: Instant) {
        self.timers.stop(Timer::KeepAlive);
        self.timers.stop(Timer::User);
        self.timers.set(Timer::Linger, now + self.config.linger);
    }

    /// The SYN to send now, if there is one.
    pub fn poll_syn(&mut self, now: Instant) -> Option<Syn> {
        let is_opening = matches!(self.state, State::SynSent | State::SynReceived);
        (self.is_syn_due && is_opening).then(|| self.syn(now))
    }

    /// Whether a keepalive must be sent now, a segment that the peer answers. Clears the request.
    pub fn take_keepalive(&mut self) -> bool {
        mem::take(&mut self.is_keepalive_due)
    }

    /// Runs one timer that is due; returns whether it ends the connection.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Ending> {
        match self.timers.pop_expired(now)? {
            Timer::Syn => {
                self.unanswered = self.unanswered.saturating_add(1);
                self.is_syn_due = true;
                let is_over = self.config.syn_retries.is_some_and(|limit| self.unanswered > limit);
                is_over.then_some(Ending::TimedOut)
            }
            Timer::KeepAlive => {
                self.is_keepalive_due = true;
                self.restart_keepalive(now);
                None
            }
            Timer::User => Some(Ending::TimedOut),
            Timer::Linger => Some(Ending::Closed),
        }
    }

    /// The next deadline for [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    fn syn(&mut self, now: Instant) -> Syn {
        self.is_syn_due = false;
        let attempt = self.attempts;
        self.attempts = attempt.wrapping_add(1);
        self.syn_sent = Some(now);
        if self.timers.at(Timer::Syn).is_none() {
            let factor = 1_u64 << self.unanswered.min(MAX_DOUBLINGS);
            let doubled = self.config.syn_wait.saturating_mul(factor);
            let longest = self.config.syn_wait_max.map(|longest| longest.max(self.config.syn_wait));
            self.timers.set(Timer::Syn, now + longest.map_or(doubled, |longest| doubled.min(longest)));
        }
        let answers = (self.state == State::SynReceived).then_some(self.peer_attempt);
        Syn { attempt, answers }
    }

    fn restart_keepalive(&mut self, now: Instant) {
        if let Some(wait) = self.config.keepalive.filter(|_| self.state.is_connected()) {
            self.timers.set(Timer::KeepAlive, now + wait);
        }
    }
}

/// Largest number of doublings of a timeout: with more doublings it would outlast any connection.
const MAX_DOUBLINGS: u8 = 16;
