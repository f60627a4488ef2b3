use multihop_core::Timers;

/// What a node does by itself. What it believes carries its own deadlines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Timer {
    /// Time for a HELLO.
    Hello,
    /// Time for a TC.
    Tc,
    /// The first of the messages that wait has waited long enough.
    Flush,
}

/// None is running.
pub(super) const fn stopped() -> Timers<Timer, 3> {
    Timers::new([Timer::Hello, Timer::Tc, Timer::Flush])
}
