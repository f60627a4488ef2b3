//! Measurements of each station, its interface queues and its links, after the warm-up.

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::frame::{BROADCAST, Category, FrameKind};
use multihop_radio::mac::{Done, MacConfig, Transmission};

use crate::live::{LinkCounters, NodeCounters};
use crate::results::{AirtimeShares, LinkResult, NodeResult, QueueResult};
use crate::stats::Delays;
use multihop_radio::energy::Times;

/// Largest number of nodes whose stations, queues and links are measured individually. Results of larger
/// networks would have many megabytes.
pub(super) const MAX_LISTED_NODES: u32 = 1000;

/// The measurements of all stations; empty in networks of more than [`MAX_LISTED_NODES`] nodes, and if the result has no
/// lists.
pub(super) struct MacStats {
    stations: Vec<StationStats>,
    links: Vec<LinkStats>,
    has_categories: bool,
}

/// Measurements of one station.
#[derive(Clone, Debug)]
struct StationStats {
    /// Start and end of the station's last own frame.
    transmission: (Instant, Instant),
    /// Time in which the station transmitted while signals of others occupied its receiver. It counts as
    /// transmission only.
    overlap: Duration,
    /// Instant until which `overlap` has been computed.
    overlap_known: Instant,
    /// Airtime of all frames, addressed to this station or broadcast, that it received without error.
    received: Duration,
    /// Measurements of the queues, one per access category under EDCA, otherwise one.
    queues: Vec<QueueStats>,
    /// Receiver and index of each of its links, by receiver.
    links: Vec<(NodeId, usize)>,
    /// Receiver and index of the link that was used last; [`BROADCAST`] before the first one.
    last: (NodeId, usize),
}

/// Measurements of one interface queue.
#[derive(Clone, Debug, Default)]
struct QueueStats {
    packets: u64,
    dropped: u64,
    waits: Delays,
}

/// Measurements of the exchanges of one station with a neighbour to which it sends packets.
#[derive(Clone, Debug)]
struct LinkStats {
    from: NodeId,
    to: NodeId,
    delivered: u64,
    dropped: u64,
    frames: u64,
    retries: u64,
    airtime: Duration,
    delays: Delays,
}

impl MacStats {
    pub(super) fn new(nodes: u32, config: &MacConfig, has_lists: bool) -> Self {
        let count = if has_lists && nodes <= MAX_LISTED_NODES { nodes as usize } else { 0 };
        let categories = config.categories().len();
        let station = StationStats {
            queues: vec![QueueStats::default(); categories],
            ..StationStats::new(Instant::ZERO)
        };
        Self { stations: vec![station; count], links: Vec::new(), has_categories: categories > 1 }
    }

    /// Restarts the measurements at the end of the warm-up.
    pub(super) fn restart(&mut self, now: Instant) {
        self.links.clear();
        for station in &mut self.stations {
            *station = StationStats {
                transmission: station.transmission,
                queues: vec![QueueStats::default(); station.queues.len()],
                ..StationStats::new(now)
            };
        }
    }

    /// Whether stations are measured.
    #[inline]
    pub(super) fn are_on(&self) -> bool {
        !self.stations.is_empty()
    }

    /// Records that a packet enters an interface queue.
    #[inline]
    pub(super) fn enters(&mut self, node: NodeId, category: Category) {
        if let Some(queue) = self.queue(node, category) {
            queue.packets += 1;
        }
    }

    /// Counts a packet dropped by a full queue, or by active queue management.
    #[cold]
    pub(super) fn drops(&mut self, node: NodeId, category: Category) {
        if let Some(queue) = self.queue(node, category) {
            queue.dropped += 1;
        }
    }

    #[inline]
    fn queue(&mut self, node: NodeId, category: Category) -> Option<&mut QueueStats> {
        let place = self.place(category);
        self.stations.get_mut(node.index())?.queues.get_mut(place)
    }

    /// The index of a category's queue.
    #[inline]
    fn place(&self, category: Category) -> usize {
        if self.has_categories { category as usize } else { 0 }
    }

    /// Records that a station's MAC has finished a packet.
    #[inline]
    pub(super) fn finished(&mut self, now: Instant, node: NodeId, done: &Done) {
        let out = &done.out;
        let place = self.place(out.category);
        let Some(station) = self.stations.get_mut(node.index()) else { return };
        station.queues[place].waits.add(done.began - out.queued);
        if out.to == BROADCAST {
            return;
        }
        let link = station.link(&mut self.links, node, out.to);
        link.retries += u64::from(done.retries);
        if done.delivered {
            link.delivered += 1;
            link.delays.add(now - out.queued);
        } else {
            link.dropped += 1;
        }
    }

