//! Applications: what they have to send, when they begin, pause and end.

use multihop_core::{FlowId, Instant, earliest};

use super::World;
use super::end::End;
use super::ends::EndId;
use crate::engine::Rank;
use crate::packet::{Body, Datagram, port_of};
use multihop_scenario::draw::{exponential, pareto};
use multihop_scenario::{App, Drawn};

impl World<'_> {
    /// The application's next step is due.
    pub(super) fn handle_application(&mut self, flow: u32) {
        let id = FlowId(flow);
        let stop = self.scenario.flows[id.index()].stop.map(|stop| Instant::ZERO + stop);
        if stop.is_some_and(|stop| stop <= self.now) {
            self.stop_application(id);
        } else {
            self.step_application(id);
        }
        self.arm_application(id);
    }

    fn step_application(&mut self, id: FlowId) {
        let (now, app) = (self.now, self.scenario.flows[id.index()].app);
        let state = &mut self.ends.flows[id.index()];
        let first = state.stats.began.is_none();
        state.stats.activate(now);
        state.running = true;
        state.next = None;
        let amount = match app {
            App::Ftp => None,
            App::File { bytes } => Some(bytes),
            App::Pareto { mean_bytes, shape, .. } => Some(pareto(&mut state.rng, mean_bytes, shape)),
            App::Cbr { rate, size } => {
                state.next = Some(now + rate.time_for(size));
                self.send_datagram(id, size);
                return;
            }
            App::Relay { of, .. } => {
                state.unacked = u64::MAX;
                self.ends.ends[EndId::sender(id).index()].connect();
                self.drain_end(EndId::sender(id));
                self.relay(of, 0);
                return;
            }
            App::Paced { .. } => unreachable!("the search runs constant rates"),
        };
        state.unacked = amount.unwrap_or(u64::MAX);
        let end = EndId::sender(id);
        if !self.ends.ends[end.index()].send(now, amount, first) {
            self.end_application(id);
            return;
        }
        self.drain_end(end);
    }

    pub(super) fn stop_application(&mut self, id: FlowId) {
        let end = EndId::sender(id);
        self.ends.ends[end.index()].close(self.now);
        self.end_application(id);
        self.drain_end(end);
    }

    pub(super) fn end_application(&mut self, id: FlowId) {
        let state = &mut self.ends.flows[id.index()];
        state.next = None;
        state.running = false;
        state.stats.deactivate(self.now);
        if let Some(oracle) = &mut self.oracle {
            oracle.flow_ended(self.now, id);
        }
        if state.stats.ended.is_some() {
            return;
        }
        state.stats.ended = Some(self.now);
        self.ends.close_abandoned(self.now);
        self.ends.note_ended(id);
        if let Some(Drawn { next: Some((next, pause)), .. }) = self.scenario.flows[id.index()].drawn {
            self.ends.flows[next.index()].next = Some(self.now + pause);
            self.arm_application(next);
        }
    }

    pub(super) fn arm_application(&mut self, id: FlowId) {
        let state = &self.ends.flows[id.index()];
        let flow = &self.scenario.flows[id.index()];
        let stop = flow.stop.map(|stop| Instant::ZERO + stop).filter(|_| state.stats.ended.is_none());
        let at = earliest(state.next, stop);
        self.set_deadline(self.application_slot(id.0), Rank::Application, flow.from, at);
    }

    fn send_datagram(&mut self, id: FlowId, size: u32) {
        let end = EndId::sender(id);
        let End::UdpSender(counts) = &mut self.ends.ends[end.index()] else { return };
        let serial = counts.sent;
        counts.sent += 1;
        self.send_body(end, Body::Udp(Datagram { port: port_of(id), serial, size }));
    }

    /// The other end has more of what the application sent.
    pub(super) fn acked(&mut self, id: FlowId, bytes: u64) {
        let flow = &self.scenario.flows[id.index()];
        let state = &mut self.ends.flows[id.index()];
        state.stats.acked_bytes += bytes;
        state.unacked = state.unacked.saturating_sub(bytes);
        if let App::Relay { of, .. } = flow.app {
            self.relayed(of, bytes);
        }
        let state = &mut self.ends.flows[id.index()];
        if state.unacked > 0 || !state.running {
            return;
        }
        match flow.app {
            App::Pareto { mean_pause, .. } => {
                state.running = false;
                state.stats.deactivate(self.now);
                state.next = Some(self.now + exponential(&mut state.rng, mean_pause));
            }
            _ => self.stop_application(id),
        }
        self.arm_application(id);
    }
}
