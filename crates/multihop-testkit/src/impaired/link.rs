//! One direction of an impaired link as a state machine in virtual time.
//!
//! [`LossyLink`] delays, reorders and duplicates. This one adds what packets of real programs need: a
//! rate with a queue, loss bursts, bit errors, and intervals without connectivity.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, Machine, Rng};
use serde::Serialize;

use crate::link::{LinkConfig, LossyLink};

/// Impairments of a link in one direction. The default is a perfect link without delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Rate of the link, bits per second; `None` if packets take no time to send.
    pub rate: Option<u64>,
    /// Propagation delay, after sending.
    pub delay: Duration,
    /// Maximum number of packets that are queued or being sent; further packets are dropped.
    pub queue: usize,
    /// Share of packets that are lost at random.
    pub loss: f64,
    /// Mean length of loss bursts, in which every packet is lost; the gaps between bursts are so long that
    /// the total share of losses is `loss`. Below 1 ms losses are independent.
    ///
    /// This is the model of Gilbert (1960) in time instead of packets: waiting lets a burst pass.
    pub burst: Duration,
    /// Share of packets that are duplicated.
    pub duplicate: f64,
    /// Share of packets and duplicates that are held back, and thus reordered.
    pub reorder: f64,
    /// The longest time that a packet is held back.
    pub hold: Duration,
    /// Share of packets with one bit flipped.
    pub corrupt: f64,
    /// Intervals without connectivity, in which packets are lost.
    pub cuts: Vec<Cut>,
}

/// An interval without connectivity: packets sent from `from` until `until` are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// First instant without connectivity.
    pub from: Instant,
    /// First instant after the interval.
    pub until: Instant,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            queue: 1000,
            loss: 0.0,
            burst: Duration::ZERO,
            duplicate: 0.0,
            reorder: 0.0,
            hold: Duration::from_millis(20),
            corrupt: 0.0,
            cuts: Vec::new(),
        }
    }
}

/// Counters of the packets in one direction of a link.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct LinkCounters {
    /// Packets that were given to the link.
    pub packets: u64,
    /// Bytes of the packets that were given to the link.
    pub bytes: u64,
    /// Packets dropped because the queue was full.
    pub overflowed: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets sent while the link was cut.
    pub cut: u64,
    /// Packets that were duplicated.
    pub duplicated: u64,
    /// Packets that were held back, so that later ones overtook them.
    pub reordered: u64,
    /// Packets with a flipped bit.
    pub corrupted: u64,
}

impl LinkCounters {
    /// Adds the counters of another link.
    pub const fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.overflowed += other.overflowed;
        self.lost += other.lost;
        self.cut += other.cut;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.corrupted += other.corrupted;
    }
}

/// One direction of a link, which delays, damages, duplicates and loses packets.
#[derive(Clone, Debug)]
pub struct ImpairedLink {
    settings: Settings,
    link: LossyLink<Vec<u8>>,
    counters: LinkCounters,
    in_burst: bool,
    burst_changes: Instant,
    /// When each queued packet will have been sent; the last is when the sender becomes idle.
    sent_at: VecDeque<Instant>,
}

impl ImpairedLink {
    /// Creates a link without packets on it.
    pub fn new(settings: Settings, rng: Rng) -> Self {
        let config = LinkConfig {
            delay: settings.delay,
            loss: 0.0,
            duplication: settings.duplicate,
            reordering: settings.reorder,
            hold: settings.hold,
        };
        Self {
            settings,
            link: LossyLink::new(config, rng),
            counters: LinkCounters::default(),
            in_burst: true,
            burst_changes: Instant::ZERO,
            sent_at: VecDeque::new(),
        }
    }

    /// Counters of the link so far.
    pub const fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Adds an interval without connectivity.
    pub fn cut(&mut self, cut: Cut) {
        self.settings.cuts.push(cut);
    }

    fn is_cut(&self, now: Instant) -> bool {
        self.settings.cuts.iter().any(|cut| (cut.from..cut.until).contains(&now))
    }

    /// Adds a packet to the queue and returns when it will have been sent; `None` if the queue is full.
    fn enqueue(&mut self, now: Instant, bytes: usize) -> Option<Instant> {
        let Some(rate) = self.settings.rate else { return Some(now) };
        while self.sent_at.front().is_some_and(|&at| at <= now) {
            self.sent_at.pop_front();
        }
        if self.sent_at.len() >= self.settings.queue {
            return None;
        }
        let free = self.sent_at.back().map_or(now, |&at| at.max(now));
        let nanos = bytes as u64 * 8 * 1_000_000_000 / rate.max(1);
        let sent = free + Duration::from_nanos(nanos);
        self.sent_at.push_back(sent);
        Some(sent)
    }

    fn loses(&mut self, at: Instant) -> bool {
        let Settings { loss, burst, .. } = self.settings;
        if burst < Duration::from_millis(1) || loss <= 0.0 || loss >= 1.0 {
            return self.link.rng().chance(loss);
        }
        while self.burst_changes <= at {
            self.in_burst = !self.in_burst;
            let bad = burst.as_secs_f64();
            let mean = if self.in_burst { bad } else { bad * (1.0 - loss) / loss };
            let length = -mean * (1.0 - self.link.rng().unit()).ln();
            self.burst_changes += Duration::from_secs_f64(length);
        }
        self.in_burst
    }

