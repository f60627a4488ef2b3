//! A scenario's movement as files for other programs.

use std::io;

use multihop_core::{Duration, Instant};
use multihop_radio::mobility::{Movement, Path, Track, bonnmotion, netanim, ns2};

use multihop_scenario::{NotConnected, Scenario};

/// How the nodes of a scenario move, from the start of a run to its end.
#[derive(Clone, Debug)]
pub struct Motion {
    movements: Vec<Movement>,
    until: Instant,
}

/// Formats of files of movements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// An ns-2 script such as setdest writes: where each node starts, and each of its turns.
    Ns2,
    /// `BonnMotion`'s native format: each node's turns in a line.
    Bonnmotion,
    /// XML for ns-3's viewer: where the nodes are every so often.
    Netanim {
        /// Time between two frames, more than none.
        every: Duration,
    },
}

impl Motion {
    /// Places the nodes as a run with the scenario's seed does.
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
