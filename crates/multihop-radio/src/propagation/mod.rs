//! Propagation: path loss, obstacles, antennas, shadowing, fading, and delay.

pub(crate) mod antenna;
pub(crate) mod environment;
pub(crate) mod fading;
pub(crate) mod keys;
pub(crate) mod obstacles;
pub(crate) mod path_loss;

use std::sync::Arc;

use multihop_core::{Duration, Instant, NodeId, Rng};

use crate::decibels::{dbm_to_mw, from_db};
use crate::grid::Point;
use crate::measured::LinkTraces;
use crate::normal::normals;
use crate::params::Sinr;
use antenna::Antennas;
use fading::Fading;
use obstacles::Obstacles;
use path_loss::{LIGHT_SPEED, PathLoss, TwoRay};

/// Received power between any two nodes, equal in both directions.
#[derive(Clone, Debug)]
pub struct Propagation {
    seed: u64,
    transmit_mw: f64,
    path_loss: PathLoss,
    /// Two-ray law between antennas at one common height; `None` for any other path loss.
    two_ray: Option<TwoRay>,
    shadowing_db: f64,
    fading: Fading,
    /// Antenna height of each node, metres; empty if all have the height of the path loss model.
    heights: Vec<f64>,
    antennas: Option<Antennas>,
    /// Linear gain of both antennas of a link together; `None` unless all antennas are omnidirectional and
    /// alike.
    uniform: Option<f64>,
    obstacles: Option<Arc<Obstacles>>,
    /// Measured powers, which replace path loss, shadowing, fading and antennas.
    measured: Option<Box<MeasuredPower>>,
}

/// The received power of measured links.
#[derive(Clone, Debug)]
struct MeasuredPower {
    traces: Arc<LinkTraces>,
    noise_mw: f64,
}

/// A node and its position.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Node whose antenna this is.
    pub node: NodeId,
    /// Position of the node at this instant.
    pub place: Point,
}

impl Propagation {
    /// Creates the propagation of one run. Values are computed on demand and do not depend on the order of
    /// queries.
    pub fn new(params: &Sinr, seed: u64) -> Self {
        Self {
            seed,
            transmit_mw: dbm_to_mw(params.tx_power_dbm),
            path_loss: params.path_loss,
            two_ray: match params.path_loss {
                PathLoss::TwoRay { frequency, height }
                    if params.heights.is_empty() && params.measured.is_none() =>
                {
                    Some(TwoRay::new(frequency, [height; 2]))
                }
                _ => None,
            },
            shadowing_db: params.shadowing_db,
            fading: params.fading,
            heights: params.heights.clone(),
            antennas: params.antennas.clone(),
            uniform: match &params.antennas {
                None => Some(1.0),
                Some(antennas) => antennas.uniform_db().map(|db| from_db(db) * from_db(db)),
            },
            obstacles: params.obstacles.clone(),
            measured: params.measured.as_ref().map(|measured| {
                let traces = Arc::clone(&measured.traces);
                Box::new(MeasuredPower { traces, noise_mw: dbm_to_mw(params.noise_floor_dbm) })
            }),
        }
    }

    /// Power in mW over `distance` metres after path loss, antennas, obstacles and shadowing: constant while neither node
    /// moves. Of a measured link the highest power from `a` to `b`.
    #[inline]
    pub fn mean_power_mw(&self, a: Site, b: Site, distance: f64) -> f64 {
        let gain = match &self.two_ray {
            Some(law) => law.gain(distance),
            None => match &self.measured {
                Some(measured) => return measured.highest_mw(a.node, b.node),
                None => self.gain(a, b, distance),
            },
        };
        let mean = self.transmit_mw * gain * self.shadowing(a.node, b.node);
        if self.antennas.is_none() && self.obstacles.is_none() {
            mean
        } else {
            mean * self.surroundings(a, b)
        }
    }

    /// Power in mW over `distance` metres without fading; of a measured link that at the start of the run.
    pub fn power_at_start_mw(&self, a: Site, b: Site, distance: f64) -> f64 {
        let mean = self.mean_power_mw(a, b, distance);
        match &self.measured {
            None => mean,
            Some(measured) => mean * measured.share(a.node, b.node, Instant::ZERO),
        }
    }

    /// Received power in mW as a function of distance alone; `None` unless it depends on the two-ray law
    /// only.
    #[inline]
    pub fn two_ray_alone(&self) -> Option<impl Fn(f64) -> f64> {
        let law = self.two_ray?;
        let uniform = self.uniform?;
        let alone = self.shadowing_db <= 0.0 && self.obstacles.is_none();
        let transmit_mw = self.transmit_mw;
        alone.then_some(move |distance| transmit_mw * law.gain(distance) * uniform)
    }

