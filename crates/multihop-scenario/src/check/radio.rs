//! `[radio]` and `[mac]`.

use multihop_radio::params::{
    Burst, Fading, MacParams, Model, PathLoss, QueueKind, RadioParams, Sinr, Threshold,
};

use crate::document::Fault;
use crate::read::Both;
use crate::tables::{
    FadingTable, MacTable, ModelTable, PathLossTable, RadioTable, SinrTable, ThresholdTable,
};
use crate::values::Rate;

/// Physical layer and channel.
pub(super) fn radio(table: &RadioTable, faults: &mut Vec<Fault>) -> Option<RadioParams> {
    let Both(channel, model) = table;
    let model = match model {
        ModelTable::Threshold(table) => {
            Model::Threshold(threshold(table, [channel.rate, channel.basic_rate], faults)?)
        }
        ModelTable::Sinr(table) => Model::Sinr(sinr(table, faults)),
    };
    Some(RadioParams {
        rate: channel.rate.0,
        basic_rate: channel.basic_rate.0,
        preamble: channel.preamble.0,
        model,
        loss: channel.loss.0,
        frame_loss: channel.frame_loss.0,
        burst: channel.burst.as_ref().map(|burst| Burst {
            good: burst.good.0,
            bad: burst.bad.0,
            p: burst.p.0,
            r: burst.r.0,
        }),
    })
}

fn threshold(table: &ThresholdTable, in_use: [Rate; 2], faults: &mut Vec<Fault>) -> Option<Threshold> {
    let ranges = table.range.0;
    let mut complete = true;
    for (range, (word, rate)) in ranges.iter().zip(Rate::WORDS) {
        if range.is_none() && in_use.iter().any(|used| used.0 == *rate) {
            faults.push(Fault::at_key("radio.range", format!("has no range for {word:?}, a rate in use")));
            complete = false;
        }
    }
    let longest = ranges.iter().flatten().copied().fold(0.0, f64::max);
    if table.sense_range.0 < longest {
        let message = format!("found {}, allowed: at least range, {longest}", table.sense_range.0);
        faults.push(Fault::at_key("radio.sense_range", message));
    }
    complete.then(|| Threshold {
        // No frame is sent at a rate that the table leaves out.
        range: ranges.map(|range| range.unwrap_or(0.0)),
        sense_range: table.sense_range.0,
        capture_db: table.capture_db.0,
    })
}

fn sinr(table: &SinrTable, faults: &mut Vec<Fault>) -> Sinr {
    if table.cca_dbm.0 <= table.noise_floor_dbm.0 {
        let message = format!(
            "found {}, allowed: above noise_floor_dbm, {}, or the medium is always busy",
            table.cca_dbm.0, table.noise_floor_dbm.0
        );
        faults.push(Fault::at_key("radio.cca_dbm", message));
    }
    Sinr {
        tx_power_dbm: table.tx_power_dbm.0,
        path_loss: match &table.path_loss {
            PathLossTable::LogDistance(table) => {
                PathLoss::LogDistance { exponent: table.exponent.0, reference_db: table.reference_db.0 }
            }
            PathLossTable::TwoRay(table) => {
                PathLoss::TwoRay { frequency: table.frequency.0, height: table.height.0 }
            }
        },
        shadowing_db: table.shadowing_db.0,
        fading: match &table.fading {
            FadingTable::None(_) => Fading::None,
            FadingTable::Rayleigh(table) => Fading::Rayleigh { coherence: table.coherence.duration() },
            FadingTable::Rician(table) => {
                Fading::Rician { k: table.k.0, coherence: table.coherence.duration() }
            }
        },
        noise_floor_dbm: table.noise_floor_dbm.0,
        cca_dbm: table.cca_dbm.0,
        sensitivity_dbm: table.sensitivity_dbm.0,
        capture_db: table.capture_db.0,
    }
}

/// Medium access and the interface queue.
pub(super) fn mac(table: &MacTable, queue_kind: QueueKind) -> MacParams {
    MacParams {
        flavour: table.flavour.0,
        timing: table.timing.0,
        rts_threshold: table.rts_threshold.0.map(|bytes| bytes.to()),
        eifs: table.eifs,
        llc: table.llc,
        queue: table.queue.to(),
        queue_kind,
        short_retry: table.short_retry.0.map(|n| n.to()),
        long_retry: table.long_retry.0.map(|n| n.to()),
        link_delay: table.link_delay.duration(),
    }
}
