//! The keys of path loss, fading and antennas.

use core::ops::RangeInclusive;

use multihop_core::settings::{Allowed, Value, Visitor};
use multihop_core::{Duration, NodeId};

use super::antenna::{Antennas, Facing, Pattern};
use super::environment::{Building, ENVIRONMENTS, free_space_db};
use super::fading::{Change, Fading};
use super::path_loss::{LIGHT_SPEED, PathLoss};
use crate::keys::{DECIBELS, METRES};
use crate::params::Sinr;
use crate::phy_profile::PhyProfile;

pub(crate) fn path_loss(phy: &PhyProfile, sinr: &mut Sinr, keys: &mut dyn Visitor) {
    let kinds = [
        ("log-distance", "The loss at 1 m, then 10 n dB a decade."),
        ("two-ray", "Free space up to the crossover, then the fourth power of distance."),
        ("p1238", "Inside a building with several storeys, by ITU-R P.1238-7."),
        ("p1411", "Along a street between buildings, in sight, by ITU-R P.1411-12."),
    ];
    keys.kinds("kind", None, &kinds, &mut |kind, keys| {
        if kind == 0 {
            sinr.path_loss = log_distance(phy, keys);
            return;
        }
        // DEVIATION sinr-4: Two-ray path loss uses 914 MHz (ns-2's WaveLAN) in place of the channel's frequency,
        // unless `frequency` is set. The crossover is at 86 m instead of 227 m.
        let mut frequency = if kind == 1 { 914e6 } else { channel(phy) };
        let about =
            "Carrier frequency, Hz. Default: the channel's; for two-ray that of ns-2's card, 914 MHz.";
        keys.about(about).field("frequency", &mut frequency, 1e6..=1e12);
        let height = heights(&mut sinr.heights, keys);
        sinr.path_loss = match kind {
            1 => PathLoss::TwoRay { frequency, height },
            2 => indoor(frequency, height, keys),
            _ => PathLoss::Street { frequency, height },
        };
    });
}

fn log_distance(phy: &PhyProfile, keys: &mut dyn Visitor) -> PathLoss {
    let (mut exponent, mut reference_db) = (3.0, free_space_db(channel(phy)));
    let names = ENVIRONMENTS.map(|environment| (environment.name, environment));
    let about = "Measured losses that take the place of both defaults: of ITU-R P.1411-12 (street, city, \
                 residential) or P.1238-11 (office, corridor, industrial), at the frequency of the channel.";
    if let Some(environment) = keys.about(about).choice("environment", None, &names) {
        exponent = environment.exponent();
        reference_db = environment.reference_db(channel(phy));
    }
    keys.about("Exponent n of the loss over distance.").field("exponent", &mut exponent, 1.0..=10.0);
    let about = "Loss at 1 m, dB; the default is free space in the channel's band.";
    keys.about(about).field("reference_db", &mut reference_db, DECIBELS);
    PathLoss::LogDistance { exponent, reference_db }
}

fn indoor(frequency: f64, height: f64, keys: &mut dyn Visitor) -> PathLoss {
    let kinds = [
        ("residential", Building::Residential),
        ("office", Building::Office),
        ("commercial", Building::Commercial),
    ];
    let (mut building, mut storey) = (Building::Residential, 3.0);
    keys.about("Use of the building.").word("building", &mut building, &kinds);
    let about = "Height of a storey, from one floor to the next, m. The heights of the antennas decide how many floors are between two nodes.";
    keys.about(about).field("storey", &mut storey, METRES);
    PathLoss::Indoor { building, frequency, height, storey }
}

/// Reads the height of all antennas; `each` gets the heights of single nodes.
fn heights(each: &mut Vec<f64>, keys: &mut dyn Visitor) -> f64 {
    let about = "Height of all antennas, m; or a list with one for each node.";
    let default = 1.5;
    match one_or_each("height", about, METRES, default, keys) {
        Value::List(heights) => {
            *each = heights.into_iter().map(Value::into_number).collect();
            default
        }
        height => height.into_number(),
    }
}

