//! Applications: their data, start, pauses and end, and relays between flows.

use multihop_core::{FlowId, Instant, earliest};
use multihop_transport::connection::Data;

use super::action::Action;
use super::agenda::Owner;
use super::context::Context;
use super::ends::{Ends, FlowState};
use super::ids::EndId;
use super::ip::Ip;
use super::relay::Relay;
use crate::engine::Rank;
use multihop_scenario::draw::{exponential, pareto};
use multihop_scenario::{App, Drawn};

impl Ends {
    /// Handles the next step of an application.
    pub(super) fn handle_application(&mut self, context: &mut Context<'_>, ip: &mut Ip, id: FlowId) {
        let stop = context.scenario.flows[id.index()].stop.map(|stop| Instant::ZERO + stop);
        if stop.is_some_and(|stop| stop <= context.now) {
            self.stop_application(context, id);
        } else {
            self.step_application(context, ip, id);
        }
        self.arm_application(context, id);
    }

    fn step_application(&mut self, context: &mut Context<'_>, ip: &mut Ip, id: FlowId) {
        let (now, app) = (context.now, context.scenario.flows[id.index()].app);
        let state = &mut self.flows[id.index()];
        let first = state.stats.began.is_none();
        state.stats.activate(now);
        state.running = true;
        state.next = None;
        if state.application.is_some() {
            return self.step_interactive(context, ip, id, first);
        }
        if state.messages.is_some() {
            return self.step_messages(context, ip, id, first);
        }
        let amount = match app {
            App::Ftp => None,
            App::File { bytes } => Some(bytes),
            App::Pareto { mean_bytes, shape, .. } => Some(pareto(&mut state.rng, mean_bytes, shape)),
            App::Cbr { rate, size } => {
                state.next = Some(now + rate.time_for(size));
                return self.send(context, ip, id, Data::Virtual(size.into()));
            }
            App::Poisson { rate, size } => {
                state.next = Some(now + exponential(&mut state.rng, rate.time_for(size)));
                // The first interval begins at the start of the flow.
                if !first {
                    self.send(context, ip, id, Data::Virtual(size.into()));
                }
                return;
            }
            App::Relay { of, .. } => {
                state.unacked = u64::MAX;
                self.ends[EndId::sender(id).index()].connect();
                context.actions.request(Action::DrainEnd(EndId::sender(id)));
                context.actions.request(Action::Relay(of));
                return;
            }
            App::Spread { .. } => {
                state.unacked = u64::MAX;
                context.actions.request(Action::Offer(id));
                return;
            }
            App::Paced { .. } => unreachable!("the search runs constant rates"),
            App::Voice(_) | App::Web(_) | App::Video(_) | App::Messages => {
                unreachable!("applications of their own")
            }
        };
        state.unacked = amount.unwrap_or(u64::MAX);
        if first {
            self.ends[EndId::sender(id).index()].connect();
        }
        self.send(context, ip, id, amount.map_or(Data::Endless, Data::Virtual));
    }

    /// Handles the next step of an application that reacts to the data at its receiver.
    fn step_interactive(&mut self, context: &mut Context<'_>, ip: &mut Ip, id: FlowId, first: bool) {
        let FlowState { application: Some(application), rng, next, unacked, .. } =
            &mut self.flows[id.index()]
        else {
            return;
        };
        let step = application.step(context.now, rng);
        // An interactive application ends only at its `stop`.
        (*next, *unacked) = (step.next, u64::MAX);
        if first {
            self.ends[EndId::sender(id).index()].connect();
        }
        if step.bytes > 0 {
            self.send(context, ip, id, Data::Virtual(step.bytes));
        }
    }

    /// Passes data that has arrived in order to the receiver's application.
    pub(super) fn received(&mut self, context: &mut Context<'_>, id: FlowId, bytes: u64) {
        // Datagrams are counted by their number instead.
        let is_stream = self.acknowledges(id);
        if let Some(messages) = self.flows[id.index()].messages.as_mut().filter(|_| is_stream) {
            messages.arrived_in_stream(context.now, bytes);
        }
        let FlowState { application: Some(application), rng, next, running: true, .. } =
            &mut self.flows[id.index()]
        else {
            return;
        };
        if let Some(due) = application.delivered(context.now, bytes, rng) {
            *next = Some(due);
            self.arm_application(context, id);
        }
    }

    /// Passes the application's data to its connection; the application ends if the connection accepts no
    /// more.
    fn send(&mut self, context: &mut Context<'_>, ip: &mut Ip, id: FlowId, data: Data) {
        let end = EndId::sender(id);
        match self.ends[end.index()].send(context.now, data) {
            Ok(()) => self.drain(context, ip, end),
            Err(_) => self.end_application(context, id),
        }
    }

    /// Ends a flow's application; its connection closes once all queued data has been sent.
    pub(super) fn stop_application(&mut self, context: &mut Context<'_>, id: FlowId) {
        let end = EndId::sender(id);
        self.ends[end.index()].shutdown(context.now);
        self.end_application(context, id);
        context.actions.request(Action::DrainEnd(end));
    }

