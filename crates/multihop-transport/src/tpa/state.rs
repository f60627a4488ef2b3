//! States of a TPA sender.

use crate::named::named;

named! {
    /// The phase of a sender: the state of the network that it assumes (§3.3, §3.5).
    pub enum Phase {
        /// Normal phase: ACKs arrive, and the window grows up to its limit.
        Normal = "normal",
        /// Congested: ACKs are missing, and one segment is sent at a time.
        Congested = "congested",
        /// Freeze: the route is broken. One segment at a time is sent, at increasing intervals, to detect
        /// when the route is restored.
        Freeze = "freeze",
    }
}
