//! The SINR receiver, which judges a frame by noise and all other signals.

use std::mem::offset_of;

use multihop_core::{Duration, Instant, Rng};

use super::Verdict;
use crate::decibels::{dbm_to_mw, from_db};
use crate::error_rate::ErrorModel;
use crate::mac::{Bitmap, Mpdu};
use crate::params::{RadioParams, Sinr};
use crate::phy_profile::{Header, PhyProfile, Preamble, Rate, RateIndex};

/// Signal that one station receives. The first field, in the first cache line of the receiver, shows whether
/// the struct contains a signal.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Signal {
    /// Whether the frame is an aggregate, whose MPDUs are received or lost independently.
    pub is_aggregate: bool,
    /// Rate of the bits after the PLCP header.
    pub rate: RateIndex,
    /// Number of bits after the PLCP header.
    pub bits: u32,
    /// Identity and received power of the transmission.
    pub heard: ReceivedSignal,
    /// Linear ratio to noise and interference above which no bit can be wrong.
    pub safe_above: f64,
    /// Instant at which the PLCP preamble and header end.
    pub preamble_end: Instant,
    /// Instant at which the last bit arrives.
    pub end: Instant,
}

/// Receiver of one station under the SINR model.
///
/// The receiver locks to the first signal that it can decode. It abandons this signal only for a much
/// stronger one during the preamble, or to transmit. The frame is judged in intervals of constant
/// interference, each by the error rate at its SINR.
///
/// Most signals are too weak to be received. The fields that such signals need fill the first cache line,
/// which ends with the first field of the reception.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct SinrReceiver {
    /// Signals on the air at this station, in order of arrival.
    heard: Vec<ReceivedSignal>,
    /// Sum of the powers in `heard`.
    energy_mw: f64,
    /// Power of all signals in `heard` except the one that is being received, in mW.
    interference_mw: f64,
    cca_mw: f64,
    sensitivity_mw: f64,
    reception: Option<Reception>,
    noise_mw: f64,
    /// Instant at which this station's own transmission ends.
    transmitting_until: Instant,
    /// Smallest ratio of signal to noise and interference at the first bit, linear.
    detection: f64,
    /// Smallest ratio of powers (linear) at which a second frame takes over the receiver.
    capture: f64,
    phy: &'static PhyProfile,
    /// Preamble for rates without a specific preamble.
    preamble: &'static Preamble,
    error_model: ErrorModel,
    /// Intervals of constant interference during the reception of an aggregate.
    stretches: Vec<Stretch>,
    rng: Rng,
}

const _: () = assert!(offset_of!(SinrReceiver, reception) < 64 && offset_of!(Signal, is_aggregate) == 0);

impl SinrReceiver {
    /// Creates an idle receiver; `rng` decides whether a frame is decoded.
    pub fn new(radio: &RadioParams, params: &Sinr, rng: Rng) -> Self {
        Self {
            phy: radio.phy,
            preamble: radio.preamble,
            error_model: params.error_model,
            noise_mw: dbm_to_mw(params.noise_floor_dbm),
            cca_mw: dbm_to_mw(params.cca_dbm),
            sensitivity_mw: dbm_to_mw(params.sensitivity_dbm),
            detection: params.detection_db.map_or(0.0, from_db),
            capture: from_db(params.capture_db),
            heard: Vec::new(),
            energy_mw: 0.0,
            interference_mw: 0.0,
            reception: None,
            stretches: Vec::new(),
            transmitting_until: Instant::ZERO,
            rng,
        }
    }

    /// Processes the first bit of a signal; returns true if the medium turns busy. For most signals only the
    /// power matters.
    #[inline]
    pub fn signal_starts(
        &mut self,
        now: Instant,
        heard: ReceivedSignal,
        signal: impl FnOnce(ReceivedSignal) -> Signal,
    ) -> bool {
        let was_busy = self.is_busy();
        self.judge(now);
        let locks = self.locks_to(now, heard.power_mw);
        if locks {
            self.stretches.clear();
            self.reception = Some(Reception::new(now, signal(heard)));
            self.interference_mw = self.energy_mw;
        } else {
            self.interference_mw += heard.power_mw;
        }
        self.heard.push(heard);
        self.energy_mw += heard.power_mw;
        !was_busy && (locks || self.energy_mw >= self.cca_mw)
    }

