//! Congestion controls for the kernel, and the settings that they receive before loading.

use std::fmt;

/// A congestion control that runs in the kernel as an eBPF program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Control {
    /// Pacing that adapts to the variation of round trips (`mh_ap`).
    Ap,
    /// Window of a quarter of the hops (`mh_clamp`).
    Clamp,
    /// Rate that follows the delay in queues (`mh_mesh`).
    Mesh,
    /// ADTCP: the receiver reports the causes of losses, and the window is not reduced after losses without
    /// congestion (`mh_adtcp`).
    Adtcp,
}

impl Control {
    /// All congestion controls of this crate. The index of each control is its number in the eBPF programs.
    pub const ALL: [Self; 4] = [Self::Ap, Self::Clamp, Self::Mesh, Self::Adtcp];

    /// Name of the control in the kernel, by which programs select it.
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

/// Settings that the controls cannot find out by themselves.
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