    fn damage(&mut self, packet: &mut [u8]) {
        let bytes = u32::try_from(packet.len()).expect("an IP packet has at most 65535 bytes");
        let place = self.link.rng().below(bytes) as usize;
        packet[place] ^= 1 << self.link.rng().below(8);
    }
}

impl Machine for ImpairedLink {
    type Input = Vec<u8>;
    type Output = Vec<u8>;

    fn handle(&mut self, now: Instant, mut packet: Vec<u8>) {
        self.counters.packets += 1;
        self.counters.bytes += packet.len() as u64;
        if self.is_cut(now) {
            self.counters.cut += 1;
            return;
        }
        let Some(sent) = self.enqueue(now, packet.len()) else {
            self.counters.overflowed += 1;
            return;
        };
        if self.loses(sent) {
            self.counters.lost += 1;
            return;
        }
        if self.link.rng().chance(self.settings.corrupt) && !packet.is_empty() {
            self.counters.corrupted += 1;
            self.damage(&mut packet);
        }
        let fate = self.link.carry(sent, packet);
        self.counters.duplicated += u64::from(fate.duplicated);
        self.counters.reordered += fate.held_back;
    }

    /// Does nothing, because `poll_output` returns packets once they are due.
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_output(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.link.poll_output(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.link.poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn link(settings: Settings) -> ImpairedLink {
        ImpairedLink::new(settings, Rng::stream(1, "link", 0))
    }

    /// Sends packets of 250 bytes, numbered, one each millisecond.
    fn send(link: &mut ImpairedLink, packets: u32) {
        for number in 0..packets {
            let mut packet = vec![0; 250];
            packet[..4].copy_from_slice(&number.to_be_bytes());
            link.handle(at(number.into()), packet);
        }
    }

    fn arrivals(link: &mut ImpairedLink) -> Vec<u32> {
        let out = std::iter::from_fn(|| link.poll_output(Instant::FAR_FUTURE));
        out.map(|packet| u32::from_be_bytes(packet[..4].try_into().unwrap())).collect()
    }

    #[test]
    fn a_packet_takes_its_transmission_time_and_the_delay() {
        let delay = Duration::from_millis(20);
        let mut link = link(Settings { rate: Some(2_000_000), delay, ..Settings::default() });
        send(&mut link, 1); // 250 bytes at 2 Mb/s: 1 ms
        link.handle(at(0), vec![0; 500]);
        assert_eq!(link.poll_timeout(), Some(at(21)));
        assert_eq!(link.poll_output(at(20)), None);
        assert!(link.poll_output(at(21)).is_some());
        assert_eq!(link.poll_timeout(), Some(at(23)));
    }

    #[test]
    fn a_full_queue_drops_further_packets() {
        let mut link = link(Settings { rate: Some(1_000_000), queue: 10, ..Settings::default() });
        send(&mut link, 100); // each takes 2 ms, and comes 1 ms after the one before
        let counters = link.counters();
        assert_eq!(arrivals(&mut link).len() as u64, 100 - counters.overflowed);
        assert_eq!(counters.overflowed, 100 - 49 - 10, "49 were sent before the last one, 10 wait");
    }

    #[test]
    fn a_cut_ends_on_time() {
        let mut link =
            link(Settings { cuts: vec![Cut { from: at(10), until: at(20) }], ..Settings::default() });
        send(&mut link, 30);
        assert_eq!(arrivals(&mut link), (0..10).chain(20..30).collect::<Vec<_>>());
        assert_eq!(link.counters().cut, 10);
    }

    #[test]
    fn losses_have_the_configured_share_and_burst_length() {
        for (burst, expected) in [(0, 1.0 / 0.9), (50, 50.0)] {
            let burst = Duration::from_millis(burst);
            let mut link = link(Settings { loss: 0.1, burst, ..Settings::default() });
            send(&mut link, 400_000); // one each millisecond
            let lost = link.counters().lost as f64;
            assert!((36_000.0..44_000.0).contains(&lost), "{lost}");
            let gaps = arrivals(&mut link).windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
            let mean = lost / gaps as f64;
            assert!((mean / expected - 1.0).abs() < 0.1, "{mean}");
        }
    }

    #[test]
    fn other_faults_have_the_configured_shares() {
        let settings = Settings { duplicate: 0.05, reorder: 0.1, corrupt: 0.01, ..Settings::default() };
        let mut link = link(settings);
        send(&mut link, 100_000);
        let counters = link.counters();
        assert!((4_700..5_300).contains(&counters.duplicated), "{counters:?}");
        assert!((10_000..11_000).contains(&counters.reordered), "{counters:?}");
        assert!((900..1_100).contains(&counters.corrupted), "{counters:?}");
        assert_eq!(arrivals(&mut link).len() as u64, 100_000 + counters.duplicated);
    }

    #[test]
    fn the_same_seed_gives_the_same_result() {
        let settings = Settings { loss: 0.3, duplicate: 0.1, reorder: 0.3, ..Settings::default() };
        let run = || {
            let mut link = link(settings.clone());
            send(&mut link, 1_000);
            arrivals(&mut link)
        };
        assert_eq!(run(), run());
    }
}