    /// Records that a station begins to transmit a frame with `mpdus` MPDUs. `served` is the receiver of the
    /// packet that a CTS to the station itself announces. `busy_since` is the instant since which signals of
    /// others occupy the station's receiver.
    #[inline]
    pub(super) fn transmits(
        &mut self,
        now: Instant,
        sent: &Transmission,
        mpdus: usize,
        served: impl FnOnce() -> Option<NodeId>,
        busy_since: Option<Instant>,
    ) {
        let Transmission { frame, airtime } = sent;
        let Some(station) = self.stations.get_mut(frame.from.index()) else { return };
        if let Some(since) = busy_since {
            station.overlaps(now, since);
        }
        station.transmission = (now, now + *airtime);
        if frame.to == BROADCAST {
            return;
        }
        let is_response = matches!(frame.kind, FrameKind::Cts | FrameKind::Ack | FrameKind::BlockAck);
        let (from, mut to) = if is_response { (frame.to, frame.from) } else { (frame.from, frame.to) };
        if from == to {
            match served() {
                Some(receiver) if receiver != BROADCAST => to = receiver,
                _ => return,
            }
        }
        let link = self.stations[from.index()].link(&mut self.links, from, to);
        link.airtime += *airtime;
        if matches!(frame.kind, FrameKind::Data | FrameKind::Aggregate) {
            link.frames += mpdus as u64;
        }
    }

    /// Records that a station received a frame, addressed to it or broadcast, without error.
    #[inline]
    pub(super) fn receives(&mut self, node: NodeId, airtime: Duration) {
        if let Some(station) = self.stations.get_mut(node.index()) {
            station.received += airtime;
        }
    }

    /// Records that signals have occupied a station's receiver from `since` until `now`. The station may have
    /// transmitted in this time.
    #[cold]
    pub(super) fn overlaps(&mut self, now: Instant, node: NodeId, since: Instant) {
        if let Some(station) = self.stations.get_mut(node.index()) {
            station.overlaps(now, since);
        }
    }

    /// Time counted both as transmission and as reception of signals of others.
    pub(super) fn overlap(&self, node: NodeId) -> Duration {
        self.stations.get(node.index()).map_or(Duration::ZERO, |station| station.overlap)
    }

    /// Results of the stations. `times` returns the time that a station's radio spent in each state, without
    /// overlap.
    pub(super) fn nodes(&self, times: impl Fn(NodeId) -> Times) -> Vec<NodeResult> {
        let stations = (0..).map(NodeId).zip(&self.stations);
        stations.map(|(node, station)| self.node(node, station, &times(node))).collect()
    }

    fn node(&self, node: NodeId, station: &StationStats, times: &Times) -> NodeResult {
        let mut sum = LinkStats::new(node, BROADCAST);
        for &(_, index) in &station.links {
            sum.add(&self.links[index]);
        }
        NodeResult {
            id: node.0,
            radio: None,
            airtime: shares(times, station.received),
            delivered: sum.delivered,
            dropped: sum.dropped,
            retries: sum.retries,
            delivery_ratio: ratio(sum.delivered, sum.delivered + sum.dropped),
            delay_ms: sum.delays.summary_ms(),
            jitter_ms: sum.delays.jitter_ms(),
        }
    }

    /// Adds what was counted at a station; `None` if stations are not measured.
    pub(super) fn add_to(&self, counters: &mut NodeCounters, node: NodeId) -> Option<()> {
        let station = self.stations.get(node.index())?;
        counters.queued += station.queues.iter().map(|queue| queue.packets).sum::<u64>();
        counters.queue_drops += station.queues.iter().map(|queue| queue.dropped).sum::<u64>();
        let links = station.links.iter().map(|&(_, index)| &self.links[index]);
        counters.links.extend(links.map(LinkStats::counters));
        Some(())
    }

    /// Results of the links over which frames were sent, by sender and receiver.
    pub(super) fn links(&self, seconds: f64) -> Vec<LinkResult> {
        let indices = self.stations.iter().flat_map(|station| &station.links);
        indices.map(|&(_, index)| self.links[index].result(seconds)).collect()
    }

