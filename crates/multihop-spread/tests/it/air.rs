//! A radio channel for nodes: carrier sense with random backoff, collisions, losses of each link.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use multihop_core::{Duration, Instant, Rng};
use multihop_spread::{Config, Event, Header, Input, Node, Packet, TransferId, manifest};
use sha2::{Digest, Sha256};

/// Nodes on a channel.
pub(crate) struct Air {
    pub(crate) now: Instant,
    rng: Rng,
    pub(crate) stations: Vec<Station>,
    /// Loss of each link; absent for pairs out of range.
    pub(crate) loss: BTreeMap<(usize, usize), f64>,
    /// Whether two stations sense each other's carrier and disturb each other's receptions.
    sense: Vec<Vec<bool>>,
    agenda: BinaryHeap<Reverse<(Instant, u64, Work)>>,
    planned: u64,
    frames: Vec<Frame>,
    /// Bits per second.
    pub(crate) rate: f64,
    /// Frames and time that stations were sending.
    pub(crate) sent: u64,
    pub(crate) busy: Duration,
}

/// A node with its files.
pub(crate) struct Station {
    pub(crate) node: Option<Node>,
    /// Contents that are on the disk, by transfer.
    pub(crate) disk: BTreeMap<TransferId, (Header, Vec<u8>, Vec<bool>)>,
    /// Files with their names.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    sending: Option<Instant>,
    attempt: bool,
    wake: Option<Instant>,
    pub(crate) is_done: bool,
    pub(crate) refuses: bool,
}

struct Frame {
    from: usize,
    begin: Instant,
    end: Instant,
    packet: Packet,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Work {
    End(usize),
    Wake(usize),
    Attempt(usize),
}

impl Air {
    /// Stations at these places, in units of the range; the loss of each link is drawn from 10% to 30%.
    pub(crate) fn new(seed: u64, places: &[(f64, f64)]) -> Self {
        let mut rng = Rng::stream(seed, "air", 0);
        let apart = |a: usize, b: usize| {
            let ((ax, ay), (bx, by)) = (places[a], places[b]);
            (ax - bx).hypot(ay - by)
        };
        let n = places.len();
        let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let links = pairs.filter(|(a, b)| apart(*a, *b) <= 1.0);
        let loss = links.map(|link| (link, rng.range(0.1, 0.3))).collect();
        let sense = (0..n).map(|a| (0..n).map(|b| apart(a, b) <= 2.2).collect()).collect();
        let stations = (0..n).map(|_| Station::new()).collect();
        let agenda = BinaryHeap::new();
        let (rate, sent, busy) = (6e6, 0, Duration::ZERO);
        Self {
            now: Instant::ZERO,
            rng,
            stations,
            loss,
            sense,
            agenda,
            planned: 0,
            frames: Vec::new(),
            rate,
            sent,
            busy,
        }
    }

    /// Starts a node, or starts it again.
    pub(crate) fn start(&mut self, station: usize, config: impl FnOnce(&mut Config)) {
        let mut settings = Config::new(station as u64, &format!("node {station}"));
        config(&mut settings);
        let seed = self.rng.next_u64();
        self.stations[station].node = Some(Node::new(settings, seed));
        self.settle(station);
    }

    /// Kills a node; its disk remains.
    pub(crate) fn kill(&mut self, station: usize) {
        self.stations[station].node = None;
    }

    /// Makes a started node the source of a file.
    pub(crate) fn offer(&mut self, station: usize, name: &str, file: &[u8], symbol: u16) -> TransferId {
        let (list, sha256, hash) = manifest(file, symbol, 256).unwrap();
        let (name, size) = (name.to_owned(), file.len() as u64);
        let header = Header { name, size, sha256, manifest: hash, symbol, symbols: 256, source: [9; 32] };
        let id = header.id();
        let blocks = vec![true; header.blocks() as usize];
        let this = &mut self.stations[station];
        this.disk.insert(id, (header.clone(), file.to_vec(), blocks));
        let start = self.now.as_nanos() / 1_000_000 + 1;
        this.node.as_mut().unwrap().offer(self.now, header, [0; 64], list, start);
        self.settle(station);
        id
    }

    /// Hands a packet to a node, as if a neighbour had sent it.
    pub(crate) fn inject(&mut self, station: usize, packet: Packet) {
        if let Some(node) = &mut self.stations[station].node {
            node.handle(self.now, Input::Packet { from: 999, packet });
        }
        self.settle(station);
    }

