//! CoDel (RFC 8289) and FQ-CoDel (RFC 8290): packets that have waited too long are marked or dropped, and
//! flows are served in turn.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::frame::{Outgoing, PacketHandle};
use multihop_radio::params::{CodelParams, Discipline};
use multihop_wire::tcp::Ecn;

use crate::packet::{Body, Pool};
use crate::segment::{self, format};

/// Packets of one station that wait for its MAC.
#[derive(Clone, Debug)]
pub(super) struct FqCodel {
    discipline: Discipline,
    params: CodelParams,
    /// Largest number of packets in the queue.
    limit: usize,
    // DEVIATION fq-codel-1: FQ-CoDel has one queue for each flow and direction. RFC 8290 (4.1.1) hashes flows into
    // 1024 queues, so that two flows may share a queue by chance.
    flows: Vec<FlowQueue>,
    /// Flows that have just become active, by their index in `flows`, in order of service.
    new: VecDeque<usize>,
    /// All other active flows, by their index in `flows`, in order of service.
    old: VecDeque<usize>,
    len: usize,
}

/// Queue of one flow's packets in one direction.
#[derive(Clone, Debug)]
struct FlowQueue {
    key: Key,
    packets: VecDeque<(Instant, Outgoing)>,
    bytes: u64,
    /// Deficit of the round robin: number of bytes that the flow may still send in its turn.
    credit: i64,
    is_active: bool,
    codel: Codel,
}

type Key = (NodeId, NodeId, Option<u32>);

/// CoDel's state of one queue (RFC 8289 §5.5).
#[derive(Clone, Copy, Debug, Default)]
struct Codel {
    above_since: Option<Instant>,
    next: Instant,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// Decision about the packet at the head of the queue: serve it, or drop it because it waited too long.
pub(super) enum Decision {
    Serve(Outgoing),
    Drop(PacketHandle),
}

impl FqCodel {
    /// Creates the queue of a station; `None` if packets wait in the MAC's queue only.
    pub(super) fn new(params: CodelParams, limit: usize) -> Option<Self> {
        let discipline = params.discipline;
        (discipline != Discipline::DropTail).then(|| Self {
            discipline,
            params,
            limit: limit.max(2),
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            len: 0,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.len)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Outgoing> {
        self.flows.iter().flat_map(|flow| flow.packets.iter().map(|(_, out)| out))
    }

    /// Adds a packet to the queue of its flow. If there are too many packets, drops and returns the first
    /// packet of the longest queue (RFC 8290 §4.1).
    pub(super) fn push(&mut self, now: Instant, out: Outgoing, packets: &Pool) -> Option<PacketHandle> {
        let at = self.flow_of(out.packet, packets);
        let flow = &mut self.flows[at];
        flow.packets.push_back((now, out));
        flow.bytes += u64::from(out.bytes);
        if !flow.is_active {
            flow.is_active = true;
            flow.credit = QUANTUM;
            self.new.push_back(at);
        }
        self.len += 1;
        if self.len <= self.limit {
            return None;
        }
        let longest = self.flows.iter_mut().max_by_key(|flow| flow.bytes)?;
        let (_, dropped) = longest.pop()?;
        self.len -= 1;
        Some(dropped.packet)
    }

    fn flow_of(&mut self, packet: PacketHandle, packets: &Pool) -> usize {
        let packet = packets.get(packet);
        let key = match self.discipline {
            Discipline::FqCodel => (packet.source, packet.destination, packet.flow().map(|flow| flow.0)),
            Discipline::Codel | Discipline::DropTail => (NodeId(0), NodeId(0), None),
        };
        if let Some(known) = self.flows.iter().position(|flow| flow.key == key) {
            return known;
        }
        if let Some(unused) = self.flows.iter().position(|flow| !flow.is_active) {
            self.flows[unused] = FlowQueue::new(key);
            return unused;
        }
        self.flows.push(FlowQueue::new(key));
        self.flows.len() - 1
    }

    /// Decides about the next packet for the MAC. The caller repeats the call until a packet is served or none is left.
    pub(super) fn pop(&mut self, now: Instant, packets: &mut Pool) -> Option<Decision> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let at = *list.front()?;
            let flow = &mut self.flows[at];
            if flow.credit <= 0 {
                flow.credit += QUANTUM;
                list.pop_front();
                self.old.push_back(at);
                continue;
            }
            if let Some(decision) = flow.next(now, &self.params, packets) {
                self.len -= 1;
                return Some(decision);
            }
            list.pop_front();
            // §4.2: an emptied new flow gets another turn among the old ones, so that it cannot claim to be
            // new again and again.
            if is_new && !self.old.is_empty() {
                self.old.push_back(at);
            } else {
                flow.is_active = false;
            }
        }
    }

