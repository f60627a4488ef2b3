use crate::time::Instant;

/// A protocol state machine: no clock, no socket, no thread, no ambient randomness.
///
/// After every call that takes `&mut self`, a driver calls [`poll_output`](Self::poll_output) until it returns `None`,
/// and then [`poll_timeout`](Self::poll_timeout) for the next deadline. `now` never decreases. After
/// `handle_timeout(now)` and the outputs, the next deadline is later than `now`.
pub trait Machine {
    /// A packet from the layer below, or a notice (link failure, route change).
    type Input;
    /// A packet for the layer below or an event for the layer above.
    type Output;

    /// Handles one input. Invalid input from the network is counted and dropped; it is never an error.
    fn handle(&mut self, now: Instant, input: Self::Input);

    /// Handles every timer that expires at `now` or earlier. A call before the deadline changes nothing.
    fn handle_timeout(&mut self, now: Instant);

    /// The next output; `None` if there are no more.
    fn poll_output(&mut self, now: Instant) -> Option<Self::Output>;

    /// Deadline at which the driver must call `handle_timeout`; `None` if no timer runs, so that only an input leads
    /// to work.
    fn poll_timeout(&self) -> Option<Instant>;
}