    /// Runs until a condition holds; fails after `limit`.
    pub(crate) fn run(&mut self, limit: Duration, mut until: impl FnMut(&Self) -> bool) {
        let end = self.now + limit;
        while !until(self) {
            let Some(Reverse((at, _, work))) = self.agenda.pop() else {
                panic!("nothing is planned any more")
            };
            assert!(at <= end, "the condition does not hold after {limit}: {}", self.state());
            self.now = at;
            match work {
                Work::End(station) => self.end(station),
                Work::Wake(station) => {
                    if self.stations[station].wake.is_some_and(|wake| wake <= at) {
                        self.stations[station].wake = None;
                        self.settle(station);
                    }
                }
                Work::Attempt(station) => self.attempt(station),
            }
        }
    }

    /// Number of stations that have a file under its name.
    pub(crate) fn with_file(&self, name: &str, file: &[u8]) -> usize {
        self.stations
            .iter()
            .filter(|station| station.files.get(name).is_some_and(|found| found.len() == file.len()))
            .count()
    }

    /// Hops from a station to each other one; `None` if there is no path.
    pub(crate) fn hops(&self, from: usize) -> Vec<Option<u32>> {
        let mut hops = vec![None; self.stations.len()];
        hops[from] = Some(0);
        for round in 0..self.stations.len() as u32 {
            for (a, b) in self.loss.keys() {
                if hops[*a] == Some(round) && hops[*b].is_none() {
                    hops[*b] = Some(round + 1);
                }
            }
        }
        hops
    }

    /// Least expected number of transmissions of a packet from a station to each other one, if each hop repeats it until
    /// it arrives and no acknowledgement costs anything.
    pub(crate) fn unicast(&self, from: usize) -> Vec<f64> {
        let mut cost = vec![f64::INFINITY; self.stations.len()];
        cost[from] = 0.0;
        for _ in 0..self.stations.len() {
            for ((a, b), loss) in &self.loss {
                cost[*b] = cost[*b].min(cost[*a] + 1.0 / (1.0 - loss));
            }
        }
        cost
    }

    /// Time of a packet of this many bytes on the channel, with the headers of seal, UDP, IP and MAC.
    pub(crate) fn airtime(&self, bytes: usize) -> Duration {
        Duration::from_micros(40) + Duration::from_secs_f64((bytes + 29 + 28 + 36) as f64 * 8.0 / self.rate)
    }

    pub(crate) fn state(&self) -> String {
        let of = |station: &Station| {
            let whole =
                |(_, _, whole): &(Header, Vec<u8>, Vec<bool>)| whole.iter().filter(|whole| **whole).count();
            format!("{:?} {}", station.disk.values().map(whole).collect::<Vec<_>>(), station.files.len())
        };
        self.stations.iter().map(of).collect::<Vec<_>>().join(", ")
    }

    fn plan(&mut self, at: Instant, work: Work) {
        self.planned += 1;
        self.agenda.push(Reverse((at, self.planned, work)));
    }

    /// Runs the timers of a node and does its work on files.
    fn settle(&mut self, station: usize) {
        let now = self.now;
        let this = &mut self.stations[station];
        let Some(node) = &mut this.node else { return };
        node.handle_timeout(now);
        while let Some(event) = node.poll_output() {
            if let Some(answer) =
                answer(&mut this.disk, &mut this.files, &mut this.is_done, this.refuses, event, node)
            {
                node.handle(now, answer);
            }
        }
        let next = node.poll_timeout(now).map(|at| at.max(now + Duration::from_micros(100)));
        let wants = node.wants_transmit(now);
        if let Some(next) = next.filter(|next| this.wake.is_none_or(|wake| *next < wake)) {
            this.wake = Some(next);
            self.plan(next, Work::Wake(station));
        }
        if wants {
            self.contend(station);
        }
    }

    /// Plans an attempt to send if the channel is free.
    fn contend(&mut self, station: usize) {
        let this = &self.stations[station];
        if this.attempt || this.sending.is_some() || self.senses(station) {
            return;
        }
        let slots = self.rng.below(32);
        self.stations[station].attempt = true;
        self.plan(self.now + Duration::from_micros(34 + 9 * u64::from(slots)), Work::Attempt(station));
    }

    fn senses(&self, station: usize) -> bool {
        self.stations
            .iter()
            .zip(&self.sense[station])
            .any(|(other, sensed)| *sensed && other.sending.is_some())
    }

