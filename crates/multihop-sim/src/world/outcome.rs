//! Computes the result of a run from its counters.

use std::collections::BTreeMap;
use std::iter;

use multihop_core::{DropReason, FlowId, Instant, NodeId};
use multihop_radio::mac::Counters;

use super::World;
use super::air::Air;
use super::flow::FlowStats;
use super::mac_stats::ratio;
use crate::observe::Observer;
use crate::oracle::TimeByHops;
use crate::results::{EnergyResult, FlowResult, MacResult, NodeResult, RoutingResult, RunResult, Totals};
use crate::stats::{Jitter, jain};
use multihop_radio::energy::Powers;

impl World<'_> {
    /// Restarts all measurements at the end of the warm-up.
    pub(crate) fn begin_measuring(&mut self) {
        let now = self.context.now;
        self.restart_power();
        self.ends.restart(now);
        self.airs.iter_mut().for_each(|air| air.restart(now));
        self.ip.restart();
        if let Some(spread) = &mut self.spread {
            spread.restart();
        }
        self.measured_from = now;
        self.context.observer.restart();
    }

    /// Ends the run and returns its results. Packets still in transit are dropped with the reason `end`.
    pub(crate) fn finish(mut self, wall: std::time::Duration) -> (RunResult, Observer) {
        self.end_packets();
        self.airs.iter_mut().for_each(|air| air.end_overlaps(self.context.now));
        let paths = self.ends.oracle.take().map(|oracle| oracle.times(self.context.now)).unwrap_or_default();
        let began = self.ends.flow_ids().filter(|&id| self.is_shown(id));
        let flows: Vec<_> = began.map(|id| self.flow_result(id, paths.get(id.index()))).collect();
        let wall_seconds = wall.as_secs_f64();
        let result = RunResult {
            scenario: self.context.scenario.name.clone(),
            seed: self.context.scenario.seed,
            sim_seconds: self.context.now.as_secs_f64(),
            wall_seconds: Some(wall_seconds),
            events: self.context.events,
            events_per_second: Some(if wall_seconds > 0.0 {
                self.context.events as f64 / wall_seconds
            } else {
                0.0
            }),
            totals: self.totals(&flows),
            mac: self.mac_result(),
            routing: self.routing_result(),
            energy: self.context.scenario.energy.as_ref().map(|energy| self.energy_result(&energy.powers)),
            drops: self
                .context
                .observer
                .counts()
                .drops
                .iter()
                .map(|(reason, &n)| (reason.name().to_owned(), n))
                .collect(),
            nodes: self.node_results(),
            links: self.by_radio(|air| air.stats.links(self.measured_seconds()), |link| &mut link.radio),
            queues: self.by_radio(|air| air.stats.queues(), |queue| &mut queue.radio),
            flows,
        };
        (result, self.context.observer)
    }

    /// Results of all radios, with the number of the radio if there are several.
    fn by_radio<T>(
        &self,
        results: impl Fn(&Air) -> Vec<T>,
        number: impl Fn(&mut T) -> &mut Option<u8>,
    ) -> Vec<T> {
        let several = self.context.scenario.has_several_radios();
        let numbered = |air: &Air| {
            let mut list = results(air);
            list.iter_mut().for_each(|result| *number(result) = several.then_some(air.interface.0));
            list
        };
        self.airs.iter().flat_map(numbered).collect()
    }

    fn node_results(&self) -> Vec<NodeResult> {
        let radios = &self.context.scenario.radios;
        let results = |air: &Air| {
            let mut nodes = air.stats.nodes(|node| self.times_without_overlap(air, node));
            nodes.retain(|node| radios[air.interface.index()].is_at(NodeId(node.id)));
            nodes
        };
        self.by_radio(results, |node| &mut node.radio)
    }

    fn end_packets(&mut self) {
        let nodes = self.node_count();
        let Self { context, airs, ip, .. } = self;
        let mut passing = context.agenda.take_passages().peekable();
        for node in (0..nodes).map(NodeId) {
            let passing = iter::from_fn(|| passing.next_if(|&(at, _)| at == node)).map(|(_, packet)| packet);
            for packet in passing.chain(ip.links.held(node)) {
                context.observer.dropped(context.now, node, context.packets.get(packet), DropReason::End);
            }
        }
        ip.end_packets(context);
        airs.iter().for_each(|air| air.end_packets(context));
    }

    /// Whether a flow is part of the result: it has begun, or it does not depend on the end of an earlier
    /// flow.
    fn is_shown(&self, id: FlowId) -> bool {
        let begun = self.ends.flows[id.index()].stats.began.is_some();
        begun || self.context.scenario.flows[id.index()].begins_by_itself()
    }

    /// Result of a flow. `paths` is the time for which the flow's shortest path had each number of hops, if known.
    fn flow_result(&self, id: FlowId, paths: Option<&TimeByHops>) -> FlowResult {
        let flow = &self.context.scenario.flows[id.index()];
        let state = &self.ends.flows[id.index()];
        let stats = &state.stats;
        let seconds = stats.active(self.context.now).as_secs_f64();
        let kbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8e-3 / seconds } else { 0.0 };
        let counts = self.ends.counters(id).since(&stats.before);
        let began = stats.began.unwrap_or(Instant::ZERO) - Instant::ZERO;
        let stop = stats.ended.unwrap_or(self.context.now);
        let chains = self.context.scenario.expected.as_ref();
        FlowResult {
            id: id.0,
            from: flow.from.0,
            to: flow.to.0,
            app: flow.app.name().to_owned(),
            transport: state.transport.clone(),
            start: if flow.begins_by_itself() { flow.start.as_secs_f64() } else { began.as_secs_f64() },
            stop: stop.as_secs_f64(),
            goodput_kbps: kbps(stats.delivered_bytes),
            acked_kbps: self.ends.acknowledges(id).then(|| kbps(stats.acked_bytes)),
            retransmission_index: (counts.delivered > 0)
                .then(|| counts.retransmitted as f64 / counts.delivered as f64),
            segments_sent: counts.sent,
            segments_retransmitted: counts.retransmitted,
            segments_delivered: counts.delivered,
            out_of_order: counts.out_of_order,
            timeouts: counts.timeouts,
            delivery_ratio: ratio(counts.delivered, counts.sent.saturating_sub(counts.retransmitted)),
            delay_ms: stats.delay.summary_ms(),
            jitter_ms: stats.jitter.mean_ms(),
            rtt_ms: stats.rtt.summary_ms(),
            mean_hops: stats.mean_hops(),
            shortest_hops: paths.and_then(TimeByHops::mean),
            stretch: stats.stretch(),
            partitioned: paths.and_then(TimeByHops::partitioned),
            identification: self.ends.losses.as_ref().and_then(|losses| losses.result(id)),
            application: state.application.as_ref().map(|application| application.result(stop)),
            channels: state
                .messages
                .as_ref()
                .map_or_else(BTreeMap::new, |messages| messages.results(stop, seconds)),
            spread: self.spread.as_ref().and_then(|spread| spread.result(id, self.context.now)),
            counters: self.declared_since(id, &stats.declared_before),
            expected_goodput_kbps: paths.zip(chains).and_then(|(paths, chains)| paths.expected_kbps(chains)),
        }
    }

    /// Counters that the transport of a flow declares, minus the counters `before`.
    fn declared_since(&self, id: FlowId, before: &[u64]) -> BTreeMap<String, u64> {
        let before = before.iter().copied().chain(iter::repeat(0));
        let counted = self.ends.declared_counters(id).zip(before);
        counted.map(|((name, count), before)| (name.to_owned(), count - before)).collect()
    }

    fn measured_seconds(&self) -> f64 {
        (self.context.now - self.measured_from).as_secs_f64()
    }

    fn mac_result(&self) -> MacResult {
        let mut sum = Counters::default();
        for station in self.airs.iter().flat_map(|air| &air.stations) {
            sum.add(station.mac.counters());
        }
        let mut frames = vec![
            ("rts", sum.rts),
            ("cts", sum.cts),
            ("data", sum.data),
            ("ack", sum.ack),
            ("broadcast", sum.broadcast),
        ];
        if self.airs.iter().any(|air| air.config.aggregates()) {
            frames.extend([
                ("aggregate", sum.aggregates),
                ("block_ack", sum.block_acks),
                ("block_ack_request", sum.block_ack_requests),
            ]);
        }
        MacResult {
            frames: frames.into_iter().map(|(kind, n)| (kind.to_owned(), n)).collect(),
            rates: self.frames_by_rate(),
            collisions: self.airs.iter().map(|air| air.collisions).sum(),
            retries: sum.retries(),
            drops: sum.retry_drops,
            airtime_share: sum.transmitting.as_secs_f64() / self.measured_seconds(),
        }
    }

    fn frames_by_rate(&self) -> Option<BTreeMap<String, u64>> {
        let mut sum: Option<BTreeMap<String, u64>> = None;
        for air in self.airs.iter() {
            let phy = air.config.airtime.phy();
            for counts in air.stations.iter().filter_map(|station| station.mac.frames_by_rate()) {
                let sum = sum.get_or_insert_default();
                for (rate, frames) in counts.filter(|&(_, frames)| frames > 0) {
                    *sum.entry(phy.rate(rate).name.to_owned()).or_default() += frames;
                }
            }
        }
        sum
    }

    fn routing_result(&self) -> RoutingResult {
        let counts = self.context.observer.counts();
        let by_kind = |pick: fn(&(u64, u64)) -> u64| -> BTreeMap<String, u64> {
            counts.routing.iter().map(|(&kind, n)| (kind.to_owned(), pick(n))).collect()
        };
        let changes = self.ip.route_changes();
        let invalid = counts.drops.get(&DropReason::NoRoute).copied().unwrap_or(0);
        RoutingResult {
            packets: by_kind(|&(packets, _)| packets),
            bytes: by_kind(|&(_, bytes)| bytes),
            invalid_routes: (counts.routed > 0).then(|| invalid as f64 / counts.routed as f64),
            route_changes: changes.map(|counted| counted.changes),
            oscillations: changes.map(|counted| counted.oscillations),
        }
    }

    /// Totals over all flows; of the flows of a relay only the last one counts delivered data.
    fn totals(&self, flows: &[FlowResult]) -> Totals {
        let ended = || flows.iter().filter(|f| self.ends.flows[f.id as usize].ends_here());
        let delivered: u64 = flows.iter().map(|f| f.segments_delivered).sum();
        let retransmitted: u64 = flows.iter().map(|f| f.segments_retransmitted).sum();
        let sent: u64 = flows.iter().map(|f| f.segments_sent).sum();
        let mut delay = self.ends.closed.delay.clone();
        let mut jitter = Jitter::default();
        for FlowStats { delay: of_flow, jitter: estimates, .. } in
            self.ends.flows.iter().map(|flow| &flow.stats)
        {
            of_flow.coming().into_iter().for_each(|histogram| delay.merge(histogram));
            jitter.merge(estimates);
        }
        Totals {
            // The sum without flows is plus zero, not minus zero.
            goodput_kbps: 0.0 + ended().map(|f| f.goodput_kbps).sum::<f64>(),
            jain: jain(ended().map(|f| f.goodput_kbps)),
            jain_instant: self.ends.windows.clone().mean(self.context.now),
            // The mean of the flows' indices, weighted by delivered segments, is the ratio of the sums.
            retransmission_index: (delivered > 0).then(|| retransmitted as f64 / delivered as f64),
            delivery_ratio: ratio(delivered, sent.saturating_sub(retransmitted)),
            delay_ms: delay.summary_ms(),
            jitter_ms: jitter.mean_ms(),
            expected_goodput_kbps: flows.iter().filter_map(|f| f.expected_goodput_kbps).reduce(|a, b| a + b),
        }
    }

    fn energy_result(&self, powers: &Powers) -> EnergyResult {
        let nodes = (0..self.node_count()).map(NodeId);
        let joules: Vec<[f64; 4]> = nodes.clone().map(|node| powers.joules(&self.times(node))).collect();
        let node_joules: Vec<f64> = joules.iter().map(|of_states| of_states.iter().sum()).collect();
        let ended = self.ends.flows.iter().filter(|flow| flow.ends_here());
        let megabytes = ended.map(|flow| flow.stats.delivered_bytes).sum::<u64>() as f64 / 1e6;
        let all: f64 = node_joules.iter().sum();
        let of_state = |state: usize| joules.iter().map(|of_states| of_states[state]).collect();
        let empty: Vec<_> = nodes.map(|node| self.power.empty_at(node).map(Instant::as_secs_f64)).collect();
        EnergyResult {
            joules_per_mb: (megabytes > 0.0).then(|| all / megabytes),
            node_joules,
            transmit_joules: of_state(0),
            receive_joules: of_state(1),
            idle_joules: of_state(2),
            sleep_joules: of_state(3),
            first_empty: empty.iter().copied().flatten().reduce(f64::min),
            empty: self.power.has_batteries().then_some(empty),
        }
    }
}
