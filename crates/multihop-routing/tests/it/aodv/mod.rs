//! Networks of AODV agents.

mod buffer;
mod discovery;
mod errors;
mod hello;
mod loops;
mod networks;
mod repair;
mod unchanged;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use multihop_core::{DropReason, Duration, Instant, Machine, NodeId, Notice, Rng};
use multihop_routing::agent::{Input, NO_FLOW, Output, Routable, RoutingAgent, Ticket};
use multihop_routing::aodv::{Agent, Config, LinkFailure, LocalRepair, Preset, RouteState};
use multihop_routing::message::Message as RoutingMessage;
use multihop_testkit::{Action, Adapter, TestLink, TestNetwork};
use multihop_wire::aodv::{Error, Message, Reply, Request, Sequence, Unreachable};

/// Network of agents: packets and messages on its links, and the outcome of each packet.
#[derive(Default)]
struct Net {
    /// Packets that an agent holds, by number.
    held: BTreeMap<u32, Data>,
    tickets: u32,
    /// Packets that have arrived at their destination.
    delivered: Vec<Data>,
    dropped: Vec<(usize, Data, DropReason, bool)>,
    /// Whether forwarded packets are logged.
    log_data: bool,
    /// Messages that arrived since the last check.
    news: u32,
}

#[derive(Clone, Debug)]
struct Data {
    id: u32,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    hops: u8,
    previous_hop: Option<Ipv4Addr>,
}

#[derive(Clone, Debug)]
enum Packet {
    Data(Data),
    Message { ttl: u8, message: Message },
}

type AodvMesh = TestNetwork<Net>;

impl Net {
    fn hold(&mut self, data: Data) -> Routable {
        self.tickets += 1;
        let routable = Routable {
            ticket: Ticket(self.tickets),
            source: data.source,
            destination: data.destination,
            previous_hop: data.previous_hop,
            hops: data.hops,
            flow: NO_FLOW,
            route: None,
        };
        self.held.insert(self.tickets, data);
        routable
    }

    fn hand_back(&mut self, ticket: Ticket) -> Data {
        self.held.remove(&ticket.0).expect("each ticket comes back once")
    }
}

impl Adapter for Net {
    type Machine = Agent;
    type Packet = Packet;

    fn output(&mut self, _now: Instant, node: usize, output: Output) -> Action<Packet> {
        match output {
            Output::Forward { ticket, next_hop, .. } => {
                let packet = Packet::Data(self.hand_back(ticket));
                Action::Unicast { to: index(next_hop), packet }
            }
            Output::Drop { ticket, reason, tell_source } => {
                let data = self.hand_back(ticket);
                let notified = if tell_source { ", source notified" } else { "" };
                let line = format!("drops data {}: {reason}{notified}", data.id);
                self.dropped.push((node, data, reason, tell_source));
                Action::Log(line)
            }
            Output::Message { to, ttl, message, .. } => {
                let packet = Packet::Message { ttl, message: aodv(message) };
                match to {
                    None => Action::Broadcast(packet),
                    Some(to) => Action::Unicast { to: index(to), packet },
                }
            }
            Output::Purge { next_hop } => Action::Log(format!("purges {}", index(next_hop))),
            Output::Discard { next_hop, destination } => {
                let destination = destination.map_or("any".into(), |to| index(to).to_string());
                Action::Log(format!("discards what waits for {} to {destination}", index(next_hop)))
            }
            Output::Notice { peer, notice } => Action::Log(match notice {
                Notice::RouteLost => format!("route to {} lost", index(peer)),
                Notice::RouteRestored => format!("route to {} restored", index(peer)),
                Notice::PathInfo { hops } => format!("{} is {hops} hops away", index(peer)),
                Notice::LinkFailed(_) => unreachable!("AODV leaves this to ICMP"),
            }),
        }
    }

    fn arrived(&mut self, _: Instant, node: usize, from: usize, packet: Packet) -> Option<Input> {
        match packet {
            Packet::Data(mut data) => {
                data.hops += 1;
                data.previous_hop = Some(addr(from));
                if data.destination == addr(node) {
                    self.delivered.push(data);
                    return None;
                }
                if data.hops == 64 {
                    self.dropped.push((node, data, DropReason::Ttl, false));
                    return None;
                }
                Some(Input::Packet(self.hold(data)))
            }
            Packet::Message { ttl, message } => {
                self.news += 1;
                Some(message_input(from, ttl, message))
            }
        }
    }

    fn failed(&mut self, _: Instant, _node: usize, to: usize, packet: Packet) -> Option<Input> {
        let next_hop = addr(to);
        Some(match packet {
            Packet::Data(data) => Input::LinkFailed { next_hop, packet: self.hold(data), quoted: None },
            Packet::Message { message, .. } => {
                Input::MessageLost { next_hop, message: RoutingMessage::Aodv(message) }
            }
        })
    }

