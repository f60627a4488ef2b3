//! Parameters behind the short names of TPA.

use multihop_core::settings::{Settings, Visitor};
use multihop_transport::pacing::Clock;
use multihop_transport::tpa::{AckPolicy, Config, PROFILES};

use super::tcp::pacing;

/// Kind of TPA that a short name selects.
#[derive(Clone, Copy)]
pub(crate) struct TpaKind {
    /// Values of `cwnd_max` and the ACK policy; `None` for the values of the profile.
    window: Option<(u8, AckPolicy)>,
    paced: bool,
}

/// TPA with the values of its profile.
pub(super) const TPA: TpaKind = TpaKind { window: None, paced: false };

/// TPA with an ACK for every second segment.
pub(super) const fn plain(cwnd_max: u8) -> TpaKind {
    TpaKind { window: Some((cwnd_max, AckPolicy::EveryTwo)), ..TPA }
}

/// TPA* with an ACK for every window.
pub(super) const fn star(cwnd_max: u8) -> TpaKind {
    TpaKind { window: Some((cwnd_max, AckPolicy::EveryWindow)), ..TPA }
}

impl TpaKind {
    /// Variant with adaptive pacing: TPA-AP.
    pub(super) const fn paced(self) -> Self {
        Self { paced: true, ..self }
    }

    pub(super) const fn is_paced(self) -> bool {
        self.paced
    }

    /// Parameters of this kind of TPA: the profile with the kind's window, ACK policy and pacing.
    pub(super) fn parameters(self, profile: Config) -> TpaParameters {
        TpaParameters { kind: self, config: self.config(profile) }
    }

    fn config(self, profile: Config) -> Config {
        let (cwnd_max, ack_policy) = self.window.unwrap_or((profile.cwnd_max, profile.ack_policy));
        let pacing = self.paced.then(|| pacing(Clock::Own));
        Config { cwnd_max, ack_policy, pacing, ..profile }
    }
}

/// A kind of TPA and its parameters, which a profile replaces.
pub(super) struct TpaParameters {
    kind: TpaKind,
    pub(super) config: Config,
}

impl Settings for TpaParameters {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Whose constants hold unless a key changes them: those of the paper's experiments, or \
                     those for real networks.";
        if let Some(profile) = keys.about(about).choice("profile", Some("paper"), PROFILES) {
            self.config = self.kind.config(profile());
        }
        self.config.keys(keys);
    }
}