    #[inline(never)]
    fn gain(&self, a: Site, b: Site, distance: f64) -> f64 {
        match self.heights.as_slice() {
            [] => self.path_loss.gain(distance),
            heights => self.path_loss.gain_between([a, b].map(|site| heights[site.node.index()]), distance),
        }
    }

    /// Whether power changes over time between stationary nodes.
    pub fn fades(&self) -> bool {
        self.fading != Fading::None || self.measured.is_some()
    }

    /// Factor by which fading changes the mean power from `a` to `b` at this time, with mean 1. For a
    /// measured link, the ratio of its current to its highest power.
    // Inlined, a part of this function would be computed for each frame even without fading.
    #[inline(never)]
    pub fn fade(&self, a: NodeId, b: NodeId, at: Instant) -> f64 {
        match &self.measured {
            None => self.fading.factor(self.seed, pair(a, b), at),
            Some(measured) => measured.share(a, b, at),
        }
    }

    /// Whether shadowing changes the power of links.
    pub(crate) fn is_shadowed(&self) -> bool {
        self.shadowing_db > 0.0
    }

    /// Distance in metres beyond which at most one signal in a thousand is as strong as `weakest_mw`.
    pub fn reach(&self, weakest_mw: f64) -> f64 {
        if self.measured.is_some() {
            return FARTHEST;
        }
        let luckiest = from_db(LUCKY_SIGMAS * self.shadowing_db) * self.fading.luckiest();
        let mut gain = weakest_mw / (self.transmit_mw * luckiest);
        if let Some(antennas) = &self.antennas {
            gain /= antennas.best() * antennas.best();
        }
        // Higher antennas never have a larger loss.
        match self.heights.iter().copied().reduce(f64::max) {
            None => self.path_loss.distance(gain),
            Some(highest) => self.path_loss.distance_between([highest; 2], gain),
        }
    }

    /// Factor on the power by antennas and obstacles.
    fn surroundings(&self, a: Site, b: Site) -> f64 {
        let antennas = match (self.uniform, &self.antennas) {
            (Some(uniform), _) => uniform,
            (None, Some(antennas)) => {
                antennas.gain(a.node, a.place, b.place) * antennas.gain(b.node, b.place, a.place)
            }
            (None, None) => 1.0,
        };
        let obstacles = self.obstacles.as_ref().map_or(1.0, |obstacles| {
            // A fixed order prevents different rounding in the two directions.
            let (from, to) = if a.node <= b.node { (a, b) } else { (b, a) };
            from_db(-obstacles.loss_db(from.place, to.place))
        });
        antennas * obstacles
    }

    #[inline]
    fn shadowing(&self, a: NodeId, b: NodeId) -> f64 {
        if self.shadowing_db <= 0.0 { 1.0 } else { self.shadow(a, b) }
    }

    #[inline(never)]
    fn shadow(&self, a: NodeId, b: NodeId) -> f64 {
        let mut rng = Rng::stream(self.seed, "radio/shadowing", pair(a, b));
        from_db(self.shadowing_db * normals(&mut rng).0)
    }
}

impl MeasuredPower {
    fn highest_mw(&self, from: NodeId, to: NodeId) -> f64 {
        self.noise_mw * from_db(self.traces.highest_snr_db(from, to))
    }

    fn share(&self, from: NodeId, to: NodeId, at: Instant) -> f64 {
        let below_db = self.traces.snr_db(from, to, at) - self.traces.highest_snr_db(from, to);
        // For a link that never had a signal the ratio is undefined.
        if below_db.is_nan() { 0.0 } else { from_db(below_db) }
    }
}

/// Propagation delay, rounded up to a nanosecond, so that it obeys the triangle inequality and no station hears a frame
/// too early.
#[expect(clippy::cast_possible_truncation, reason = "float casts saturate")]
pub fn delay(distance: f64) -> Duration {
    let nanos = distance / LIGHT_SPEED * 1e9;
    // Signed integers convert in fewer instructions, and this function runs for each frame and station.
    let whole = nanos as i64;
    Duration::from_nanos(whole.saturating_add(i64::from((whole as f64) < nanos)).cast_unsigned())
}

/// The number of an unordered pair of nodes.
fn pair(a: NodeId, b: NodeId) -> u64 {
    u64::from(a.min(b).0) << 32 | u64::from(a.max(b).0)
}

/// Search radius for the neighbours of measured links, metres: practically unlimited, because their quality does not
/// depend on positions.
const FARTHEST: f64 = 4e7;
/// Value that one standard normal draw in a thousand exceeds.
const LUCKY_SIGMAS: f64 = 3.09;

#[cfg(test)]
mod tests;
