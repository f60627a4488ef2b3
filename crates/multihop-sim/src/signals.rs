//! The signals on the air of an observed run: the power of a frame at a station, and the interference there.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, Interface, NodeId};
use multihop_radio::decibels::dbm_to_mw;
use multihop_radio::frame::FrameKind;
use multihop_radio::mac::Transmission;
use multihop_radio::medium::Link;
use multihop_radio::params::{Model, NS2_TX_POWER_DBM, RadioParams};

/// Frames that are on the air, and earlier ones that overlap with them.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Power of the noise, mW; 0 in the threshold model, which has none.
    noise_mw: f64,
    /// Milliwatts per unit of the power of links. The threshold model uses gains as powers.
    unit_mw: f64,
    flying: VecDeque<Flying>,
}

/// A transmission that begins, as the stations of one radio receive it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    /// Radio whose stations hear the frame.
    pub(crate) at: Interface,
    /// Radio that transmits the frame.
    pub(crate) over: Interface,
    /// Number of the transmission.
    pub(crate) signal: u64,
    pub(crate) transmission: &'a Transmission,
}

/// A frame on the air.
#[derive(Debug)]
struct Flying {
    /// Number of the transmission.
    signal: u64,
    /// Radio that transmits the frame.
    interface: Interface,
    /// Whether a radio of another channel transmits the frame, which is then only interference.
    is_foreign: bool,
    from: NodeId,
    kind: FrameKind,
    began: Instant,
    airtime: Duration,
    /// Stations that hear the frame, nearest first.
    heard: Vec<SignalAtStation>,
}

/// Power of a frame at a station that hears it.
#[derive(Clone, Copy, Debug)]
struct SignalAtStation {
    by: NodeId,
    delay: Duration,
    power_mw: f64,
}

/// Quality with which a frame reached a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reception {
    /// Received power of the signal, in mW.
    pub(crate) power_mw: f64,
    /// Power of noise and interference at the worst moment of the frame, mW; 0 without either.
    pub(crate) disturbance_mw: f64,
    /// Strongest interferer at the moment of the lowest SINR: another frame, or the station's own transmission.
    pub(crate) interferer: Option<Interferer>,
}

/// A frame that interferes with another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interferer {
    /// Node that transmits the interfering frame; the receiver itself if it was transmitting.
    pub(crate) node: NodeId,
    /// Radio of the node that transmits the interfering frame.
    pub(crate) interface: Interface,
    pub(crate) kind: FrameKind,
    /// Received power, mW; infinite for the receiver's own frame.
    pub(crate) power_mw: f64,
}

impl Signals {
    pub(crate) fn new(radio: &RadioParams) -> Self {
        let (noise_mw, unit_mw) = match &radio.model {
            Model::Threshold(_) => (0.0, dbm_to_mw(NS2_TX_POWER_DBM)),
            Model::Sinr(sinr) => (dbm_to_mw(sinr.noise_floor_dbm), 1.0),
        };
        Self { noise_mw, unit_mw, flying: VecDeque::new() }
    }

    /// Adds a transmission that begins; `power` returns the power of a link, fading included.
    pub(crate) fn launch(
        &mut self,
        now: Instant,
        launch: &Launch<'_>,
        links: &[Link],
        power: impl Fn(&Link) -> f64,
    ) {
        self.forget(now);
        let heard = |link: &Link| SignalAtStation {
            by: link.to,
            delay: link.delay(),
            power_mw: self.unit_mw * power(link),
        };
        let heard = links.iter().map(heard).collect();
        let &Launch { at, over: interface, signal, transmission: Transmission { frame, airtime, .. } } =
            launch;
        let (from, kind, airtime, is_foreign) = (frame.from, frame.kind, *airtime, at != interface);
        self.flying.push_back(Flying {
            signal,
            interface,
            is_foreign,
            from,
            kind,
            began: now,
            airtime,
            heard,
        });
    }

    /// Quality with which a frame that has ended reached a station; `None` if its beginning was not observed.
    pub(crate) fn reception(&self, signal: u64, at: NodeId) -> Option<Reception> {
        let frame = self.flying.iter().rfind(|flying| flying.signal == signal)?;
        let (from, until, power_mw) = frame.at(at)?;
        let others = || {
            let others = self.flying.iter().filter(|other| other.signal != signal);
            others
                .filter_map(|other| Some((other, other.at(at)?)))
                .filter(|(_, (a, b, _))| *a < until && from < *b)
        };
        // The interference increases only at the start of a signal.
        let begins = others().map(|(_, (begin, ..))| begin.max(from));
        let during = |moment: Instant| others().filter(move |(_, (a, b, _))| *a <= moment && moment < *b);
        let sum = |moment: Instant| during(moment).map(|(_, (.., power))| power).sum::<f64>();
        let worst = begins.map(|moment| (sum(moment), moment)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        let strongest = worst.and_then(|(_, moment)| {
            let strongest = during(moment).max_by(|(_, (.., a)), (_, (.., b))| a.total_cmp(b));
            strongest.map(|(other, (.., power_mw))| Interferer {
                node: other.from,
                interface: other.interface,
                kind: other.kind,
                power_mw,
            })
        });
        let disturbance_mw = self.noise_mw + worst.map_or(0.0, |(sum, _)| sum);
        Some(Reception { power_mw, disturbance_mw, interferer: strongest })
    }

    /// Deletes frames that overlap with no frame still on the air.
    fn forget(&mut self, now: Instant) {
        let current = self.flying.iter().filter(|flying| flying.end() >= now).map(|flying| flying.began);
        let oldest = current.min().unwrap_or(now);
        while self.flying.front().is_some_and(|first| first.end() < oldest) {
            self.flying.pop_front();
        }
    }
}

impl Flying {
    /// Arrival of the first and of the last bit at a station, and the received power.
    fn at(&self, node: NodeId) -> Option<(Instant, Instant, f64)> {
        // The radios of a node do not receive each other.
        if node == self.from && !self.is_foreign {
            return Some((self.began, self.began + self.airtime, f64::INFINITY));
        }
        let SignalAtStation { delay, power_mw, .. } = self.heard.iter().find(|heard| heard.by == node)?;
        let begin = self.began + *delay;
        Some((begin, begin + self.airtime, *power_mw))
    }

