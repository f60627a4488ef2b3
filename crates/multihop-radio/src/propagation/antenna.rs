use std::f64::consts::PI;

use multihop_core::NodeId;

use crate::decibels::from_db;
use crate::grid::Point;

/// Directional antennas of the nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Antennas {
    /// Pattern of all antennas: their gain in each direction.
    pub pattern: Pattern,
    /// Directions in which the antennas face.
    pub facing: Facing,
}

/// Direction of each antenna, in degrees clockwise from north, which is up: y grows downwards.
#[derive(Clone, Debug, PartialEq)]
pub enum Facing {
    /// All antennas face in this direction.
    All(f64),
    /// One direction for each node.
    Each(Vec<f64>),
    /// Directions of some nodes, in ascending order of nodes; all others have an omnidirectional antenna
    /// without gain.
    Some(Vec<(NodeId, f64)>),
}

/// Gain as a function of the angle from the direction in which an antenna faces.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Equal gain in all directions.
    Omni {
        /// Gain of the antenna, in dBi.
        gain_db: f64,
    },
    /// A sector of a base station (3GPP TR 36.942): -12 (angle / width)^2 dB, and not below the front-to-back ratio.
    Sector {
        /// Gain straight ahead, in dBi.
        gain_db: f64,
        /// Angle between the two directions in which half of the maximal power is radiated, in degrees.
        width: f64,
        /// Ratio of the gain ahead to the gain behind, in dB.
        front_back_db: f64,
    },
    /// A power of the cosine of half the angle, as in ns-3.
    Cosine {
        /// Gain straight ahead, in dBi.
        gain_db: f64,
        /// Angle between the two directions in which half of the maximal power is radiated, in degrees.
        width: f64,
    },
    /// Gains in dBi at equal steps clockwise from the front, interpolated in dB.
    Table {
        /// Gains at equal angles around the antenna, in dBi; at least one.
        gains_db: Vec<f64>,
    },
}

impl Antennas {
    /// Linear gain of the antenna of `node` at `from` in the direction of `to`.
    pub(super) fn gain(&self, node: NodeId, from: Point, to: Point) -> f64 {
        let Some(facing) = self.facing.of(node) else { return 1.0 };
        let bearing = libm::atan2(to.x - from.x, from.y - to.y) * 180.0 / PI;
        from_db(self.pattern.gain_db(bearing - facing))
    }

    /// Gain of every antenna in dBi; `None` unless all are omnidirectional and alike.
    pub fn uniform_db(&self) -> Option<f64> {
        match (&self.pattern, &self.facing) {
            (Pattern::Omni { gain_db }, Facing::All(_)) => Some(*gain_db),
            _ => None,
        }
    }

    /// Linear gain in the best direction.
    pub(super) fn best(&self) -> f64 {
        let best = from_db(self.pattern.best_db());
        if matches!(self.facing, Facing::Some(_)) { best.max(1.0) } else { best }
    }
}

impl Facing {
    fn of(&self, node: NodeId) -> Option<f64> {
        match self {
            Self::All(facing) => Some(*facing),
            Self::Each(all) => all.get(node.index()).copied(),
            Self::Some(nodes) => {
                nodes.binary_search_by_key(&node, |&(node, _)| node).ok().map(|index| nodes[index].1)
            }
        }
    }
}

impl Pattern {
    /// Gain in dBi at an angle from the front, degrees clockwise.
    pub fn gain_db(&self, angle: f64) -> f64 {
        let turned = angle.rem_euclid(360.0);
        let aside = turned.min(360.0 - turned);
        match self {
            Self::Omni { gain_db } => *gain_db,
            Self::Sector { gain_db, width, front_back_db } => {
                let ratio = aside / width;
                gain_db - (12.0 * ratio * ratio).min(*front_back_db)
            }
            Self::Cosine { gain_db, width } => {
                let cosine = |degrees: f64| libm::cos(degrees * PI / 180.0);
                // At half of the width the gain has fallen to half of the power (3 dB).
                let exponent = -3.0 / (10.0 * libm::log10(cosine(width / 4.0)));
                let power = libm::pow(cosine(aside / 2.0).max(0.0), exponent);
                gain_db + (10.0 * libm::log10(power)).max(-DARKEST_DB)
            }
            Self::Table { gains_db } => interpolated(gains_db, turned / 360.0),
        }
    }

    fn best_db(&self) -> f64 {
        match self {
            Self::Omni { gain_db } | Self::Sector { gain_db, .. } | Self::Cosine { gain_db, .. } => *gain_db,
            Self::Table { gains_db } => gains_db.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Gain at `turn`, a fraction of the whole circle from 0 to 1, interpolated between the entries of the table.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a position in the table")]
fn interpolated(gains_db: &[f64], turn: f64) -> f64 {
    let position = turn * gains_db.len() as f64;
    let before = (position as usize).min(gains_db.len() - 1);
    let after = (before + 1) % gains_db.len();
    let share = position - before as f64;
    gains_db[before] + (gains_db[after] - gains_db[before]) * share
}

/// Largest attenuation of a pattern relative to its maximum, dB. It bounds the cosine pattern, whose gain
/// behind the antenna would be zero.
const DARKEST_DB: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-9, "{got}, {want}");
    }

    #[test]
    fn half_the_power_is_left_at_half_the_width() {
        for width in [20.0, 65.0, 180.0, 350.0] {
            let cosine = Pattern::Cosine { gain_db: 8.0, width };
            let sector = Pattern::Sector { gain_db: 8.0, width, front_back_db: 25.0 };
            for pattern in [cosine, sector] {
                close(pattern.gain_db(0.0), 8.0);
                close(pattern.gain_db(width / 2.0), 5.0);
                close(pattern.gain_db(-width / 2.0), 5.0);
                close(pattern.gain_db(360.0 + width / 2.0), 5.0);
            }
        }
        // 12 (180 / 65)^2 exceeds the front-to-back ratio.
        close(Pattern::Sector { gain_db: 8.0, width: 65.0, front_back_db: 25.0 }.gain_db(180.0), -17.0);
        close(Pattern::Cosine { gain_db: 0.0, width: 65.0 }.gain_db(180.0), -100.0);
    }

    #[test]
    fn a_table_is_interpolated_clockwise() {
        let table = Pattern::Table { gains_db: vec![6.0, 0.0, -20.0, 2.0] };
        let gains = [(0.0, 6.0), (45.0, 3.0), (90.0, 0.0), (135.0, -10.0), (270.0, 2.0), (315.0, 4.0)];
        for (angle, gain) in gains {
            close(table.gain_db(angle), gain);
            close(table.gain_db(angle - 360.0), gain);
        }
        close(Pattern::Table { gains_db: vec![3.0] }.gain_db(123.0), 3.0);
    }

    #[test]
    fn antennas_face_clockwise_from_north() {
        let pattern = Pattern::Table { gains_db: vec![10.0, 5.0, -10.0, 0.0] };
        let some = vec![(NodeId(1), 90.0), (NodeId(4), 180.0)];
        let antennas = Antennas { pattern, facing: Facing::Some(some) };
        let here = Point { x: 5.0, y: 5.0 };
        let db = |node, x, y| 10.0 * libm::log10(antennas.gain(NodeId(node), here, Point { x, y }));
        close(db(1, 9.0, 5.0), 10.0);
        close(db(1, 5.0, 9.0), 5.0);
        close(db(1, 1.0, 5.0), -10.0);
        close(db(4, 5.0, 9.0), 10.0);
        close(db(4, 9.0, 5.0), 0.0);
        close(db(0, 9.0, 5.0), 0.0);
        close(antennas.best(), 10.0);
    }
}
