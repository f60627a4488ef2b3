//! Timers of periodic messages, with their jitter (RFC 3626 §18).

use multihop_core::Timers;

/// Timers of an agent. The information sets have their own expiry times.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Timer {
    /// A HELLO is due.
    Hello,
    /// A TC is due.
    Tc,
    /// The first of the queued messages has waited long enough.
    Flush,
}

/// All timers of the agent in the stopped state.
pub(super) const fn stopped() -> Timers<Timer, 3> {
    Timers::new([Timer::Hello, Timer::Tc, Timer::Flush])
}
