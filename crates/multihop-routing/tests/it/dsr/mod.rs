//! DSR networks: discovery in chains and random networks, stale caches, changing links.

use std::sync::Arc;

use multihop_core::{DropReason, Duration, Instant, NodeId, Notice, Rng};
use multihop_routing::agent::{Input, NO_FLOW, Output, Overheard, Routable, Ticket};
use multihop_routing::dsr::{Agent, Config};
use multihop_routing::message::{DsrMessage, Message};
use multihop_testkit::{Action, Adapter, TestLink, TestNetwork};
use multihop_wire::Quoted;
use multihop_wire::dsr::{Fault, Header, SourceRoute};

mod chains;
mod changes;
mod networks;
mod stale;

/// Frame on a link: a message or a data packet.
#[derive(Clone)]
enum Frame {
    Control { id: u32, ttl: u8, message: Arc<DsrMessage> },
    Data { packet: usize, route: Arc<SourceRoute> },
}

/// The history of a data packet.
struct Packet {
    source: usize,
    destination: usize,
    /// Nodes that sent the packet, and its salvage count at that time.
    senders: Vec<(usize, u8)>,
    /// Number of links that the packet crossed.
    hops: u8,
    end: Option<Result<(), DropReason>>,
}

/// Stores the data packets. Every header is encoded and parsed.
#[derive(Default)]
struct Air {
    packets: Vec<Packet>,
    notices: Vec<(usize, Notice)>,
    control: u32,
}

impl Air {
    fn routable(&self, packet: usize) -> Routable {
        let Packet { source, destination, hops, .. } = self.packets[packet];
        Routable {
            ticket: Ticket(u32::try_from(packet).expect("few packets")),
            source: address(source),
            destination: address(destination),
            previous_hop: None,
            hops,
            flow: NO_FLOW,
            route: None,
        }
    }

    /// The packet with the source route that it carries.
    fn routed(&self, packet: usize, route: Arc<SourceRoute>) -> Routable {
        Routable { route: Some(route), ..self.routable(packet) }
    }

    fn end(&mut self, packet: usize, end: Result<(), DropReason>) {
        assert_eq!(self.packets[packet].end.replace(end), None, "packet {packet} ends twice");
    }
}

impl Adapter for Air {
    type Machine = Agent;
    type Packet = Frame;
    const TAPS: bool = true;

    fn output(&mut self, _now: Instant, node: usize, output: Output) -> Action<Frame> {
        match output {
            Output::Forward { ticket, next_hop, route } => {
                let (packet, route) = (ticket.0 as usize, route.expect("DSR gives each packet its route"));
                check_bytes(&Header { source_route: Some(*route), ..Header::new(6) });
                self.packets[packet].senders.push((node, route.salvage));
                Action::Unicast { to: number(next_hop), packet: Frame::Data { packet, route } }
            }
            Output::Message { to, ttl, message: Message::Dsr(message), .. } => {
                check_bytes(&message.header);
                self.control += 1;
                let frame = Frame::Control { id: u32::MAX - self.control, ttl, message };
                match to {
                    Some(to) => Action::Unicast { to: number(to), packet: frame },
                    None => Action::Broadcast(frame),
                }
            }
            Output::Drop { ticket, reason, .. } => {
                self.end(ticket.0 as usize, Err(reason));
                Action::Log(format!("drop: {reason}"))
            }
            Output::Notice { peer, notice } => {
                self.notices.push((node, notice));
                Action::Log(format!("about {}: {}", number(peer), news(&notice)))
            }
            // There are no interface queues.
            Output::Purge { .. } => Action::Done,
            other => panic!("not an output of DSR: {other:?}"),
        }
    }

    fn arrived(&mut self, _: Instant, node: usize, from: usize, frame: Frame) -> Option<Input> {
        match frame {
            Frame::Control { ttl, message, .. } => Some(Input::Message {
                interface: multihop_core::Interface(0),
                from: address(from),
                ttl,
                message: Message::Dsr(message),
            }),
            Frame::Data { packet, route } => {
                self.packets[packet].hops += 1;
                if self.packets[packet].destination == node {
                    self.end(packet, Ok(()));
                    return None;
                }
                Some(Input::Packet(self.routed(packet, route)))
            }
        }
    }

    fn failed(&mut self, _: Instant, _: usize, to: usize, frame: Frame) -> Option<Input> {
        let next_hop = address(to);
        Some(match frame {
            Frame::Control { message, .. } => Input::MessageLost { next_hop, message: Message::Dsr(message) },
            Frame::Data { packet, route } => {
                let packet = self.routed(packet, route);
                let Routable { source, destination, .. } = packet;
                let quoted = Some(Quoted { source, destination, protocol: 6, transport: [1; 20] });
                Input::LinkFailed { next_hop, packet, quoted }
            }
        })
    }