    /// Removes and returns every packet that `which` selects.
    pub(super) fn remove_if(&mut self, which: &impl Fn(&Outgoing) -> bool) -> Vec<Outgoing> {
        let mut removed = Vec::new();
        for flow in &mut self.flows {
            flow.packets.retain(|(_, out)| {
                let picked = which(out);
                removed.extend(picked.then_some(*out));
                !picked
            });
            flow.bytes = flow.packets.iter().map(|(_, out)| u64::from(out.bytes)).sum();
        }
        self.len -= removed.len();
        removed
    }
}

impl FlowQueue {
    fn new(key: Key) -> Self {
        Self { key, packets: VecDeque::new(), bytes: 0, credit: 0, is_active: false, codel: Codel::default() }
    }

    fn pop(&mut self) -> Option<(Instant, Outgoing)> {
        let (since, out) = self.packets.pop_front()?;
        self.bytes -= u64::from(out.bytes);
        Some((since, out))
    }

    /// Removes the first packet of the flow, and decides whether it has waited too long (RFC 8289 §5.6).
    fn next(&mut self, now: Instant, params: &CodelParams, packets: &mut Pool) -> Option<Decision> {
        let Some((since, out)) = self.pop() else {
            self.codel.dropping = false;
            return None;
        };
        let waited = now.saturating_since(since);
        let is_bad = self.codel.is_bad(now, waited, self.bytes, params);
        // RFC 9331 §5: packets of a scalable control are marked by a threshold, and never for a standing queue.
        let ecn = ecn_of(out.packet, packets);
        if ecn == Some(Ecn::Ect1) {
            if waited >= params.mark_above {
                mark(out.packet, packets);
            }
        } else if self.codel.decides(now, is_bad, params.interval) {
            if ecn == Some(Ecn::Ect0) {
                mark(out.packet, packets);
            } else {
                return Some(Decision::Drop(out.packet));
            }
        }
        self.credit -= i64::from(out.bytes);
        Some(Decision::Serve(out))
    }
}

impl Codel {
    /// Whether packets have waited for more than the target during a whole interval (§5.6, `dodequeue`).
    fn is_bad(&mut self, now: Instant, waited: Duration, left: u64, params: &CodelParams) -> bool {
        if waited < params.target || left <= MTU {
            self.above_since = None;
            return false;
        }
        now >= *self.above_since.get_or_insert(now) + params.interval
    }

    /// Whether to drop or mark this packet (§5.6, `dequeue`).
    fn decides(&mut self, now: Instant, is_bad: bool, interval: Duration) -> bool {
        if !is_bad {
            self.dropping = false;
            return false;
        }
        if self.dropping {
            if now < self.next {
                return false;
            }
            self.count = self.count.saturating_add(1);
            self.next = control_law(self.next, interval, self.count);
            return true;
        }
        self.dropping = true;
        let since = self.count.saturating_sub(self.last_count);
        let is_recent = now.saturating_since(self.next) < interval * 16;
        self.count = if since > 1 && is_recent { since } else { 1 };
        self.last_count = self.count;
        self.next = control_law(now, interval, self.count);
        true
    }
}

/// Instant of the next drop: the interval shrinks by the square root of the number of drops (§5.3).
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the interval")]
fn control_law(at: Instant, interval: Duration, count: u32) -> Instant {
    let step = interval.as_nanos() as f64 / f64::from(count.max(1)).sqrt();
    at + Duration::from_nanos(step as u64)
}

/// ECN field of a packet's segment; `None` if the packet cannot be marked.
fn ecn_of(packet: PacketHandle, packets: &Pool) -> Option<Ecn> {
    packets.get(packet).segment().and_then(|(_, segment)| format(segment).ecn())
}

fn mark(packet: PacketHandle, packets: &mut Pool) {
    if let Body::Segment { segment, .. } = &mut packets.get_mut(packet).body {
        segment::mark(segment);
    }
}

/// Bytes that a flow sends in one turn (RFC 8290 §5.2.4).
const QUANTUM: i64 = 1514;
/// Bytes of the longest packet.
const MTU: u64 = 1514;

#[cfg(test)]
mod tests {
    use multihop_core::FlowId;
    use multihop_radio::frame::Category;
    use multihop_transport::connection::Segment;
    use multihop_wire::tcp;

    use super::*;
    use crate::packet::Packet;
    use crate::packet::tests::datagram;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    /// A queue to which each call of `push` adds a packet of 1000 bytes.
    struct Bench {
        queue: FqCodel,
        packets: Pool,
        sent: u64,
    }

    impl Bench {
        fn new(discipline: Discipline, limit: usize) -> Self {
            let params = CodelParams { discipline, ..CodelParams::default() };
            let queue = FqCodel::new(params, limit).expect("a discipline");
            Self { queue, packets: Pool::default(), sent: 0 }
        }

