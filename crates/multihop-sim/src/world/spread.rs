//! Files to every node (`app = "spread"`): the machine of each node, its timer, and its turns at the radio.

use std::collections::BTreeMap;
use std::sync::Arc;

use multihop_core::{Duration, FlowId, Instant, NodeId, Rng};
use multihop_radio::frame::{BROADCAST, PacketHandle};
use multihop_scenario::{App, Scenario};
use multihop_spread::{
    Body as Message, Config, Event, Header, Input, Node, Packet, SYMBOL, SYMBOLS, TransferId, manifest,
};

use super::World;
use super::agenda::Owner;
use super::airs::Airs;
use super::context::Context;
use super::ends::Ends;
use super::ip::Ip;
use crate::engine::Rank;
use crate::packet::Body;
use crate::results::SpreadResult;

/// All nodes and files.
pub(super) struct Spread {
    members: Vec<Member>,
    transfers: BTreeMap<TransferId, Transfer>,
    /// First flow of this kind; searches for offers count as its frames.
    first: FlowId,
}

/// The machine of one node, and its latest packet.
struct Member {
    node: Node,
    /// Copies of the node's latest packet that have not left its radios.
    leaving: usize,
}

/// The file of one flow, and what its transfer has cost so far.
struct Transfer {
    flow: FlowId,
    source: NodeId,
    header: Header,
    contents: Vec<u8>,
    begun: Instant,
    /// When each node had the file.
    stored: Vec<Option<Instant>>,
    frames: BTreeMap<&'static str, u64>,
    airtime: Duration,
}

impl Spread {
    /// The machines of all nodes, if the scenario has a flow for them.
    pub(super) fn new(scenario: &Scenario) -> Option<Self> {
        let mut flows = (0..).map(FlowId).zip(&scenario.flows);
        let first = flows.find(|(_, flow)| matches!(flow.app, App::Spread { .. }))?.0;
        let member = |id: u32| {
            let expected = scenario.flows.iter().filter(|flow| flow.from == NodeId(id));
            let expected = expected.filter_map(|flow| match flow.app {
                App::Spread { expect, .. } => Some(expect),
                _ => None,
            });
            let config =
                Config { expect: expected.max().unwrap_or(1), ..Config::new(id.into(), &id.to_string()) };
            let seed = Rng::stream(scenario.seed, "spread/node", id.into()).next_u64();
            Member { node: Node::new(config, seed), leaving: 0 }
        };
        let nodes = u32::try_from(scenario.topology.nodes()).expect("a checked number of nodes");
        Some(Self { members: (0..nodes).map(member).collect(), transfers: BTreeMap::new(), first })
    }

    /// Restarts the counts at the end of the warm-up.
    pub(super) fn restart(&mut self) {
        for transfer in self.transfers.values_mut() {
            transfer.frames.clear();
            transfer.airtime = Duration::ZERO;
        }
    }

    /// The source of a flow offers its file.
    fn offer(&mut self, context: &Context<'_>, id: FlowId) -> Option<NodeId> {
        let flow = &context.scenario.flows[id.index()];
        let App::Spread { bytes, .. } = flow.app else { return None };
        let mut rng = Rng::stream(context.scenario.seed, "spread/file", id.0.into());
        let mut contents = Vec::new();
        contents
            .resize_with(usize::try_from(bytes).expect("a checked size"), || rng.next_u64().to_be_bytes()[0]);
        let (list, sha256, hash) = manifest(&contents[..], SYMBOL, SYMBOLS).expect("bytes can be read");
        let (name, source) = (format!("flow {id}"), [0; 32]);
        let header =
            Header { name, size: bytes, sha256, manifest: hash, symbol: SYMBOL, symbols: SYMBOLS, source };
        self.members[flow.from.index()].node.offer(context.now, header.clone(), [0; 64], list, 1);
        let transfer = Transfer {
            flow: id,
            source: flow.from,
            contents,
            begun: context.now,
            stored: vec![None; self.members.len()],
            frames: BTreeMap::new(),
            airtime: Duration::ZERO,
            header,
        };
        self.transfers.insert(transfer.header.id(), transfer);
        Some(flow.from)
    }

    /// The flow of a message.
    fn flow_of(&self, message: &Message) -> FlowId {
        let id = match message {
            Message::Seek => None,
            Message::Offer(offer) => Header::parse(&offer.header).ok().map(|header| header.id()),
            Message::Symbol(symbol) => Some(symbol.transfer),
            Message::Need { transfer, .. } | Message::Report { transfer, .. } => Some(*transfer),
        };
        id.and_then(|id| self.transfers.get(&id)).map_or(self.first, |transfer| transfer.flow)
    }