    /// Instant at which the last bit has reached the farthest station that hears the frame.
    fn end(&self) -> Instant {
        let farthest = self.heard.last().map_or(Duration::ZERO, |heard| heard.delay);
        self.began + self.airtime + farthest
    }
}

impl Reception {
    /// Ratio to noise and interference at the worst moment; `None` without either, or if the station transmitted itself.
    pub(crate) fn sinr(&self) -> Option<f64> {
        let ratio = self.power_mw / self.disturbance_mw;
        (ratio.is_finite() && self.disturbance_mw.is_finite()).then_some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use multihop_radio::decibels::mw_to_dbm;
    use multihop_radio::frame::{BROADCAST, Category, Frame, PacketHandle};
    use multihop_radio::grid::Point;
    use multihop_radio::medium::Medium;
    use multihop_radio::mobility::{Movement, Track};
    use multihop_radio::phy_profile::RateIndex;

    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn transmission(from: u32) -> Transmission {
        let frame = Frame {
            kind: FrameKind::Data,
            from: NodeId(from),
            to: BROADCAST,
            nav: Duration::ZERO,
            sequence: 0,
            category: Category::BestEffort,
            rate: RateIndex(0),
            retry: false,
            bytes: 125,
            turn: None,
            body: PacketHandle::NONE,
        };
        Transmission { frame, airtime: Duration::from_millis(1) }
    }

    /// Receptions at node 1 of frames of 1 ms that begin at these microseconds. Nodes are at 0, 240, 560 and
    /// 700 m.
    fn receptions(sent: &[(u64, u32)]) -> Vec<Option<Reception>> {
        let radio = RadioParams::default();
        let places = [0.0, 240.0, 560.0, 700.0].map(|x| Point { x, y: 0.0 });
        let tracks = places.iter().map(|&place| Track::new(Movement::Still(place))).collect();
        let mut medium = Medium::new(&radio, tracks, 1);
        let (mut signals, mut links) = (Signals::new(&radio), Vec::new());
        for (signal, &(micros, from)) in (1..).zip(sent) {
            medium.links_of(NodeId(from), at(micros), &mut links);
            let transmission = &transmission(from);
            let launch = Launch { at: Interface(0), over: Interface(0), signal, transmission };
            signals.launch(at(micros), &launch, &links, |link| link.power_mw);
        }
        (1..).zip(sent).map(|(signal, _)| signals.reception(signal, NodeId(1))).collect()
    }

    /// Two-ray power in dBm at a distance above 86 m.
    fn two_ray_dbm(metres: f64) -> f64 {
        24.5 + 20.0 * libm::log10(2.25) - 40.0 * libm::log10(metres)
    }

    #[test]
    fn one_interferer_leaves_the_ratio_of_the_two_powers() {
        let [Some(first), Some(second)] = receptions(&[(0, 0), (500, 2)])[..] else {
            panic!("two receptions")
        };
        assert!((mw_to_dbm(first.power_mw) - two_ray_dbm(240.0)).abs() < 0.01, "{first:?}");
        let other = first.interferer.unwrap();
        assert_eq!((other.node, other.kind), (NodeId(2), FrameKind::Data));
        assert!((mw_to_dbm(other.power_mw) - two_ray_dbm(320.0)).abs() < 0.01, "{other:?}");
        // The power ratio is 40 log10(320 / 240) = 5 dB, and the frames interfere with each other.
        let sinr = [first, second].map(|reception| mw_to_dbm(reception.sinr().unwrap()));
        assert!((sinr[0] - 4.9975).abs() < 1e-3 && (sinr[1] + 4.9975).abs() < 1e-3, "{sinr:?}");
    }

    #[test]
    fn the_worst_moment_counts_and_the_strongest_frame_of_it() {
        let found = receptions(&[(0, 0), (500, 3), (600, 2)]);
        let frame = found[0].unwrap();
        let together = [320.0, 460.0].map(|metres| libm::pow(10.0, two_ray_dbm(metres) / 10.0)).iter().sum();
        assert!((mw_to_dbm(frame.disturbance_mw) - mw_to_dbm(together)).abs() < 0.01, "{frame:?}");
        assert_eq!(frame.interferer.unwrap().node, NodeId(2));
    }

    #[test]
    fn frames_that_only_touch_do_not_disturb() {
        let found = receptions(&[(0, 0), (1_001, 2)]);
        assert_eq!(found[1].unwrap().interferer, None);
        assert_eq!(found[1].unwrap().sinr(), None, "the threshold model has no noise");
    }

    #[test]
    fn a_station_that_transmits_disturbs_itself() {
        let frame = receptions(&[(0, 0), (500, 1)])[0].unwrap();
        assert_eq!((frame.interferer.unwrap().node, frame.sinr()), (NodeId(1), None));
    }

    #[test]
    fn earlier_frames_are_forgotten() {
        let found = receptions(&[(0, 0), (500, 2), (5_000, 0)]);
        assert_eq!((found[0], found[1]), (None, None));
        assert!(found[2].is_some());
    }
}