    /// Processes the first bit of a signal that cannot be a frame for this receiver, for instance from another
    /// channel: only its power counts. Returns true if the signal makes the medium busy.
    #[cold]
    pub fn interference_starts(&mut self, now: Instant, interference: ReceivedSignal) -> bool {
        let was_busy = self.is_busy();
        self.judge(now);
        self.interference_mw += interference.power_mw;
        self.energy_mw += interference.power_mw;
        self.heard.push(interference);
        !was_busy && self.is_busy()
    }

    /// Processes the last bit of a signal. The flag shows whether the medium turned idle. A reception that
    /// was abandoned, for a stronger frame or to transmit, counts as ignored.
    #[inline]
    pub fn signal_ends(&mut self, now: Instant, id: u64) -> (Verdict, bool) {
        let was_busy = self.is_busy();
        self.judge(now);
        let verdict = match &self.reception {
            Some(reception) if reception.signal.heard.id == id => {
                let verdict = reception.verdict(self.rng.unit());
                self.reception = None;
                verdict
            }
            _ => Verdict::Ignored,
        };
        self.forget(id);
        (verdict, was_busy && !self.is_busy())
    }

    /// Processes the last bit of an aggregate. The bitmap shows the MPDUs received without error.
    pub fn aggregate_ends(&mut self, now: Instant, id: u64, mpdus: &[Mpdu]) -> (Verdict, Bitmap) {
        self.judge(now);
        let finished = self.reception.take_if(|reception| reception.signal.heard.id == id);
        self.forget(id);
        let Some(reception) = finished else { return (Verdict::Ignored, Bitmap::NONE) };
        let header = reception.verdict(self.rng.unit());
        if header != Verdict::Good {
            return (header, Bitmap::NONE);
        }
        let (mut failure, mut intact) = (Verdict::Error, Bitmap::NONE);
        for (bit, mpdu) in mpdus.iter().enumerate() {
            match self.judge_mpdu(&reception, mpdu) {
                Verdict::Good => intact.set(bit, true),
                lost if lost == Verdict::Collision => failure = lost,
                _ => {}
            }
        }
        (if intact.is_empty() { failure } else { Verdict::Good }, intact)
    }

    /// Removes the signal `id`. Powers are summed again, because subtraction would accumulate rounding
    /// errors.
    #[inline]
    fn forget(&mut self, id: u64) {
        let received = self.reception.as_ref().map_or(id, |reception| reception.signal.heard.id);
        let (mut energy, mut interference) = (0.0, 0.0);
        self.heard.retain(|heard| {
            let stays = heard.id != id;
            if stays {
                energy += heard.power_mw;
                if heard.id != received {
                    interference += heard.power_mw;
                }
            }
            stays
        });
        (self.energy_mw, self.interference_mw) = (energy, interference);
    }

    /// Starts this station's own transmission; a reception in progress is lost.
    pub fn transmit(&mut self, until: Instant) {
        self.transmitting_until = until;
        self.reception = None;
    }

    /// Whether the medium is busy (clear channel assessment), not counting this station's own transmission.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.reception.is_some() || self.energy_mw >= self.cca_mw
    }

    #[inline]
    fn locks_to(&self, now: Instant, power_mw: f64) -> bool {
        let takes_over =
            |first: &Signal| now < first.preamble_end && power_mw >= self.capture * first.heard.power_mw;
        power_mw >= self.sensitivity_mw
            && now >= self.transmitting_until
            && power_mw >= self.detection * (self.noise_mw + self.energy_mw)
            && self.reception.as_ref().is_none_or(|reception| takes_over(&reception.signal))
    }

    /// Judges the bits received since the last change of interference, up to `now`.
    #[inline]
    fn judge(&mut self, now: Instant) {
        let Some(reception) = &mut self.reception else { return };
        if reception.signal.is_aggregate {
            self.stretches.push(Stretch { until: now, interference_mw: self.interference_mw });
        }
        if !reception.is_safe_from(self.noise_mw + self.interference_mw) {
            let curves = Curves {
                header: &self.phy.preamble(reception.signal.rate, self.preamble).header,
                rate: self.phy.rate(reception.signal.rate),
                model: self.error_model,
            };
            reception.judge(now, &curves, self.noise_mw, self.interference_mw);
        }
        reception.judged_to = now;
    }
}

