//! 802.11 frames of real Wi-Fi stacks: their entry into a radio's queue, their exit at receivers, and the outcome for
//! the stack that sent them.

use std::sync::Arc;

use multihop_core::{BitRate, DropReason, Interface, NodeId};
use multihop_radio::decibels::mw_to_dbm;
use multihop_radio::frame::{BROADCAST, PacketHandle};
use multihop_radio::mac::Done;
use multihop_radio::params::{Model, RadioParams};
use multihop_radio::phy_profile::RateIndex;
use multihop_radio::rate_control::RateControlParams;

use super::World;
use super::context::{Context, WifiEvent};
use super::ids::Neighbour;
use crate::packet::Body;
use crate::real::WifiFrame;

impl World<'_> {
    /// Lets an 802.11 frame of the stack at `node` enter the queue of its radio now. The receiver is a node or
    /// [`BROADCAST`]. `rates` are the rates of its transmissions under `rate_control = "kernel"`.
    pub(crate) fn enter_wifi(
        &mut self,
        node: NodeId,
        interface: Interface,
        to: NodeId,
        bytes: &[u8],
        cookie: u64,
        rates: &[BitRate],
    ) {
        let Self { context, airs, .. } = self;
        context.has_wifi = true;
        let air = &mut airs[interface];
        let frame = WifiFrame::new(bytes, air.config.airtime.data_overhead(), interface, cookie);
        let destination = if to == BROADCAST { node } else { to };
        let handle = context.packet(node, destination, Body::Wifi(frame));
        context.note_sent(node, handle);
        let radio = &context.scenario.radios[interface.index()];
        if radio.mac.rate_control == RateControlParams::Kernel {
            let rates = rates.iter().map(|rate| fastest_up_to(&radio.params, *rate)).collect();
            air.stations[node.index()].mac.give_rates(handle, rates);
        }
        air.enqueue(context, node, to, handle);
        self.act();
    }

    /// The next event for a Wi-Fi stack.
    pub(crate) fn poll_wifi(&mut self) -> Option<WifiEvent> {
        self.context.wifi.pop_front()
    }

    /// Mean power of a node's signal at another node now, dBm; `None` if it is below what receivers sense. With the
    /// threshold model, the power is that of ns-2's card.
    pub(crate) fn signal_dbm(&mut self, interface: Interface, from: NodeId, to: NodeId) -> Option<f64> {
        let mut links = Vec::new();
        self.airs[interface].medium.links_of(from, self.context.now, &mut links);
        let power = links.iter().find(|link| link.to == to)?.power_mw;
        let transmitted = match &self.context.scenario.radios[interface.index()].params.model {
            Model::Threshold(_) => NS2_MW,
            Model::Sinr(_) => 1.0,
        };
        Some(mw_to_dbm(transmitted * power))
    }

    /// Bit rate of data from one node to another.
    pub(crate) fn wifi_rate(&self, interface: Interface, from: NodeId, to: NodeId) -> BitRate {
        self.airs[interface].bit_rate(from, to)
    }
}

impl Context<'_> {
    /// Passes a received frame to the stack of its receiver.
    pub(super) fn receive_wifi(&mut self, node: NodeId, from: Neighbour, handle: PacketHandle) {
        let packet = self.packets.get(handle);
        self.observer.received(self.now, node, packet, 1);
        let Body::Wifi(frame) = &packet.body else { unreachable!("only 802.11 frames are passed to stacks") };
        let (interface, from, bytes) = (from.interface, from.node, Arc::clone(frame.bytes()));
        let rate = frame.attempts.last().map(|last| last.rate);
        self.wifi.push_back(WifiEvent::Received { at: self.now, node, interface, from, bytes, rate });
        self.packets.release(handle);
    }

    /// Counts a transmission of a frame of a stack.
    #[cold]
    pub(super) fn note_wifi_attempt(&mut self, frame: PacketHandle, rate: BitRate) {
        if frame != PacketHandle::NONE
            && let Body::Wifi(frame) = &mut self.packets.get_mut(frame).body
        {
            frame.note_attempt(rate);
        }
    }

    /// Reports to the stack the outcome of a frame that its MAC has finished.
    #[cold]
    pub(super) fn finish_wifi(&mut self, node: NodeId, done: &Done) {
        self.report_wifi(node, done.out.packet, done.delivered, done.retries);
    }

    /// Reports to the stack that its frame was dropped before the MAC finished it.
    #[cold]
    pub(super) fn lose_wifi(&mut self, node: NodeId, handle: PacketHandle, reason: DropReason) {
        if reason != DropReason::RetryLimit {
            self.report_wifi(node, handle, false, 0);
        }
    }

    fn report_wifi(&mut self, node: NodeId, handle: PacketHandle, is_delivered: bool, retries: u32) {
        if let Body::Wifi(frame) = &self.packets.get(handle).body {
            let (at, interface, cookie) = (self.now, frame.interface, frame.cookie);
            let attempts = frame.attempts.clone();
            let outcome =
                WifiEvent::Finished { at, node, interface, cookie, is_delivered, retries, attempts };
            self.wifi.push_back(outcome);
        }
    }
}

/// The fastest rate of a radio up to a bit rate, or its slowest rate.
fn fastest_up_to(radio: &RadioParams, limit: BitRate) -> RateIndex {
    let speed = |rate: &RateIndex| radio.phy.rate(*rate).bit_rate;
    let slow_enough = radio.usable_rates().filter(|rate| speed(rate) <= limit);
    let slowest = || radio.usable_rates().min_by_key(speed);
    slow_enough.max_by_key(speed).or_else(slowest).expect("a profile has rates")
}

/// Transmission power of ns-2's card, mW.
const NS2_MW: f64 = 281.838_15;
