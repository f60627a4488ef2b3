//! The parameters of APDR and their keys.

use multihop_core::Duration;
use multihop_core::settings::{Field, Settings, Visitor};

use crate::olsr;
use crate::settings::TIMEOUT;

/// The parameters of APDR.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct Config {
    /// OLSR with a metric.
    #[key(flatten)]
    pub olsr: olsr::Config,
    /// Reservation of paths: each flow keeps the path of its first packet. `None` chooses a path for each packet.
    #[key(with = Self::reservation_keys)]
    pub reservation: Option<Reservation>,
}

/// How long a reserved path is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct Reservation {
    /// Reaction of a flow to a failed link of its path: it keeps the path (hold), or its next packet fixes another path
    /// (reselect).
    #[key]
    pub on_break: OnBreak,
    /// Delay above which a path is replaced by the best path, s.
    #[key(TIMEOUT, off)]
    pub max_delay: Option<Duration>,
    /// Time without packets after which a flow counts as ended and its path is released, s; 300 s unless a program
    /// sets it.
    pub silence: Duration,
}

/// Reaction of a flow to a failed link of its path: the MAC of the source reports a link failure, or the topology no
/// longer has the link.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum OnBreak {
    /// The flow keeps the path, and its packets are lost until the link is back.
    Hold,
    /// The flow's next packet fixes another path.
    Reselect,
}

impl Config {
    /// The default with path reservation (APDR-PR).
    pub fn reserving() -> Self {
        Self { reservation: Some(Reservation::default()), ..Self::default() }
    }
}

impl Config {
    fn reservation_keys(&mut self, _: &'static str, _: &str, keys: &mut dyn Visitor) {
        let Some(metric) = &mut self.olsr.metric else { return };
        match &mut self.reservation {
            None => metric.switching.keys(keys),
            Some(reservation) => {
                reservation.keys(keys);
                if reservation.max_delay.is_some() && !metric.kind.is_delay {
                    keys.refuse("max_delay", "the limit is a delay, allowed with metric = \"delay\"".into());
                }
            }
        }
    }
}

impl Default for Config {
    /// Default metric: average path delay, on UM-OLSR.
    fn default() -> Self {
        let olsr = olsr::Config::um_olsr().with_metric(olsr::Metric::default());
        Self { olsr, reservation: None }
    }
}

impl Default for Reservation {
    fn default() -> Self {
        Self { on_break: OnBreak::Hold, max_delay: None, silence: SILENCE }
    }
}

/// Time without packets after which a flow counts as ended. It exceeds the pause of any transport between two attempts.
const SILENCE: Duration = Duration::from_secs(300);