impl SinrReceiver {
    /// Judges one MPDU by the interference during its bits.
    fn judge_mpdu(&mut self, reception: &Reception, mpdu: &Mpdu) -> Verdict {
        let signal = &reception.signal;
        let (rate, noise) = (self.phy.rate(signal.rate), self.noise_mw);
        let whole = signal.end.saturating_since(signal.preamble_end).as_nanos().max(1);
        let all = u64::from(signal.bits.max(1));
        let place =
            |bytes: u32| signal.preamble_end + Duration::from_nanos(whole * 8 * u64::from(bytes) / all);
        let (mut at, end) = (place(mpdu.from), place(mpdu.from + mpdu.bytes));
        let (mut intact, mut alone) = (1.0, 1.0);
        for stretch in &self.stretches {
            let until = stretch.until.min(end);
            if until <= at {
                continue;
            }
            let bits = f64::from(signal.bits) * (until - at).as_nanos() as f64 / whole as f64;
            let sound = |interference| {
                rate.success(self.error_model, signal.heard.power_mw / (noise + interference), bits)
            };
            let undisturbed = sound(0.0);
            alone *= undisturbed;
            intact *=
                if stretch.interference_mw > 0.0 { sound(stretch.interference_mw) } else { undisturbed };
            at = until;
        }
        verdict(self.rng.unit(), intact, alone)
    }
}

/// Interval of constant interference, which begins where the previous stretch ends.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    until: Instant,
    interference_mw: f64,
}

/// A signal on the air.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedSignal {
    /// Number of the transmission.
    pub id: u64,
    /// Received power of the signal, in mW.
    pub power_mw: f64,
}

/// The error curves for header and body of a frame.
struct Curves {
    header: &'static Header,
    rate: &'static Rate,
    model: ErrorModel,
}

/// A frame that the receiver is locked to.
#[derive(Clone, Debug)]
#[repr(C)]
struct Reception {
    signal: Signal,
    judged_to: Instant,
    began: Instant,
    /// Probability that all bits so far were received without error.
    intact: f64,
    /// Probability that the frame would be intact without interference.
    intact_alone: f64,
}

impl Reception {
    fn new(now: Instant, signal: Signal) -> Self {
        Self { signal, began: now, judged_to: now, intact: 1.0, intact_alone: 1.0 }
    }

    /// Whether noise and interference of this total power cannot cause a bit error.
    #[inline]
    fn is_safe_from(&self, disturbance_mw: f64) -> bool {
        self.signal.heard.power_mw > self.signal.safe_above * disturbance_mw
    }

    #[inline(never)]
    fn judge(&mut self, until: Instant, curves: &Curves, noise_mw: f64, interference_mw: f64) {
        let (from, signal) = (self.judged_to, &self.signal);
        let &Curves { header, rate, model } = curves;
        let header_begins = self.began + header.from;
        let header_ends = (header_begins + header.time).min(signal.preamble_end);
        let in_header = until.min(header_ends).saturating_since(from.max(header_begins));
        let mut body = until.min(signal.end).saturating_since(from.max(signal.preamble_end));
        if signal.is_aggregate {
            body = Duration::ZERO;
        }
        let whole = signal.end.saturating_since(signal.preamble_end);
        let body_bits = f64::from(signal.bits) * body.as_nanos() as f64 / whole.as_nanos().max(1) as f64;
        let sound = |disturbance_mw| {
            if self.is_safe_from(disturbance_mw) {
                return 1.0;
            }
            let sinr = signal.heard.power_mw / disturbance_mw;
            let header =
                if in_header > Duration::ZERO { header.success(model, sinr, in_header) } else { 1.0 };
            header * if body > Duration::ZERO { rate.success(model, sinr, body_bits) } else { 1.0 }
        };
        let alone = sound(noise_mw);
        let together = if interference_mw > 0.0 { sound(noise_mw + interference_mw) } else { alone };
        self.intact_alone *= alone;
        self.intact *= together;
    }

    fn verdict(&self, draw: f64) -> Verdict {
        verdict(draw, self.intact, self.intact_alone)
    }
}

/// Verdict on a frame from the probability `intact` that all bits are without error, and the probability `alone`
/// without interference; `draw` is uniform in [0, 1).
fn verdict(draw: f64, intact: f64, alone: f64) -> Verdict {
    if draw < intact {
        Verdict::Good
    } else if draw < alone {
        Verdict::Collision
    } else {
        Verdict::Error
    }
}

#[cfg(test)]
mod tests;
