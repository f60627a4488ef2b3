//! Data rates of a station: fixed rates, or rates that rate control chooses.

use multihop_core::{BitRate, Instant, NodeId, Rng};

use super::{Announced, Mac, MacConfig, Own, is_announced};
use crate::frame::{BROADCAST, Outgoing, PacketHandle};
use crate::phy_profile::RateIndex;
use crate::rate_control::{Attempt, Choice, RateControl};

/// Rates of the unicast data of one station. Control frames and broadcasts use the basic rate.
#[derive(Clone, Debug)]
pub(super) struct DataRates {
    /// Rate control of the station; `None` if the rates are fixed.
    control: Option<Box<RateControl>>,
    /// Fixed rates that differ from the scenario's rate: for one receiver, or (`None`) for all others.
    fixed: Vec<(Option<NodeId>, RateIndex)>,
}

impl DataRates {
    /// Creates the rates of a station that has transmitted nothing.
    pub(super) fn new(id: NodeId, config: &MacConfig, rng: Rng) -> Self {
        Self {
            control: config.rates.as_ref().map(|rates| Box::new(RateControl::new(rates, rng))),
            fixed: config.link_rates.of_sender(id),
        }
    }

    /// The rate of a packet's data frame without rate control.
    #[inline]
    pub(super) fn fixed(&self, out: &Outgoing, config: &MacConfig) -> RateIndex {
        let own = if out.to == BROADCAST { None } else { self.of_link(out.to) };
        own.unwrap_or(config.airtime.data_rate(out))
    }

    /// The rate that the data frame of a packet will probably have.
    pub(super) fn usual(&self, out: &Outgoing, config: &MacConfig) -> RateIndex {
        match (&config.rates, &self.control) {
            (Some(rates), Some(control)) if out.to != BROADCAST => control.usual(out.to, rates),
            _ => self.fixed(out, config),
        }
    }

    /// Counts `frames` data frames, or MPDUs, at a rate.
    #[inline]
    pub(super) fn count(&mut self, rate: RateIndex, frames: usize) {
        if let Some(control) = &mut self.control {
            (0..frames).for_each(|_| control.count(rate));
        }
    }

    /// Reports one transmission to a neighbour: for each MPDU, or for the only one, whether it was delivered.
    pub(super) fn report(
        &mut self,
        now: Instant,
        (to, rate): (NodeId, RateIndex),
        outcomes: impl Iterator<Item = bool>,
        config: &MacConfig,
    ) {
        if let (Some(control), Some(rates)) = (&mut self.control, &config.rates) {
            outcomes.for_each(|delivered| control.report(now, to, rate, delivered, rates));
        }
    }

    /// Records the number of MPDUs in a frame to a neighbour.
    pub(super) fn note_length(&mut self, to: NodeId, mpdus: u32) {
        if let Some(control) = &mut self.control {
            control.note_length(to, mpdus);
        }
    }

    fn choose(&mut self, now: Instant, attempt: &Attempt, config: &MacConfig) -> Option<Choice> {
        Some(self.control.as_mut()?.choose(now, attempt, config.rates.as_ref()?))
    }

    /// Sets the rates of a packet, in the order of its transmissions.
    pub(super) fn give(&mut self, packet: PacketHandle, rates: Vec<RateIndex>) {
        if let Some(control) = &mut self.control {
            control.give(packet, rates);
        }
    }

    fn clear_counts(&mut self) {
        if let Some(control) = &mut self.control {
            control.clear_counts();
        }
    }

    /// The fixed rate of data to a neighbour, if it differs from the scenario's.
    #[inline]
    fn of_link(&self, to: NodeId) -> Option<RateIndex> {
        let of =
            |wanted: Option<NodeId>| self.fixed.iter().find(|(to, _)| *to == wanted).map(|(_, rate)| *rate);
        if self.fixed.is_empty() { None } else { of(Some(to)).or_else(|| of(None)) }
    }
}

impl Mac {
    /// Numbers of unicast data frames sent at each rate; `None` if the rate is fixed.
    pub fn frames_by_rate(&self) -> Option<impl Iterator<Item = (RateIndex, u64)>> {
        self.own.rates.control.as_ref().map(|control| control.sent())
    }

    /// Sets all counters of the station and of its rate control to zero.
    pub fn clear_counts(&mut self) {
        self.own.counters = super::Counters::default();
        self.own.rates.clear_counts();
    }

    /// Sets the rates that a real kernel has chosen for a packet, in the order of its transmissions; removes them if there are
    /// none.
    pub fn give_rates(&mut self, packet: PacketHandle, rates: Vec<RateIndex>) {
        self.own.rates.give(packet, rates);
    }

    /// Bit rate of data to a neighbour: the scenario's rate, or the rate that rate control uses at present.
    pub fn bit_rate(&self, to: NodeId, config: &MacConfig) -> BitRate {
        let own = &self.own.rates;
        let rate = match (&config.rates, &own.control) {
            (Some(rates), Some(control)) => control.usual(to, rates),
            _ => own.of_link(to).unwrap_or(config.airtime.rate()),
        };
        config.airtime.phy().rate(rate).bit_rate
    }

    /// Chooses the rate of the next transmission of the packet in service, and whether an RTS precedes it.
    #[inline]
    pub(super) fn choose_rate(&mut self, now: Instant, config: &MacConfig) {
        if config.rates.is_some() {
            self.choose_among(now, config);
        }
    }

    #[cold]
    fn choose_among(&mut self, now: Instant, config: &MacConfig) {
        let Own { front, rates, .. } = &mut *self.own;
        let Some(service) = &mut front.service else { return };
        let out = service.out;
        if out.to == BROADCAST {
            return;
        }
        let by_length = is_announced(config.airtime.data_bytes(&out), config);
        let limit = if by_length { config.params.long_retry } else { config.params.short_retry };
        let attempt = Attempt { packet: out.packet, to: out.to, number: service.transmissions, limit };
        let Some(choice) = rates.choose(now, &attempt, config) else { return };
        (service.rate, service.is_trial) = (choice.rate, choice.is_trial);
        service.announced = if by_length || choice.announces { Announced::NotYet } else { Announced::Never };
    }

    /// Reports the outcome of a transmission of the packet in service to rate control.
    #[inline]
    pub(super) fn report_rate(&mut self, now: Instant, delivered: bool, config: &MacConfig) {
        if config.rates.is_none() {
            return;
        }
        let Own { front, rates, .. } = &mut *self.own;
        let Some(service) = &mut front.service else { return };
        service.transmissions += 1;
        rates.report(now, (service.out.to, service.rate), core::iter::once(delivered), config);
    }
}

#[cfg(test)]
mod tests;