pub(crate) fn fading(phy: &PhyProfile, fading: &mut Fading, keys: &mut dyn Visitor) {
    let kinds = [
        ("none", "No fading."),
        ("rayleigh", "No line of sight."),
        ("rician", "A line of sight and scattered waves."),
        ("nakagami", "Nakagami-m: m = 1 is Rayleigh, larger values fade less, smaller ones more."),
    ];
    keys.kinds("kind", None, &kinds, &mut |kind, keys| {
        let (mut k, mut m) = (4.0, 1.0);
        if kind == 2 {
            let about = "Power of the line of sight relative to that of the scattered waves, linear.";
            keys.about(about).field("k", &mut k, 0.0..=1e6);
        }
        if kind == 3 {
            keys.about("Parameter m of the distribution, a multiple of 0.5.").field("m", &mut m, 0.5..=50.0);
            if (2.0 * m).fract() != 0.0 {
                keys.refuse("m", format!("found {m}, allowed: a multiple of 0.5"));
            }
        }
        if kind == 0 {
            *fading = Fading::None;
            return;
        }
        let change = change(phy, keys);
        *fading = match kind {
            1 => Fading::Rayleigh { change },
            2 => Fading::Rician { k, change },
            _ => Fading::Nakagami { squares: doubled(m), change },
        };
    });
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 100")]
fn doubled(m: f64) -> u32 {
    (2.0 * m) as u32
}

fn change(phy: &PhyProfile, keys: &mut dyn Visitor) -> Change {
    let mut coherence = Duration::from_millis(100);
    let given = keys.about("Time for which an independent draw holds, s.").field(
        "coherence",
        &mut coherence,
        1e-6..=1e9,
    );
    let mut speed: Option<f64> = None;
    let about = "Instead of coherence: fading changes continuously, as for nodes that pass each other and their \
                 surroundings at this speed, m/s (Clarke's model at the channel's frequency).";
    keys.about(about).field("speed", &mut speed, 0.0..=10_000.0);
    if given && speed.is_some() {
        keys.refuse("speed", "is not a key here, allowed without coherence".to_owned());
    }
    match speed {
        None => Change::Blocks(coherence),
        Some(speed) => Change::Doppler(speed * channel(phy) / LIGHT_SPEED),
    }
}

pub(crate) fn antennas(keys: &mut dyn Visitor) -> Option<Antennas> {
    let about = "Direction of the antenna, degrees clockwise from north (up, to lower y): one for all, or a list with one for \
                 each node, or for each of nodes.";
    let azimuth = one_or_each("azimuth", about, -360.0..=360.0, 0.0, keys);
    let each = Allowed::Whole(0, u64::from(u32::MAX) - 1);
    let about = "The nodes that have the antenna, by number in ascending order; all others have an \
                 omnidirectional one without gain. Default: all nodes.";
    let nodes = keys.about(about).value("nodes", each.list(), None);
    let facing = facing(azimuth, nodes.map(Value::into_list), keys);
    let kinds = [
        ("omni", "The same in all directions."),
        (
            "sector",
            "A sector of 3GPP TR 36.942: 12 (angle / width)^2 dB less, down to the front-to-back ratio.",
        ),
        ("cosine", "A power of the cosine of half the angle."),
        ("table", "Any pattern."),
    ];
    let mut pattern = None;
    keys.kinds("kind", None, &kinds, &mut |kind, keys| pattern = Some(self::pattern(kind, keys)));
    Some(Antennas { pattern: pattern?, facing: facing? })
}

fn pattern(kind: usize, keys: &mut dyn Visitor) -> Pattern {
    if kind == 3 {
        let each = Allowed::from(GAIN_DB);
        let about = "Gains in dBi at equal steps clockwise from ahead, such as four for every 90 degrees; \
                     between them interpolated.";
        let given = keys.about(about).required().value("gains_dbi", each.list(), None);
        let gains_db: Vec<_> =
            given.map_or_else(Vec::new, Value::into_list).into_iter().map(Value::into_number).collect();
        if gains_db.is_empty() {
            keys.refuse("gains_dbi", "found an empty array, allowed: at least one gain".to_owned());
        }
        return Pattern::Table { gains_db };
    }
    let mut gain_db = 0.0;
    keys.about("Gain ahead, dBi.").field("gain_dbi", &mut gain_db, GAIN_DB);
    if kind == 0 {
        return Pattern::Omni { gain_db };
    }
    let (mut width, mut front_back_db) = (65.0, 20.0);
    let about = "Width of the beam, between the directions in which half the power is left, degrees.";
    keys.about(about).field("width", &mut width, 1.0..=350.0);
    if kind == 2 {
        return Pattern::Cosine { gain_db, width };
    }
    let about = "Front-to-back ratio, dB.";
    keys.about(about).field("front_back_db", &mut front_back_db, 0.0..=100.0);
    Pattern::Sector { gain_db, width, front_back_db }
}

/// Combines the directions of antennas with their nodes.
fn facing(azimuth: Value, nodes: Option<Vec<Value>>, keys: &mut dyn Visitor) -> Option<Facing> {
    let azimuths = match azimuth {
        Value::List(each) => Err(each.into_iter().map(Value::into_number).collect::<Vec<_>>()),
        one => Ok(one.into_number()),
    };
    let Some(nodes) = nodes else {
        return Some(azimuths.map_or_else(Facing::Each, Facing::All));
    };
    let number = |value: Value| match value {
        Value::Whole(n) => NodeId(u32::try_from(n).expect("within the bounds")),
        _ => unreachable!("a value of the allowed type"),
    };
    let nodes: Vec<_> = nodes.into_iter().map(number).collect();
    if !nodes.is_sorted_by(|a, b| a < b) {
        keys.refuse("nodes", "allowed: numbers in ascending order, each once".to_owned());
        return None;
    }
    let azimuths = azimuths.map_or_else(|each| each, |one| vec![one; nodes.len()]);
    if azimuths.len() != nodes.len() {
        let (found, wanted) = (azimuths.len(), nodes.len());
        keys.refuse("azimuth", format!("found {found} values, allowed: {wanted}, one for each of nodes"));
        return None;
    }
    Some(Facing::Some(nodes.into_iter().zip(azimuths).collect()))
}

/// Reads a number, or a list with a number for each node.
fn one_or_each(
    name: &'static str,
    about: &str,
    range: RangeInclusive<f64>,
    default: f64,
    keys: &mut dyn Visitor,
) -> Value {
    let (one, each) = (Allowed::from(range.clone()), Allowed::from(range));
    let allowed = one.or(each.list());
    let given = keys.about(about).value(name, allowed, Some(Value::Number(default)));
    given.unwrap_or(Value::Number(default))
}

/// Frequency of the profile's channel, in Hz.
fn channel(phy: &PhyProfile) -> f64 {
    f64::from(phy.channel_mhz) * 1e6
}

const GAIN_DB: RangeInclusive<f64> = -100.0..=100.0;
