use crate::time::Instant;

/// A protocol state machine: no clock, no socket, no thread, no ambient randomness.
///
/// A driver follows every call that takes `&mut self` with a full drain of
/// [`poll_output`](Self::poll_output), then asks [`poll_timeout`](Self::poll_timeout) when to come
/// back. `now` never goes backwards. After `handle_timeout(now)` and the drain, the next deadline
/// is later than `now`.
pub trait Machine {
    /// From the layer below, or a notice (link failure, route change).
    type Input;
    /// A packet for the layer below or an event for the layer above.
    type Output;

    /// Takes one input. Bad input from the network is counted and dropped, never an error.
    fn handle(&mut self, now: Instant, input: Self::Input);

    /// Runs every timer due at `now`. A call that is too early changes nothing.
    fn handle_timeout(&mut self, now: Instant);

    /// Takes the next output, or `None` once drained.
    fn poll_output(&mut self, now: Instant) -> Option<Self::Output>;

    /// The next moment `handle_timeout` has work to do; `None` until some input changes that.
    fn poll_timeout(&self) -> Option<Instant>;
}
