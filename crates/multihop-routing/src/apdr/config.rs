//! The parameters of APDR and their keys.

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::olsr;
use crate::settings::TIMEOUT;

/// The parameters of APDR.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// OLSR with a metric.
    pub olsr: olsr::Config,
    /// Each flow keeps the path of its first packet.
    pub reservation: Option<Reservation>,
}

/// How long a reserved path is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reservation {
    /// What happens when a link of the path fails.
    pub on_break: OnBreak,
    /// A path that costs more than this is replaced by the best one (microseconds or thousandths of
    /// transmissions).
    pub max_cost: Option<u64>,
}

/// What a flow does when a link of its path fails: the MAC of the source reports a link failure, or
/// the topology no longer has the link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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

impl Settings for Config {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        self.olsr.keys(keys);
        match &mut self.reservation {
            Some(reservation) => {
                let measures_delay = self.olsr.metric.is_some_and(|metric| metric.kind.is_delay);
                reservation.keys(measures_delay, keys);
            }
            None => self.olsr.switch_keys(keys),
        }
    }
}

impl Reservation {
    fn keys(&mut self, measures_delay: bool, keys: &mut dyn Visitor) {
        let words = [("hold", OnBreak::Hold), ("reselect", OnBreak::Reselect)];
        keys.about("What a flow does when a link of its path fails: it keeps the path, or its next packet fixes another path.")
            .word("on_break", &mut self.on_break, &words);
        let mut max_delay = self.max_cost.map(Duration::from_micros);
        let about = "A path with a longer delay than this is replaced by the best path, s.";
        if keys.about(about).seconds_or_off("max_delay", &mut max_delay, TIMEOUT) {
            self.max_cost = max_delay.map(Duration::as_micros);
        }
        if max_delay.is_some() && !measures_delay {
            keys.refuse("max_delay", "the limit is a delay, allowed with metric = \"delay\"".into());
        }
    }
}

impl Default for Config {
    /// Average path-delay routing on UM-OLSR.
    fn default() -> Self {
        let olsr = olsr::Config::um_olsr().with_metric(olsr::Metric::default());
        Self { olsr, reservation: None }
    }
}

impl Default for Reservation {
    fn default() -> Self {
        Self { on_break: OnBreak::Hold, max_cost: None }
    }
}