    /// Results of the interface queues that at least one packet entered, by node.
    pub(super) fn queues(&self) -> Vec<QueueResult> {
        let stations = (0..).map(NodeId).zip(&self.stations);
        let all = stations.flat_map(|(node, station)| {
            let named = Category::ALL.iter().map(|category| self.has_categories.then(|| category.name()));
            station.queues.iter().zip(named).map(move |(queue, category)| queue.result(node, category))
        });
        all.filter(|queue| queue.packets > 0).collect()
    }
}

/// Finds a link that is not the last one used, or adds it.
#[inline(never)]
fn find_link(station: &mut StationStats, links: &mut Vec<LinkStats>, from: NodeId, to: NodeId) -> usize {
    let index = match station.links.binary_search_by_key(&to, |&(known, _)| known) {
        Ok(place) => station.links[place].1,
        Err(place) => {
            links.push(LinkStats::new(from, to));
            station.links.insert(place, (to, links.len() - 1));
            links.len() - 1
        }
    };
    station.last = (to, index);
    index
}

impl StationStats {
    fn new(now: Instant) -> Self {
        Self {
            transmission: (Instant::ZERO, Instant::ZERO),
            overlap: Duration::ZERO,
            overlap_known: now,
            received: Duration::ZERO,
            queues: Vec::new(),
            links: Vec::new(),
            last: (BROADCAST, 0),
        }
    }

    /// The link of this station, with number `from`, to another one. `links` contains the links of all
    /// stations.
    #[inline]
    fn link<'a>(&mut self, links: &'a mut Vec<LinkStats>, from: NodeId, to: NodeId) -> &'a mut LinkStats {
        let (last, index) = self.last;
        let index = if last == to { index } else { find_link(self, links, from, to) };
        &mut links[index]
    }

    fn overlaps(&mut self, now: Instant, since: Instant) {
        let (begin, end) = self.transmission;
        let begin = begin.max(since).max(self.overlap_known);
        self.overlap += end.min(now).saturating_since(begin);
        self.overlap_known = now;
    }
}

impl QueueStats {
    fn result(&self, node: NodeId, category: Option<&str>) -> QueueResult {
        QueueResult {
            node: node.0,
            radio: None,
            category: category.map(str::to_owned),
            packets: self.packets,
            dropped: self.dropped,
            delivery_ratio: ratio(self.packets.saturating_sub(self.dropped), self.packets),
            delay_ms: self.waits.summary_ms(),
            jitter_ms: self.waits.jitter_ms(),
        }
    }
}

impl LinkStats {
    fn new(from: NodeId, to: NodeId) -> Self {
        Self {
            from,
            to,
            delivered: 0,
            dropped: 0,
            frames: 0,
            retries: 0,
            airtime: Duration::ZERO,
            delays: Delays::default(),
        }
    }

    /// Adds the counts and delays of another link.
    fn add(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.retries += other.retries;
        self.delays.merge(&other.delays);
    }

    fn counters(&self) -> LinkCounters {
        let Self { to, delivered, dropped, frames, retries, .. } = *self;
        LinkCounters { to: to.0, delivered, dropped, frames, retries }
    }

    fn result(&self, seconds: f64) -> LinkResult {
        LinkResult {
            from: self.from.0,
            to: self.to.0,
            radio: None,
            delivered: self.delivered,
            dropped: self.dropped,
            frames: self.frames,
            retries: self.retries,
            delivery_ratio: ratio(self.delivered, self.delivered + self.dropped),
            delay_ms: self.delays.summary_ms(),
            jitter_ms: self.delays.jitter_ms(),
            airtime_share: self.airtime.as_secs_f64() / seconds,
        }
    }
}

/// `part / whole`, at most 1; `None` if `whole` is zero.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part.min(whole) as f64 / whole as f64)
}

/// Shares of a station's time. `received` is the part of the receiving time used by frames for this station.
fn shares(times: &Times, received: Duration) -> AirtimeShares {
    let Times { transmit, receive, idle, sleep } = *times;
    let whole = (transmit + receive + idle + sleep).as_secs_f64();
    let share = |time: Duration| time.as_secs_f64() / whole;
    let received = received.min(receive);
    AirtimeShares {
        transmit: share(transmit),
        receive: share(received),
        busy: share(receive - received),
        idle: share(idle),
        sleep: share(sleep),
    }
}
