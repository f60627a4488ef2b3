//! `[radio]` and `[mac]`.

use multihop_radio::params::{
    Burst, Fading, MacParams, Model, PathLoss, QueueKind, RadioParams, Sinr, Threshold,
};
use multihop_radio::phy_profile::PhyProfile;

use crate::document::Fault;
use crate::faults::Faults;
use crate::read::Both;
use crate::tables::{
    FadingTable, MacTable, ModelTable, PathLossTable, PhyTable, RadioTable, RangeTable, SinrTable,
    ThresholdTable,
};

/// Physical layer and channel.
pub(super) fn radio(table: &RadioTable, faults: &mut Faults<'_>) -> Option<RadioParams> {
    let Both(phy, Both(channel, model)) = table;
    let model = match model {
        ModelTable::Threshold(table) => Model::Threshold(threshold(table, phy, faults)?),
        ModelTable::Sinr(table) => Model::Sinr(sinr(table, phy.phy, faults)),
    };
    Some(RadioParams {
        phy: phy.phy,
        rate: phy.rate,
        basic_rate: phy.basic_rate,
        preamble: phy.preamble,
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

fn threshold(table: &ThresholdTable, phy: &PhyTable, faults: &mut Faults<'_>) -> Option<Threshold> {
    let ranges = ranges(&table.range, phy.phy, faults)?;
    let mut complete = true;
    for (rate, range) in phy.phy.rate_indices().zip(&ranges) {
        if range.is_none() && [phy.rate, phy.basic_rate].contains(&rate) {
            let name = phy.phy.rate(rate).name;
            faults.push(Fault::at_key("radio.range", format!("has no range for {name:?}, a rate in use")));
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
        range: ranges.into_iter().map(|range| range.unwrap_or(0.0)).collect(),
        sense_range: table.sense_range.0,
        capture_db: table.capture_db.0,
    })
}

/// The range of each rate, where the table gives one.
fn ranges(table: &RangeTable, phy: &PhyProfile, faults: &mut Faults<'_>) -> Option<Vec<Option<f64>>> {
    let given = match table {
        RangeTable::Same(range) => return Some(vec![Some(*range); phy.rates.len()]),
        RangeTable::ByRate(given) => given,
    };
    let mut ranges = vec![None; phy.rates.len()];
    for &(name, range) in given {
        let Some(rate) = phy.rate_named(name) else {
            faults.push(Fault::at_key("radio.range", format!("{name:?} is not a rate of {}", phy.name)));
            return None;
        };
        ranges[usize::from(rate.0)] = Some(range);
    }
    Some(ranges)
}

fn sinr(table: &SinrTable, phy: &PhyProfile, faults: &mut Faults<'_>) -> Sinr {
    let noise_floor_dbm = table.noise_floor_dbm.map_or_else(|| phy.noise_floor_dbm(), |given| given.0);
    if table.cca_dbm.0 <= noise_floor_dbm {
        let message = format!(
            "found {}, allowed: above noise_floor_dbm, {noise_floor_dbm}, or the medium is always busy",
            table.cca_dbm.0
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
        noise_floor_dbm,
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