    fn text(&self, packet: &Packet) -> String {
        match packet {
            Packet::Data(data) => format!("data {}", data.id),
            Packet::Message { ttl, message } => format!("{} ttl {ttl}", text(message)),
        }
    }
}

fn message_input(from: usize, ttl: u8, message: Message) -> Input {
    Input::Message {
        interface: multihop_core::Interface(0),
        from: addr(from),
        ttl,
        message: RoutingMessage::Aodv(message),
    }
}

fn aodv(message: RoutingMessage) -> Message {
    let RoutingMessage::Aodv(message) = message else { panic!("not of AODV: {message:?}") };
    message
}

fn text(message: &Message) -> String {
    match message {
        Message::Request(request) => {
            let sequence = request.destination_sequence.map_or("?".into(), |s| s.0.to_string());
            format!(
                "RREQ {} for {} (seq {sequence}) by {} (seq {}) hops {}",
                request.id,
                index(request.destination),
                index(request.originator),
                request.originator_sequence.0,
                request.hop_count
            )
        }
        Message::Reply(reply) => format!(
            "RREP {} (seq {}) for {} hops {}",
            index(reply.destination),
            reply.destination_sequence.0,
            index(reply.originator),
            reply.hop_count
        ),
        Message::Error(error) => {
            let entries: Vec<String> = error
                .unreachable
                .iter()
                .map(|entry| format!("{} (seq {})", index(entry.destination), entry.sequence.0))
                .collect();
            format!("RERR{} {}", if error.no_delete { " N" } else { "" }, entries.join(", "))
        }
        Message::ReplyAck => "RREP-ACK".into(),
    }
}

fn addr(node: usize) -> Ipv4Addr {
    NodeId(u32::try_from(node).expect("networks are small")).addr()
}

fn index(addr: Ipv4Addr) -> usize {
    NodeId::from_addr(addr).expect("agents name nodes").index()
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn agents(count: usize, config: &Config, seed: u64) -> Vec<Agent> {
    (0..count)
        .map(|node| {
            let rng = Rng::stream(seed, "aodv", node as u64);
            Agent::new(config.clone(), addr(node), Instant::ZERO, rng)
        })
        .collect()
}

/// A preset with MAC feedback and without jitter, so that times are predictable.
fn config(preset: Preset) -> Config {
    Config { jitter: Duration::from_nanos(1), ..Config::new(preset, LinkFailure::Mac) }
}

/// Nodes 0 to `count - 1` in a row.
fn chain(count: usize, config: &Config) -> AodvMesh {
    TestNetwork::chain(agents(count, config, 1), Net::default(), 1)
}

/// Sends a new packet; returns its number.
fn send(mesh: &mut AodvMesh, from: usize, to: usize) -> u32 {
    let id = mesh.adapter.tickets + 1;
    let (source, destination) = (addr(from), addr(to));
    let packet = mesh.adapter.hold(Data { id, source, destination, hops: 0, previous_hop: None });
    mesh.input(from, Input::Packet(packet));
    id
}

fn delivered(mesh: &AodvMesh) -> Vec<u32> {
    mesh.adapter.delivered.iter().map(|data| data.id).collect()
}

/// The log without data packets.
#[track_caller]
fn expect_log(mesh: &mut AodvMesh, expected: &str) {
    let log = mesh.take_log();
    let lines = log.lines().filter(|line| mesh.adapter.log_data || !line.contains(": data "));
    let seen: Vec<&str> = lines.collect();
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(seen, expected, "seen (left):\n{}\n", seen.join("\n"));
}

fn next_hop(mesh: &AodvMesh, from: usize, to: usize) -> Option<usize> {
    mesh.machines[from].next_hop(addr(to)).map(index)
}

/// The outputs of an agent, in the format of the log.
fn outputs(agent: &mut Agent, now: Instant) -> Vec<String> {
    std::iter::from_fn(|| agent.poll_output(now))
        .map(|output| match output {
            Output::Message { to, ttl, message, .. } => {
                let to = to.map_or("*".into(), |to| index(to).to_string());
                format!("-> {to}: {} ttl {ttl}", text(&aodv(message)))
            }
            Output::Forward { ticket, next_hop, .. } => {
                format!("forwards {} to {}", ticket.0, index(next_hop))
            }
            Output::Drop { ticket, reason, tell_source } => {
                format!("drops {}: {reason}{}", ticket.0, if tell_source { ", source notified" } else { "" })
            }
            other => format!("{other:?}"),
        })
        .collect()
}
