//! A scenario's movement, exported to files for other programs.

use std::io;

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::decibels::mw_to_dbm;
use multihop_radio::mobility::{Movement, Path, Track, bonnmotion, netanim, ns2};
use multihop_radio::params::Model;
use multihop_radio::propagation::{Propagation, Site};

use multihop_scenario::{NotConnected, Scenario};

/// The movement of a scenario's nodes over a whole run.
#[derive(Clone, Debug)]
pub struct Motion {
    movements: Vec<Movement>,
    until: Instant,
    /// The radio between the nodes; `None` under the threshold model, which has no powers.
    radio: Option<Radio>,
}

#[derive(Clone, Debug)]
struct Radio {
    propagation: Propagation,
    noise_dbm: f64,
}

/// Formats of movement files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// An ns-2 script as setdest writes it: start and waypoints of each node.
    Ns2,
    /// `BonnMotion`'s native format: one line with the waypoints of each node.
    Bonnmotion,
    /// XML for NetAnim, ns-3's viewer, with the positions of the nodes at intervals.
    Netanim {
        /// Interval between two positions, longer than zero.
        every: Duration,
    },
    /// CSV with the SNR of the links at intervals, for `radio.measured`. Needs reception by SINR.
    Links {
        /// Interval between two values, longer than zero.
        every: Duration,
    },
}

impl Motion {
    /// The movement of a scenario's nodes in a run with its seed.
    pub fn of(scenario: &Scenario) -> Result<Self, NotConnected> {
        let layout = scenario.topology.place(scenario.seed)?;
        let until = Instant::ZERO + scenario.duration;
        let radio = match &scenario.radio().model {
            Model::Threshold(_) => None,
            Model::Sinr(sinr) => Some(Radio {
                propagation: Propagation::new(sinr, scenario.seed),
                noise_dbm: sinr.noise_floor_dbm,
            }),
        };
        Ok(Self { movements: scenario.movements(&layout), until, radio })
    }

    /// Whether the radio has powers, which [`Format::Links`] needs.
    pub fn has_powers(&self) -> bool {
        self.radio.is_some()
    }

    /// Writes the whole movement.
    pub fn write(self, format: Format, out: &mut impl io::Write) -> io::Result<()> {
        match format {
            Format::Ns2 => ns2::write(&self.paths(), out),
            Format::Bonnmotion => bonnmotion::write(&self.paths(), out),
            Format::Netanim { every } => {
                let mut tracks: Vec<_> = self.movements.into_iter().map(Track::new).collect();
                netanim::write(&mut tracks, every, self.until, out)
            }
            Format::Links { every } => self.write_links(every, out),
        }
    }

    /// Writes the SNR of all pairs of nodes that hear each other, fading included. A link that ends gets one
    /// row without a value.
    fn write_links(self, every: Duration, out: &mut impl io::Write) -> io::Result<()> {
        assert!(every > Duration::ZERO, "measurements need time between them");
        let Some(Radio { propagation, noise_dbm }) = self.radio else {
            return Err(io::Error::other("a radio with fixed ranges has no SNR"));
        };
        let mut tracks: Vec<_> = self.movements.into_iter().map(Track::new).collect();
        let mut linked = vec![false; tracks.len() * tracks.len()];
        let mut now = Instant::ZERO;
        writeln!(out, "time,from,to,snr_db")?;
        loop {
            let places = (0..).map(NodeId).zip(&mut tracks);
            let sites: Vec<_> = places.map(|(node, track)| Site { node, place: track.at(now) }).collect();
            for &from in &sites {
                for &to in sites.iter().filter(|to| to.node != from.node) {
                    let distance = from.place.distance(to.place);
                    let mean = propagation.mean_power_mw(from, to, distance);
                    let snr = mw_to_dbm(mean * propagation.fade(from.node, to.node, now)) - noise_dbm;
                    let (time, from, to) = (now.as_secs_f64(), from.node.0, to.node.0);
                    let was_linked = &mut linked[from as usize * sites.len() + to as usize];
                    let is_linked = snr >= WEAKEST_SNR_DB;
                    if is_linked {
                        writeln!(out, "{time},{from},{to},{snr:.2}")?;
                    } else if *was_linked {
                        writeln!(out, "{time},{from},{to},")?;
                    }
                    *was_linked = is_linked;
                }
            }
            if now >= self.until {
                return Ok(());
            }
            now = (now + every).min(self.until);
        }
    }

    fn paths(self) -> Vec<Path> {
        self.movements.into_iter().map(|movement| movement.recorded(self.until)).collect()
    }
}

/// Smallest SNR of a listed link, dB: a signal 10 dB below the noise disturbs no other one.
const WEAKEST_SNR_DB: f64 = -10.0;
