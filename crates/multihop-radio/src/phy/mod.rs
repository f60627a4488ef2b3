//! What a receiver makes of the signals around it.

pub mod sinr;
pub mod threshold;

/// What became of a signal at one receiver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The receiver was never set to it.
    Ignored,
    /// It ended while the station itself was sending.
    Deaf,
    /// Received.
    Good,
    /// Too weak, or overrun by the station's own transmission.
    Error,
    /// Lost to another signal.
    Collision,
}
