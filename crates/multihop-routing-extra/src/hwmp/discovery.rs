//! Path discovery: requests, their repetition, and waiting packets (IEEE 802.11-2020, 14.10.9).

use alloc::collections::VecDeque;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Instant};
use multihop_routing::agent::Routable;

use super::Agent;
use super::config::whole_units;
use super::wire::{Message, Request};

/// The search for one destination.
#[derive(Clone, Debug, Default)]
pub(super) struct Discovery {
    requests: u8,
    due: Instant,
    waiting: VecDeque<Routable>,
}

impl Agent {
    /// Stores a packet until a path to its destination is known.
    pub(super) fn wait(&mut self, now: Instant, packet: Routable) {
        let destination = packet.destination;
        let waiting = &mut self.discoveries.entry(destination).or_default().waiting;
        waiting.push_back(packet);
        if waiting.len() > self.config.buffer_packets
            && let Some(oldest) = waiting.pop_front()
        {
            self.forwarder.drop(&oldest, DropReason::BufferTimeout, false);
        }
        self.run_discoveries(now);
    }

    /// Starts a path discovery, unless one is in progress.
    pub(super) fn seek(&mut self, now: Instant, destination: Ipv4Addr) {
        self.discoveries.entry(destination).or_default();
        self.run_discoveries(now);
    }

    /// Sends due requests, limited by the least interval between two requests.
    pub(super) fn run_discoveries(&mut self, now: Instant) {
        while let Some((&destination, discovery)) = self
            .discoveries
            .iter_mut()
            .filter(|(_, discovery)| discovery.due <= now)
            .min_by_key(|(_, one)| one.due)
        {
            if discovery.requests > self.config.max_preq_retries {
                self.give_up(now, destination);
            } else if now < self.next_request {
                discovery.due = self.next_request;
            } else {
                discovery.requests += 1;
                discovery.due = now + self.config.net_diameter_traversal_time * 2;
                self.next_request = now + self.config.preq_min_interval;
                self.request(now, destination);
            }
        }
    }

    pub(super) fn next_discovery(&self) -> Option<Instant> {
        self.discoveries.values().map(|discovery| discovery.due).min()
    }

    /// Ends the search for a destination; packets that waited for the path leave.
    pub(super) fn end_discovery(&mut self, now: Instant, destination: Ipv4Addr) {
        let Some(discovery) = self.discoveries.remove(&destination) else { return };
        for packet in discovery.waiting {
            self.route(now, packet);
        }
    }

    fn request(&mut self, now: Instant, target: Ipv4Addr) {
        self.last_request = self.last_request.wrapping_add(1);
        self.sequence = self.sequence.next();
        let request = Request {
            hop_count: 0,
            ttl: self.config.element_ttl,
            id: self.last_request,
            originator: self.address,
            originator_sequence: self.sequence,
            lifetime: whole_units(self.config.active_path_timeout),
            metric: 0,
            // Other nodes know no better path than this node's valid one, so only the target may reply.
            target_only: self.config.target_only || self.paths.valid(now, target).is_some(),
            target,
            target_sequence: self.paths.wanted(now, target),
        };
        self.send(None, Message::Request(request));
    }

    fn give_up(&mut self, now: Instant, destination: Ipv4Addr) {
        let Some(discovery) = self.discoveries.remove(&destination) else { return };
        for packet in discovery.waiting {
            self.forwarder.drop(&packet, DropReason::NoRoute, false);
        }
        if self.paths.valid(now, destination).is_none() {
            self.notify_lost(destination);
        }
    }
}
