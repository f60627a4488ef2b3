//! Which controls there are, and what they are told before they are loaded.

use std::fmt;

/// A congestion control.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Control {
    /// Adaptive pacing.
    Ap,
    /// A window of a quarter of the hops.
    Clamp,
    /// A rate, from the delay in queues.
    Mesh,
    /// A window that stays after losses without congestion, by reports of the receiver.
    Adtcp,
}

impl Control {
    /// All of them; the place of each is its number in the programs.
    pub const ALL: [Self; 4] = [Self::Ap, Self::Clamp, Self::Mesh, Self::Adtcp];

    /// Its name in the kernel.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ap => "mh_ap",
            Self::Clamp => "mh_clamp",
            Self::Mesh => "mh_mesh",
            Self::Adtcp => "mh_adtcp",
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the controls cannot find out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Bit rate of the links, kb/s.
    pub kbps: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { kbps: 2000 }
    }
}
