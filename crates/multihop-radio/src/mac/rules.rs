//! The decisions of a station on which ns-2 and IEEE 802.11 differ. `ns2` and `standard` have both answers.
//!
//! The rest of a station (queue, exchange, retries, EDCA, aggregation) is common to both.

use multihop_core::{Duration, Instant};

use super::{Contention, Mac, MacConfig, Transmission};
use crate::frame::Frame;
use crate::phy_profile::{PhyProfile, RateIndex};

/// Decisions of a station that depend on the rules it follows.
pub(super) trait Rules {
    /// The shortest unicast data frame that an RTS announces, in bytes of the frame, for a threshold of the scenario.
    fn announced_from(phy: &PhyProfile, threshold: u32) -> u32;

    /// Prepares the station's counters when a packet leaves the queue and becomes the one in service.
    fn begin_service(mac: &mut Mac);

    /// Whether a packet may be transmitted at once, without a backoff.
    fn begins_at_once(mac: &Mac, now: Instant) -> bool;

    /// Exclusive upper bound of the number of slots in a backoff.
    fn backoff_bound(contention_window: u32) -> u32;

    /// Instant at which the first slot of a backoff begins, if the medium is idle from `idle` on.
    fn backoff_begins(mac: &Mac, idle: Instant, now: Instant, contention: &Contention) -> Instant;

    /// Updates the station at the end of a frame received with an error (EIFS).
    fn receive_error(mac: &mut Mac, now: Instant, config: &MacConfig);

    /// Updates the station at the end of a frame that it missed because it was transmitting.
    fn miss_frame(mac: &mut Mac, now: Instant, config: &MacConfig);

    /// Handles the start of a frame of `airtime` that is too weak to disturb the frame being received.
    fn overhear_weak(mac: &mut Mac, now: Instant, airtime: Duration, config: &MacConfig);

    /// Whether an RTS is answered with a CTS.
    fn answers_rts(mac: &mut Mac, now: Instant, config: &MacConfig) -> bool;

    /// Updates the state of a station that transmits a CTS.
    fn send_cts(mac: &mut Mac, now: Instant, cts: Frame, config: &MacConfig) -> Transmission;

    /// Whether a unicast data frame is taken, and acknowledged.
    fn takes_data(mac: &mut Mac, now: Instant, data: &Frame, config: &MacConfig) -> bool;

    /// Whether data without RTS, and frames with block ACKs, are acknowledged.
    fn acknowledges(mac: &mut Mac, now: Instant, config: &MacConfig) -> bool;

    /// Whether a data frame whose sequence number equals that of the last one from its sender may be new.
    fn may_be_new(data: &Frame) -> bool;

    /// Whether to transmit the pending frame at the end of SIFS. If not, the station has started another
    /// action.
    fn sends_after_sifs(mac: &mut Mac, now: Instant, config: &MacConfig) -> bool;

    /// Time from the start of a frame until its response is overdue. `answer` is the response's airtime.
    fn answer_after(frame: Duration, rate: RateIndex, answer: Duration, config: &MacConfig) -> Duration;

    /// Whether a reception in progress extends the wait for a response until the end of the reception.
    fn waits_for_reception() -> bool;

    /// Updates contention window and backoff after a packet was dropped at the retry limit.
    fn end_dropped(mac: &mut Mac, config: &MacConfig);
}
