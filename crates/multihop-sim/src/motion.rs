//! A scenario's movement as files for other programs.

use std::io;

use multihop_core::{Duration, Instant};
use multihop_radio::mobility::{Movement, Path, Track, bonnmotion, netanim, ns2};

use multihop_scenario::{NotConnected, Scenario};

/// The movement of a scenario's nodes over a whole run.
#[derive(Clone, Debug)]
pub struct Motion {
    movements: Vec<Movement>,
    until: Instant,
}

/// Formats of movement files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// An ns-2 script like those of setdest: start and waypoints of each node.
    Ns2,
    /// `BonnMotion`'s native format: one line with the waypoints of each node.
    Bonnmotion,
    /// XML for ns-3's viewer, with the positions of the nodes at intervals.
    Netanim {
        /// The interval, longer than zero.
        every: Duration,
    },
}

impl Motion {
    /// The movement in a run with the scenario's seed.
    pub fn of(scenario: &Scenario) -> Result<Self, NotConnected> {
        let layout = scenario.topology.place(scenario.seed)?;
        let until = Instant::ZERO + scenario.duration;
        Ok(Self { movements: scenario.movements(&layout), until })
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
        }
    }

    fn paths(self) -> Vec<Path> {
        self.movements.into_iter().map(|movement| movement.recorded(self.until)).collect()
    }
}