    /// Counts a frame; `airtime` is zero if it was dropped.
    fn count(&mut self, node: NodeId, flow: FlowId, packet: &Packet, airtime: Duration) {
        let of_flow = self.transfers.values_mut().find(|transfer| transfer.flow == flow);
        if let Some(transfer) = of_flow.filter(|_| airtime > Duration::ZERO) {
            *transfer.frames.entry(transfer.kind(node, &packet.body)).or_default() += 1;
            transfer.airtime += airtime;
        }
    }

    /// Result of a flow, if it has begun.
    pub(super) fn result(&self, id: FlowId, now: Instant) -> Option<SpreadResult> {
        self.transfers.values().find(|transfer| transfer.flow == id).map(|transfer| transfer.result(now))
    }
}

impl Transfer {
    /// Kind of a frame in results.
    fn kind(&self, node: NodeId, message: &Message) -> &'static str {
        match message {
            Message::Symbol(symbol) if symbol.id >= self.header.block_symbols(symbol.block) => "repair",
            Message::Symbol(_) if node == self.source => "content",
            Message::Symbol(_) => "relay",
            other => other.name(),
        }
    }

    /// Whether all nodes but the source have the file.
    fn is_everywhere(&self) -> bool {
        self.stored.iter().filter(|stored| stored.is_none()).count() == 1
    }

    fn block(&self, block: u32) -> Option<&[u8]> {
        let begin = usize::try_from(self.header.offset(block)).ok()?;
        self.contents.get(begin..begin + self.header.block_len(block))
    }

    fn result(&self, now: Instant) -> SpreadResult {
        let seconds = |at: Instant| (at - self.begun).as_secs_f64();
        let symbols = self.header.size.div_ceil(SYMBOL.into());
        let last = self.stored.iter().flatten().max().filter(|_| self.is_everywhere());
        let frames: u64 = self.frames.values().sum();
        let span = seconds(last.map_or(now, |last| *last));
        SpreadResult {
            complete: self.stored.iter().flatten().count() as u64,
            all_s: last.map(|last| seconds(*last)),
            node_s: self.stored.iter().map(|stored| stored.map(seconds)).collect(),
            frames: self.frames.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect(),
            frames_per_symbol: frames as f64 / symbols as f64,
            airtime_s: self.airtime.as_secs_f64(),
            airtime_share: (span > 0.0).then(|| self.airtime.as_secs_f64() / span),
        }
    }
}

/// The other parts of a network, on which a node of spread works.
pub(super) struct Surroundings<'w, 'a> {
    pub(super) context: &'w mut Context<'a>,
    pub(super) ip: &'w mut Ip,
    pub(super) ends: &'w mut Ends,
}

impl Spread {
    /// A packet of a neighbour arrives at a node.
    fn receive(&mut self, around: &mut Surroundings<'_, '_>, airs: &Airs, id: NodeId, handle: PacketHandle) {
        let packet = around.context.packets.get(handle);
        let from = packet.source.0.into();
        if let Body::Spread { packet, .. } = &packet.body {
            let input = Input::Packet { from, packet: (**packet).clone() };
            self.members[id.index()].node.handle(around.context.now, input);
        }
        around.context.packets.release(handle);
        self.settle(around, airs, id);
    }

    /// Handles the timers and events of a node, and lets its next packet leave if the latest one has left.
    fn settle(&mut self, around: &mut Surroundings<'_, '_>, airs: &Airs, id: NodeId) {
        let now = around.context.now;
        self.members[id.index()].node.handle_timeout(now);
        self.work(around, id);
        let member = &mut self.members[id.index()];
        if member.leaving == 0 && member.node.wants_transmit(now) {
            if let Some(packet) = member.node.poll_transmit(now) {
                self.transmit(around, airs, id, packet);
            }
            self.work(around, id);
        }
        let at = self.members[id.index()].node.poll_timeout(now).map(|at| at.max(now + LEAST_WAIT));
        around.context.agenda.arm(Owner::Spread(id), Rank::Application, id, at);
    }

