//! Receivers, which decide which of the signals at a station are decoded.

pub mod sinr;
pub mod threshold;

use multihop_core::{Instant, Rng};

use self::sinr::SinrReceiver;
use self::threshold::ThresholdReceiver;
use crate::mac::{Bitmap, Mpdu};
use crate::params::{Model, RadioParams};

/// The receiver of one station.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// Fixed ranges and pairwise capture.
    Threshold(ThresholdReceiver),
    /// Model of the signal to interference and noise ratio.
    Sinr(Box<SinrReceiver>),
}

impl Receiver {
    /// Creates an idle receiver for the reception model of `radio`.
    pub fn new(radio: &RadioParams, rng: Rng) -> Self {
        match &radio.model {
            Model::Threshold(_) => Self::Threshold(ThresholdReceiver::default()),
            Model::Sinr(sinr) => Self::Sinr(Box::new(SinrReceiver::new(radio, sinr, rng))),
        }
    }

    /// Processes the last bit of a signal. The flag shows whether the medium turned idle.
    #[inline]
    pub fn signal_ends(&mut self, now: Instant, id: u64) -> (Verdict, bool) {
        match self {
            Self::Threshold(receiver) => {
                let was_busy = receiver.is_busy();
                (receiver.signal_ends(now, id), was_busy && !receiver.is_busy())
            }
            Self::Sinr(receiver) => receiver.signal_ends(now, id),
        }
    }

    /// Processes the last bit of an aggregate. The bitmap shows the MPDUs received without error.
    pub fn aggregate_ends(&mut self, now: Instant, id: u64, mpdus: &[Mpdu]) -> (Verdict, Bitmap) {
        match self {
            Self::Threshold(receiver) => (receiver.signal_ends(now, id), Bitmap::ALL),
            Self::Sinr(receiver) => receiver.aggregate_ends(now, id, mpdus),
        }
    }

    /// Starts this station's own transmission; a reception in progress is lost.
    pub fn transmit(&mut self, until: Instant) {
        match self {
            Self::Threshold(receiver) => receiver.transmit(until),
            Self::Sinr(receiver) => receiver.transmit(until),
        }
    }

    /// Whether the medium is busy, not counting this station's own transmission.
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Threshold(receiver) => receiver.is_busy(),
            Self::Sinr(receiver) => receiver.is_busy(),
        }
    }
}

/// The outcome of a signal at one receiver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The receiver never locked to the signal.
    Ignored,
    /// The frame ended while the station itself was transmitting.
    Deaf,
    /// The frame was received without error.
    Good,
    /// The station was transmitting when the signal began, or began to transmit while receiving it.
    Missed,
    /// The frame was received with errors, or was too weak to decode.
    Error,
    /// The frame was lost because of another signal (collision).
    Collision,
    /// The frame was lost because of another signal, but the station would have missed it anyway.
    MissedCollision,
}
