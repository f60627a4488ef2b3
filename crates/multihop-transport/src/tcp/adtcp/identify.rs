use multihop_core::settings::Field;
use multihop_wire::tcp::NetworkState;

use super::density::Level;

/// The ranks of the newest samples of the four metrics (Table 1).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Levels {
    /// Rank of the inter-packet delay difference (IDD).
    pub idd: Level,
    /// Rank of the short-term throughput (STT).
    pub stt: Level,
    /// Rank of the share of packets that arrive out of order (POR).
    pub por: Level,
    /// Rank of the share of packets that are lost (PLR).
    pub plr: Level,
    /// Whether no packet arrived in the last interval, so that the throughput is (about) zero.
    pub silent: bool,
}

/// Rule that identifies congestion from the metrics.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Identify {
    /// Congestion if IDD is high and STT is low, as in the paper.
    Joint,
    /// Congestion if the inter-packet delay difference (IDD) is high.
    Idd,
    /// Congestion if the short-term throughput (STT) is low.
    Stt,
}

impl Identify {
    /// State of the network from the levels of the metrics (table 2): congestion takes precedence; several of the other
    /// states may hold.
    pub fn state(self, levels: &Levels) -> NetworkState {
        let idd = levels.idd == Level::High;
        let stt = levels.stt == Level::Low;
        let congested = match self {
            Self::Joint => idd && stt,
            Self::Idd => idd,
            Self::Stt => stt,
        };
        if congested {
            return NetworkState::CONGESTION;
        }
        let others = [
            (levels.por == Level::High, NetworkState::ROUTE_CHANGE),
            (levels.plr == Level::High, NetworkState::CHANNEL_ERROR),
            (levels.silent, NetworkState::DISCONNECTION),
        ];
        let seen = others.into_iter().filter(|(holds, _)| *holds);
        seen.fold(NetworkState::NORMAL, |state, (_, bit)| state.with(bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{High, Low, Middle};

    fn levels(idd: Level, stt: Level, por: Level, plr: Level) -> Levels {
        Levels { idd, stt, por, plr, silent: false }
    }

    #[test]
    fn table_2() {
        let both = NetworkState::ROUTE_CHANGE.with(NetworkState::CHANNEL_ERROR);
        let rows = [
            (levels(High, Low, Middle, Middle), NetworkState::CONGESTION),
            (levels(High, Low, High, High), NetworkState::CONGESTION),
            (levels(High, Middle, High, Middle), NetworkState::ROUTE_CHANGE),
            (levels(Middle, Low, High, Low), NetworkState::ROUTE_CHANGE),
            (levels(Low, Low, Low, High), NetworkState::CHANNEL_ERROR),
            (levels(Middle, High, High, High), both),
            (levels(High, High, Middle, Low), NetworkState::NORMAL),
        ];
        for (levels, state) in rows {
            assert_eq!(Identify::Joint.state(&levels), state, "{levels:?}");
        }
        let silent = Levels { stt: Low, silent: true, ..Levels::default() };
        assert_eq!(Identify::Joint.state(&silent), NetworkState::DISCONNECTION);
        assert_eq!(Identify::Joint.state(&Levels { idd: High, ..silent }), NetworkState::CONGESTION);
    }

    #[test]
    fn one_metric_alone() {
        let slow = levels(Middle, Low, Middle, Middle);
        let late = levels(High, Middle, Middle, Middle);
        let states = |levels| [Identify::Joint, Identify::Idd, Identify::Stt].map(|rule| rule.state(levels));
        let (normal, congestion) = (NetworkState::NORMAL, NetworkState::CONGESTION);
        assert_eq!(states(&slow), [normal, normal, congestion]);
        assert_eq!(states(&late), [normal, congestion, normal]);
    }
}