    fn transmit(&mut self, around: &mut Surroundings<'_, '_>, airs: &Airs, id: NodeId, packet: Packet) {
        let flow = self.flow_of(&packet.body);
        let bytes = u32::try_from(packet.emit().len()).expect("a packet is below 64 KiB") + OVERHEAD;
        let body = Body::Spread { flow, packet: Arc::new(packet), bytes };
        let handle = around.context.packet(id, BROADCAST, body);
        around.context.packets.get_mut(handle).ttl = 1;
        self.members[id.index()].leaving = airs.of(around.context.scenario, id).count();
        around.ip.send_to_neighbour(around.context, id, BROADCAST, handle);
    }

    /// Does what a node requests of the file's owner. All nodes share the source's copy of the contents.
    fn work(&mut self, around: &mut Surroundings<'_, '_>, id: NodeId) {
        let now = around.context.now;
        while let Some(event) = self.members[id.index()].node.poll_output() {
            let answer = match event {
                Event::Offered { transfer, .. } => Input::Accept(transfer),
                Event::Survey { transfer } => Input::Surveyed { transfer, whole: Vec::new() },
                Event::Read { transfer, block } => {
                    let owner = self.transfers.get(&transfer);
                    let contents = owner.and_then(|owner| owner.block(block)).map(<[u8]>::to_vec);
                    Input::Contents { transfer, block, contents }
                }
                Event::Store { transfer, block, contents } => {
                    let owner = self.transfers.get(&transfer);
                    debug_assert_eq!(owner.and_then(|owner| owner.block(block)), Some(&contents[..]));
                    continue;
                }
                Event::Complete(transfer) => {
                    self.complete(around, id, transfer);
                    Input::Stored(transfer)
                }
                Event::Progress(_) | Event::Done(_) => continue,
            };
            self.members[id.index()].node.handle(now, answer);
        }
    }

    /// A node has the whole file.
    fn complete(&mut self, around: &mut Surroundings<'_, '_>, node: NodeId, id: TransferId) {
        let Some(transfer) = self.transfers.get_mut(&id) else { return };
        transfer.stored[node.index()] = Some(around.context.now);
        let flow = &around.context.scenario.flows[transfer.flow.index()];
        if node == flow.to {
            around.ends.delivered(around.context, transfer.flow, transfer.header.size);
        }
        if transfer.is_everywhere() {
            around.ends.end_application(around.context, transfer.flow);
            around.ends.arm_application(around.context, transfer.flow);
        }
    }
}

impl World<'_> {
    /// Lets a part of spread work with the other parts.
    fn with_spread(&mut self, work: impl FnOnce(&mut Spread, &mut Surroundings<'_, '_>, &Airs)) {
        let Self { context, airs, ip, ends, spread: Some(spread), .. } = self else { return };
        work(spread, &mut Surroundings { context, ip, ends }, airs);
    }

    /// The timers of all nodes begin.
    pub(super) fn start_spread(&mut self) {
        for node in (0..self.node_count()).map(NodeId) {
            self.with_spread(|spread, around, airs| spread.settle(around, airs, node));
            self.act();
        }
    }

    /// The file of a flow is offered from now on.
    pub(super) fn offer_spread(&mut self, flow: FlowId) {
        self.with_spread(|spread, around, airs| {
            if let Some(source) = spread.offer(around.context, flow) {
                spread.settle(around, airs, source);
            }
        });
    }

    /// Handles the timer of a node.
    pub(super) fn handle_spread(&mut self, node: NodeId) {
        self.with_spread(|spread, around, airs| spread.settle(around, airs, node));
    }

    /// A packet arrives at a node.
    pub(super) fn receive_spread(&mut self, node: NodeId, packet: PacketHandle) {
        self.with_spread(|spread, around, airs| spread.receive(around, airs, node, packet));
    }

    /// A packet has left a radio of a node after this airtime, or was dropped (zero).
    pub(super) fn spread_left(&mut self, node: NodeId, packet: PacketHandle, airtime: Duration) {
        self.with_spread(|spread, around, airs| {
            let left = around.context.packets.take(packet);
            if let Body::Spread { flow, packet, .. } = &left.body {
                spread.count(node, *flow, packet, airtime);
            }
            let member = &mut spread.members[node.index()];
            member.leaving = member.leaving.saturating_sub(1);
            spread.settle(around, airs, node);
        });
    }
}

/// Shortest time between two calls of a node.
const LEAST_WAIT: Duration = Duration::from_micros(100);
/// Bytes of the UDP header and of the seal around a packet.
const OVERHEAD: u32 = 8 + 29;