    fn overheard(&mut self, _: Instant, _: usize, _: usize, frame: Frame) -> Option<Input> {
        let (id, packet) = match frame {
            Frame::Control { id, message, .. } => (id, Overheard::Message(Message::Dsr(message))),
            Frame::Data { packet, route } => {
                let Routable { ticket, source, destination, .. } = self.routable(packet);
                (ticket.0, Overheard::Data { source, destination, route: Some(route) })
            }
        };
        Some(Input::Overheard { id, packet })
    }

    fn text(&self, frame: &Frame) -> String {
        match frame {
            Frame::Data { packet, route } => format!("data {packet} {}", path(route)),
            Frame::Control { ttl, message, .. } => text(*ttl, message),
        }
    }
}

fn check_bytes(header: &Header) {
    let mut bytes = Vec::new();
    header.emit(&mut bytes);
    assert_eq!(Header::parse(&bytes).as_ref(), Ok(&(header.clone(), &[][..])));
}

fn text(ttl: u8, message: &DsrMessage) -> String {
    let header = &message.header;
    let mut text = String::new();
    if let Some(request) = &header.request {
        text += &format!(
            "request {} for {} ttl {ttl} from {}{}",
            request.id,
            number(request.target),
            number(message.source),
            list(&request.route),
        );
    }
    for reply in &header.replies {
        text += &format!("reply to {}{}", number(message.destination), list(&reply.route));
    }
    for error in &header.errors {
        let Fault::NodeUnreachable(node) = error.fault else { continue };
        text += &format!(" error: {} not to {}", number(error.source), number(node));
    }
    if let Some(route) = &header.source_route {
        text += &format!(" {}", path(route));
    }
    text
}

fn news(notice: &Notice) -> String {
    match notice {
        Notice::LinkFailed(_) => "link failed".into(),
        Notice::RouteLost => "route lost".into(),
        Notice::RouteRestored => "route restored".into(),
        Notice::PathInfo { hops } => format!("{hops} hops"),
    }
}

fn path(route: &SourceRoute) -> String {
    let salvaged = if route.salvage > 0 { format!(" salvaged {}", route.salvage) } else { String::new() };
    format!("over{} left {}{salvaged}", list(&route.route), route.segments_left)
}

fn list(nodes: &[std::net::Ipv4Addr]) -> String {
    nodes.iter().map(|&node| format!(" {}", number(node))).collect()
}

fn address(node: usize) -> std::net::Ipv4Addr {
    NodeId(u32::try_from(node).expect("few nodes")).addr()
}

fn number(address: std::net::Ipv4Addr) -> usize {
    NodeId::from_addr(address).map_or(usize::MAX, NodeId::index)
}

fn agents(count: usize, config: Config, seed: u64) -> Vec<Agent> {
    (0..count).map(|n| Agent::new(address(n), config, Rng::stream(seed, "dsr", n as u64))).collect()
}

fn network(count: usize, links: &[(usize, usize)], config: Config) -> TestNetwork<Air> {
    let mut mesh = TestNetwork::new(agents(count, config, 1), Air::default(), 1);
    for &(a, b) in links {
        mesh.connect(a, b, TestLink::GOOD);
    }
    mesh
}

/// Sends a packet; returns its number.
fn send(mesh: &mut TestNetwork<Air>, source: usize, destination: usize) -> usize {
    let packet = mesh.adapter.packets.len();
    mesh.adapter.packets.push(Packet { source, destination, senders: Vec::new(), hops: 0, end: None });
    let routable = mesh.adapter.routable(packet);
    mesh.input(source, Input::Packet(routable));
    packet
}

/// Sends a packet and runs the network for 200 ms; returns the hops if the packet arrived.
fn deliver(mesh: &mut TestNetwork<Air>, source: usize, destination: usize) -> Option<u8> {
    let packet = send(mesh, source, destination);
    mesh.run_for(Duration::from_millis(200));
    let Packet { end, hops, .. } = mesh.adapter.packets[packet];
    (end == Some(Ok(()))).then_some(hops)
}

/// The path from one node to another, as the first one knows it.
fn known(mesh: &TestNetwork<Air>, from: usize, to: usize) -> Option<Vec<usize>> {
    let path = mesh.machines[from].path_to(mesh.now(), address(to))?;
    Some(path.iter().map(|&node| number(node)).collect())
}