    fn attempt(&mut self, station: usize) {
        self.stations[station].attempt = false;
        if self.senses(station) {
            return;
        }
        let now = self.now;
        let Some(node) = &mut self.stations[station].node else { return };
        let Some(packet) = node.poll_transmit(now) else {
            self.settle(station);
            return;
        };
        let time = self.airtime(packet.emit().len());
        let end = now + time;
        self.sent += 1;
        self.busy += time;
        self.stations[station].sending = Some(end);
        self.frames.push(Frame { from: station, begin: now, end, packet });
        self.plan(end, Work::End(station));
        self.settle(station);
    }

    /// The end of a frame: those that receive it get it, and those that waited contend.
    fn end(&mut self, station: usize) {
        self.stations[station].sending = None;
        let now = self.now;
        let place = self.frames.iter().position(|frame| frame.from == station && frame.end == now).unwrap();
        let (from, begin) = (self.frames[place].from, self.frames[place].begin);
        let overlaps = |frame: &&Frame| frame.from != from && frame.begin < now && frame.end > begin;
        let others: Vec<usize> = self.frames.iter().filter(overlaps).map(|frame| frame.from).collect();
        let packet = self.frames[place].packet.clone();
        for to in 0..self.stations.len() {
            let Some(loss) = self.loss.get(&(from, to)).copied() else { continue };
            let is_disturbed = others.iter().any(|other| self.sense[*other][to]);
            if self.rng.chance(loss) || is_disturbed || self.stations[to].node.is_none() {
                continue;
            }
            let node = self.stations[to].node.as_mut().unwrap();
            node.handle(now, Input::Packet { from: from as u64, packet: packet.clone() });
            self.settle(to);
        }
        // Frames that have ended matter while others that overlap them are on the air.
        let first = self.frames.iter().filter(|frame| frame.end > now).map(|frame| frame.begin).min();
        self.frames.retain(|frame| frame.end >= first.unwrap_or(now));
        for other in 0..self.stations.len() {
            let wants = self.stations[other].node.as_ref().is_some_and(|node| node.wants_transmit(now));
            if wants && self.sense[station][other] {
                self.contend(other);
            }
        }
    }
}

impl Station {
    fn new() -> Self {
        let (disk, files) = (BTreeMap::new(), BTreeMap::new());
        Self {
            node: None,
            disk,
            files,
            sending: None,
            attempt: false,
            wake: None,
            is_done: false,
            refuses: false,
        }
    }
}

fn answer(
    disk: &mut BTreeMap<TransferId, (Header, Vec<u8>, Vec<bool>)>,
    files: &mut BTreeMap<String, Vec<u8>>,
    is_done: &mut bool,
    refuses: bool,
    event: Event,
    node: &Node,
) -> Option<Input> {
    let range = |header: &Header, block| {
        let begin = header.offset(block) as usize;
        begin..begin + header.block_len(block)
    };
    match event {
        Event::Offered { transfer, .. } if refuses => Some(Input::Refuse(transfer)),
        Event::Offered { transfer, header } => {
            let empty = (vec![0; header.size as usize], vec![false; header.blocks() as usize]);
            disk.entry(transfer).or_insert((header, empty.0, empty.1));
            Some(Input::Accept(transfer))
        }
        Event::Survey { transfer } => {
            let (header, file, _) = &disk[&transfer];
            let list = node.manifest(transfer);
            let whole = (1..header.blocks())
                .filter(|block| header.is_block(*block, &file[range(header, *block)], list));
            Some(Input::Surveyed { transfer, whole: whole.collect() })
        }
        Event::Store { transfer, block, contents } => {
            let (header, file, whole) = disk.get_mut(&transfer).unwrap();
            assert!(!whole[block as usize], "a block is stored once");
            file[range(header, block)].copy_from_slice(&contents);
            whole[block as usize] = true;
            None
        }
        Event::Read { transfer, block } => {
            let (header, file, _) = &disk[&transfer];
            Some(Input::Contents { transfer, block, contents: Some(file[range(header, block)].to_vec()) })
        }
        Event::Complete(transfer) => {
            let (header, file, _) = &disk[&transfer];
            assert_eq!(Sha256::digest(file)[..], header.sha256);
            files.insert(header.name.clone(), file.clone());
            Some(Input::Stored(transfer))
        }
        Event::Progress(_) => None,
        Event::Done(_) => {
            *is_done = true;
            None
        }
    }
}