    /// Ends a flow's application, independent of its connection, and schedules the flow that begins after it.
    pub(super) fn end_application(&mut self, context: &mut Context<'_>, id: FlowId) {
        let state = &mut self.flows[id.index()];
        state.next = None;
        state.running = false;
        state.stats.deactivate(context.now);
        if let Some(oracle) = &mut self.oracle {
            oracle.flow_ended(context.now, id);
        }
        if state.stats.ended.is_some() {
            return;
        }
        state.stats.ended = Some(context.now);
        self.close_abandoned(context.now);
        self.ended.push_back(id);
        if let Some(Drawn { next: Some((next, pause)), .. }) = context.scenario.flows[id.index()].drawn {
            self.flows[next.index()].next = Some(context.now + pause);
            self.arm_application(context, next);
        }
    }

    /// Sets the deadline of a flow's application: its next step or its stop.
    pub(super) fn arm_application(&self, context: &mut Context<'_>, id: FlowId) {
        let state = &self.flows[id.index()];
        let flow = &context.scenario.flows[id.index()];
        let stop = flow.stop.map(|stop| Instant::ZERO + stop).filter(|_| state.stats.ended.is_none());
        let at = earliest(state.next, stop);
        context.agenda.arm(Owner::Application(id), Rank::Application, flow.from, at);
    }

    /// Handles the acknowledgement of `bytes` bytes of the application.
    pub(super) fn acked(&mut self, context: &mut Context<'_>, id: FlowId, bytes: u64) {
        let flow = &context.scenario.flows[id.index()];
        let state = &mut self.flows[id.index()];
        state.stats.acked_bytes += bytes;
        state.unacked = state.unacked.saturating_sub(bytes);
        if let App::Relay { of, .. } = flow.app {
            self.relayed(context, of, bytes);
        }
        self.refill_messages(context, id);
        let state = &mut self.flows[id.index()];
        if state.unacked > 0 || !state.running {
            return;
        }
        match flow.app {
            App::Pareto { mean_pause, .. } => {
                state.running = false;
                state.stats.deactivate(context.now);
                state.next = Some(context.now + exponential(&mut state.rng, mean_pause));
            }
            _ => self.stop_application(context, id),
        }
        self.arm_application(context, id);
    }

    /// Forwards newly arrived data of a flow, if it has a relay.
    pub(super) fn relay_arrival(&mut self, context: &mut Context<'_>, from: FlowId, arrived: u64) {
        if let Some(relay) = &mut self.flows[from.index()].relay {
            relay.waiting += arrived;
            self.relay(context, from);
        }
    }

    /// Forwards data that has arrived on a flow as far as the relay's buffer allows; ends the relay after the last data.
    pub(super) fn relay(&mut self, context: &mut Context<'_>, from: FlowId) {
        let Some(onto) = self.flows[from.index()].relay.map(|relay| relay.onto) else { return };
        if !self.flows[onto.index()].running {
            return;
        }
        let bytes = self.flows[from.index()].relay.as_mut().map_or(0, Relay::take);
        if bytes == 0 {
            return self.end_relay(context, from);
        }
        let (receiver, sender) = (EndId::receiver(from), EndId::sender(onto));
        drop(self.ends[receiver.index()].read(bytes));
        let sent = self.ends[sender.index()].send(context.now, Data::Virtual(bytes.into()));
        debug_assert!(sent.is_ok(), "the connection of a running relay is open");
        context.actions.request(Action::DrainEnd(sender));
        context.actions.request(Action::DrainEnd(receiver));
        context.actions.request(Action::Relay(from));
    }

    /// Handles the delivery of this many bytes by the second flow of a relay.
    pub(super) fn relayed(&mut self, context: &mut Context<'_>, from: FlowId, bytes: u64) {
        if let Some(relay) = &mut self.flows[from.index()].relay {
            relay.held = relay.held.saturating_sub(bytes);
        }
        self.relay(context, from);
    }

    /// Records that no more data arrives on a flow, which may have a relay.
    pub(super) fn nothing_more_to_relay(&mut self, context: &mut Context<'_>, from: FlowId) {
        if let Some(relay) = &mut self.flows[from.index()].relay {
            relay.ended = true;
            self.end_relay(context, from);
        }
    }

    /// Sets the number of bytes that a relay still has to deliver, once no more data arrives.
    fn end_relay(&mut self, context: &mut Context<'_>, from: FlowId) {
        let Some(relay) = self.flows[from.index()].relay else { return };
        if !relay.ended || relay.waiting > 0 || !self.flows[relay.onto.index()].running {
            return;
        }
        self.flows[relay.onto.index()].unacked = relay.held;
        if relay.held == 0 {
            self.stop_application(context, relay.onto);
            self.arm_application(context, relay.onto);
        }
    }
}