        /// Adds a packet of this flow. Returns the number of a dropped packet.
        fn push(&mut self, now: Instant, flow: u32, ecn: Option<Ecn>) -> Option<u64> {
            let flow = FlowId(flow);
            let tcp = |ecn| Segment::Tcp(tcp::Segment { ecn, ..tcp::Segment::default() });
            let body =
                ecn.map_or_else(|| datagram(flow, 972), |ecn| Body::Segment { flow, segment: tcp(ecn) });
            self.sent += 1;
            let packet = Packet {
                uid: self.sent,
                created: now,
                source: NodeId(0),
                destination: NodeId(1),
                ttl: 64,
                hops: 0,
                dscp: None,
                ip_extra: 0,
                trigger: None,
                route: None,
                body,
            };
            let handle = self.packets.insert(packet);
            let category = Category::BestEffort;
            let out =
                Outgoing { packet: handle, to: NodeId(1), bytes: 1000, urgent: false, category, queued: now };
            let dropped = self.queue.push(now, out, &self.packets)?;
            Some(self.packets.get(dropped).uid)
        }

        /// The number of the served packet, and the numbers of the packets dropped before it.
        fn pop(&mut self, now: Instant) -> (Option<u64>, Vec<u64>) {
            let mut dropped = Vec::new();
            while let Some(decision) = self.queue.pop(now, &mut self.packets) {
                match decision {
                    Decision::Drop(packet) => dropped.push(self.packets.get(packet).uid),
                    Decision::Serve(out) => return (Some(self.packets.get(out.packet).uid), dropped),
                }
            }
            (None, dropped)
        }

        fn ecn(&self, uid: u64) -> Ecn {
            ecn_of(PacketHandle(u32::try_from(uid - 1).expect("few packets")), &self.packets)
                .expect("a segment")
        }
    }

    /// §5.3: the first drop comes one interval after the queue began to stand, the next ones after 100 ms,
    /// 100 / sqrt 2, ...
    #[test]
    fn a_standing_queue_is_dropped_from_more_and_more_often() {
        let mut bench = Bench::new(Discipline::Codel, 1000);
        for _ in 0..20 {
            bench.push(ms(0), 0, None);
        }
        let mut drops = Vec::new();
        for now in 0..500 {
            bench.push(ms(10 * now), 0, None);
            let (served, dropped) = bench.pop(ms(10 * now));
            assert!(served.is_some());
            drops.extend(dropped.iter().map(|_| 10 * now));
        }
        // The queue stands from 10 ms on, when the first packet has waited for longer than 5 ms.
        assert_eq!(drops[..5], [110, 210, 290, 340, 390]);
    }

    #[test]
    fn a_queue_that_empties_is_left_alone() {
        let mut bench = Bench::new(Discipline::Codel, 1000);
        for now in 0..500 {
            bench.push(ms(10 * now), 0, None);
            assert_eq!(bench.pop(ms(10 * now + 7)), (Some(now + 1), vec![]));
        }
    }

    #[test]
    fn marks_take_the_place_of_drops() {
        let mut bench = Bench::new(Discipline::Codel, 1000);
        for _ in 0..20 {
            bench.push(ms(0), 0, Some(Ecn::Ect0));
        }
        let mut marked = Vec::new();
        for now in 0..20 {
            bench.push(ms(10 * now), 0, Some(Ecn::Ect0));
            let (served, dropped) = bench.pop(ms(10 * now));
            assert_eq!(dropped, [0; 0]);
            if bench.ecn(served.expect("one waits")) == Ecn::Ce {
                marked.push(10 * now);
            }
        }
        assert_eq!(marked, [110]);
    }

    #[test]
    fn scalable_packets_are_marked_above_a_threshold_at_once() {
        let mut bench = Bench::new(Discipline::FqCodel, 1000);
        for _ in 0..3 {
            bench.push(ms(0), 0, Some(Ecn::Ect1));
        }
        assert_eq!(
            [0, 1, 2].map(|now| bench.pop(ms(now)).0.map(|uid| bench.ecn(uid))),
            [Some(Ecn::Ect1), Some(Ecn::Ce), Some(Ecn::Ce)]
        );
    }

    /// RFC 8290 §4.2: a new flow is served first, then all flows send 1514 bytes in turn: two packets, then
    /// one.
    #[test]
    fn flows_take_turns_and_new_ones_come_first() {
        let mut bench = Bench::new(Discipline::FqCodel, 1000);
        for _ in 0..6 {
            bench.push(ms(0), 0, None);
        }
        assert_eq!([(); 2].map(|()| bench.pop(ms(0)).0), [Some(1), Some(2)]);
        for _ in 0..2 {
            bench.push(ms(0), 1, None);
        }
        let order = [(); 6].map(|()| bench.pop(ms(0)).0.expect("six wait"));
        assert_eq!(order, [7, 8, 3, 4, 5, 6]);
        assert_eq!((bench.pop(ms(0)).0, bench.queue.len()), (None, 0));
    }

    #[test]
    fn a_full_queue_drops_the_first_packet_of_the_longest_flow() {
        let mut bench = Bench::new(Discipline::FqCodel, 5);
        for _ in 0..4 {
            assert_eq!(bench.push(ms(0), 0, None), None);
        }
        assert_eq!((bench.push(ms(0), 1, None), bench.push(ms(0), 1, None)), (None, Some(1)));
        assert_eq!(bench.queue.len(), 5);
    }
}
