//! Sockets of programs in virtual time: TCP by the endpoints of the simulator, and UDP, over the simulated network.
//!
//! A program has one end of a pair of local sockets, this module the other. Bytes move between the pair and the
//! endpoints only while no program runs, in the order in which the sockets were made.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use multihop_core::{Instant, NodeId, Payload};
use multihop_transport::congestion::{Algorithm, Variant};
use multihop_transport::tcp::Config;
use multihop_wire::{ipv4, tcp, udp};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
use nix::sys::stat::fstat;

use super::message::{Message, kind, nanos, send_with};
use super::poll_now;
use super::stream::{Stream, StreamEvent};

/// All sockets of an emulation in virtual time.
pub(super) struct Sockets {
    by_inode: HashMap<u64, u32>,
    /// Sockets in the order in which they were made.
    sockets: BTreeMap<u32, Socket>,
    /// TCP connections by node, local port and peer.
    connections: BTreeMap<(NodeId, u16, SocketAddrV4), u32>,
    /// Packets for the simulated network.
    outgoing: VecDeque<(NodeId, Vec<u8>)>,
    /// Packets of a node to itself.
    local: VecDeque<(NodeId, Vec<u8>)>,
    next_socket: u32,
    /// Next port for sockets without a port, by node.
    next_port: BTreeMap<NodeId, u16>,
    packets: u16,
    mss: u16,
}

struct Socket {
    node: NodeId,
    is_stream: bool,
    is_ipv6: bool,
    /// This process's end of the pair, until the connection fails.
    end: Option<OwnedFd>,
    inode: u64,
    local: Option<SocketAddrV4>,
    remote: Option<SocketAddrV4>,
    is_listening: bool,
    algorithm: Algorithm,
    stream: Option<Box<Stream>>,
    /// Error that the program has not taken yet, a number of the system.
    error: i32,
    /// The program's end of an accepted connection, and the listening socket, until the connection is handed over.
    for_program: Option<(OwnedFd, u32)>,
    /// Whether the program has closed its end.
    is_abandoned: bool,
    /// Whether the connection has failed. The program may still take the error.
    has_failed: bool,
}

/// First port of sockets without a port, as in Linux.
const FIRST_PORT: u16 = 32_768;
/// Bytes of a datagram's address in front of its data.
const ADDRESS_LEN: usize = 8;
/// Longest datagram with its address.
const MAX_DATAGRAM: usize = 65_536;
const STREAM_TYPE: i32 = 1;
const DATAGRAM_TYPE: i32 = 2;
const HOP_LIMIT: u8 = 64;

impl Sockets {
    /// No sockets yet, in a network whose packets have at most `mtu` bytes.
    pub(super) fn new(mtu: u16) -> Self {
        Self {
            by_inode: HashMap::new(),
            sockets: BTreeMap::new(),
            connections: BTreeMap::new(),
            outgoing: VecDeque::new(),
            local: VecDeque::new(),
            next_socket: 0,
            next_port: BTreeMap::new(),
            packets: 0,
            mss: mtu.saturating_sub(HEADERS).max(16),
        }
    }

    /// Takes a packet for the simulated network.
    pub(super) fn poll_outgoing(&mut self) -> Option<(NodeId, Vec<u8>)> {
        self.outgoing.pop_front()
    }

    /// When the next timer of a connection expires.
    pub(super) fn next(&self) -> Option<Instant> {
        let timers = self.sockets.values().filter_map(|socket| socket.stream.as_ref()?.poll_timeout());
        timers.min()
    }

    /// Fires the timers that are due, and moves bytes between programs and connections. Returns whether anything changed.
    pub(super) fn advance(&mut self, now: Instant) -> io::Result<bool> {
        let due = |socket: &Socket| {
            socket.stream.as_ref().and_then(|stream| stream.poll_timeout()).is_some_and(|at| at <= now)
        };
        let numbers: Vec<_> =
            self.sockets.iter().filter(|(_, socket)| due(socket)).map(|(n, _)| *n).collect();
        for n in &numbers {
            if let Some(stream) = self.sockets.get_mut(n).and_then(|socket| socket.stream.as_mut()) {
                stream.handle_timeout(now);
            }
            self.drain(*n, now);
        }
        let mut has_changed = !numbers.is_empty();
        has_changed |= self.pump(now)?;
        has_changed |= self.deliver_locally(now);
        Ok(has_changed)
    }

    /// Handles a packet that has left the simulated network at a node.
    pub(super) fn receive(&mut self, node: NodeId, packet: &[u8], now: Instant) {
        let Ok((header, payload)) = ipv4::Header::parse(packet) else { return };
        match header.protocol {
            tcp::PROTOCOL => {
                let Ok(mut segment) = tcp::Segment::parse(payload, header.source, header.destination) else {
                    return;
                };
                segment.ecn = ecn(header.tos);
                self.receive_segment(node, header.source, header.destination, segment, now);
            }
            udp::PROTOCOL => {
                let Ok(datagram) = udp::Datagram::parse(payload, header.source, header.destination) else {
                    return;
                };
                self.receive_datagram(node, SocketAddrV4::new(header.source, datagram.source), &datagram);
            }
            _ => {}
        }
    }

    fn receive_segment(
        &mut self,
        node: NodeId,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        segment: tcp::Segment,
        now: Instant,
    ) {
        let peer = SocketAddrV4::new(source, segment.source);
        let known = self.connections.get(&(node, segment.destination, peer)).copied();
        let is_opening = segment.syn && segment.ack.is_none() && !segment.rst;
        let number = match known {
            Some(number) => Some(number),
            None if is_opening => self.open_passively(node, destination, peer, &segment),
            None => None,
        };
        let Some(number) = number else {
            if !segment.rst {
                let reset = Stream::reset_for(&segment);
                self.send_segment(node, destination, source, &reset);
            }
            return;
        };
        if let Some(stream) = self.sockets.get_mut(&number).and_then(|socket| socket.stream.as_mut()) {
            stream.handle(now, segment);
        }
        self.drain(number, now);
    }

    /// Creates the connection of a SYN to a listening socket.
    fn open_passively(
        &mut self,
        node: NodeId,
        to: Ipv4Addr,
        peer: SocketAddrV4,
        segment: &tcp::Segment,
    ) -> Option<u32> {
        let listening = self.sockets.iter().find(|(_, socket)| {
            socket.node == node
                && socket.is_listening
                && socket
                    .local
                    .is_some_and(|local| local.port() == segment.destination && accepts(*local.ip(), to))
        });
        let (listener, is_ipv6, algorithm) =
            listening.map(|(n, socket)| (*n, socket.is_ipv6, socket.algorithm.clone()))?;
        let pair = (SockFlag::SOCK_CLOEXEC, AddressFamily::Unix);
        let (program, end) = socketpair(pair.1, SockType::Stream, None, pair.0).ok()?;
        let local = SocketAddrV4::new(to, segment.destination);
        let number = self.add(node, true, is_ipv6, end, inode(&program));
        let stream = Stream::passive(self.config(&algorithm, node, *peer.ip()), local.port(), number);
        let socket = self.sockets.get_mut(&number).expect("it has just been made");
        (socket.local, socket.remote) = (Some(local), Some(peer));
        socket.algorithm = algorithm;
        socket.stream = Some(Box::new(stream));
        socket.for_program = Some((program, listener));
        self.connections.insert((node, local.port(), peer), number);
        Some(number)
    }

    fn receive_datagram(&self, node: NodeId, from: SocketAddrV4, datagram: &udp::Datagram) {
        let is_for = |socket: &&Socket| {
            socket.node == node
                && !socket.is_stream
                && socket.local.is_some_and(|local| local.port() == datagram.destination)
                && socket.remote.is_none_or(|remote| remote == from)
        };
        // A socket that is connected to the sender comes first.
        let mut sockets: Vec<_> = self.sockets.values().filter(is_for).collect();
        sockets.sort_by_key(|socket| socket.remote.is_none());
        let Some(socket) = sockets.first() else { return };
        let mut bytes = Vec::with_capacity(ADDRESS_LEN + datagram.payload.len());
        bytes.extend_from_slice(&from.ip().to_bits().to_ne_bytes());
        bytes.extend_from_slice(&from.port().to_ne_bytes());
        bytes.extend_from_slice(&[0; 2]);
        datagram.payload.emit(&mut bytes);
        let Some(end) = &socket.end else { return };
        // A program that reads nothing loses datagrams, as with a full buffer of the kernel.
        let _ = send(end.as_raw_fd(), &bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL);
    }

    /// Sends the segments of a connection, and handles its events.
    fn drain(&mut self, number: u32, now: Instant) {
        while let Some(event) = self
            .sockets
            .get_mut(&number)
            .and_then(|socket| socket.stream.as_mut())
            .and_then(|stream| stream.poll(now))
        {
            let socket = self.sockets.get_mut(&number).expect("it has just been found");
            match event {
                StreamEvent::Segment(segment) => {
                    let (Some(local), Some(remote)) = (socket.local, socket.remote) else { continue };
                    let node = socket.node;
                    self.send_segment(node, *local.ip(), *remote.ip(), &segment);
                }
                StreamEvent::Connected => {
                    if let (Some(stream), Some(end)) = (&mut socket.stream, &socket.end) {
                        stream.unplug(end);
                    }
                    self.hand_over(number);
                }
                StreamEvent::Failed(error) => {
                    socket.error = error as i32;
                    socket.has_failed = true;
                    socket.for_program = None;
                    if let Some(end) = socket.end.take() {
                        super::stream::discard(&end);
                    }
                    self.forget_connection(number);
                }
                StreamEvent::Gone => self.forget_connection(number),
            }
        }
    }

    /// Passes an accepted connection to the program that listens.
    fn hand_over(&mut self, number: u32) {
        let Some(socket) = self.sockets.get_mut(&number) else { return };
        let Some((program, listener)) = socket.for_program.take() else { return };
        let remote = socket.remote.expect("a connection has a peer");
        let mut bytes = [0; ADDRESS_LEN];
        bytes[..4].copy_from_slice(&remote.ip().to_bits().to_ne_bytes());
        bytes[4..6].copy_from_slice(&remote.port().to_ne_bytes());
        // If there is no room, or nobody listens any more, the program's end is closed, which ends the connection.
        if let Some(end) = self.sockets.get(&listener).and_then(|listener| listener.end.as_ref()) {
            send_with(end, &bytes, program.as_fd());
        }
    }

    fn forget_connection(&mut self, number: u32) {
        let Some(socket) = self.sockets.get_mut(&number) else { return };
        if let (Some(local), Some(remote)) = (socket.local, socket.remote)
            && self.connections.get(&(socket.node, local.port(), remote)) == Some(&number)
        {
            self.connections.remove(&(socket.node, local.port(), remote));
        }
        if socket.is_abandoned && !socket.has_failed {
            self.remove(number);
        }
    }

    fn remove(&mut self, number: u32) {
        if let Some(socket) = self.sockets.remove(&number) {
            self.by_inode.remove(&socket.inode);
        }
    }

    /// Moves bytes between programs and connections; returns whether there were any.
    fn pump(&mut self, now: Instant) -> io::Result<bool> {
        let open = self.sockets.iter().filter(|(_, socket)| !socket.is_abandoned);
        let (numbers, mut polled): (Vec<_>, Vec<_>) = open
            .filter_map(|(n, socket)| {
                let interest = socket.stream.as_ref().map_or(PollFlags::POLLIN, |stream| stream.interest());
                Some((*n, PollFd::new(socket.end.as_ref()?.as_fd(), interest)))
            })
            .unzip();
        poll_now(&mut polled)?;
        let found: Vec<_> =
            polled.iter().map(|polled| polled.revents().unwrap_or(PollFlags::empty())).collect();
        let mut has_changed = false;
        for (number, events) in numbers.into_iter().zip(found) {
            if !events.is_empty() {
                has_changed |= self.serve(number, events, now)?;
            }
        }
        Ok(has_changed)
    }

    fn serve(&mut self, number: u32, events: PollFlags, now: Instant) -> io::Result<bool> {
        let Some(socket) = self.sockets.get_mut(&number) else { return Ok(false) };
        if !socket.is_stream {
            return self.send_datagrams(number, events);
        }
        let mut has_changed = false;
        let is_closed = events.contains(PollFlags::POLLHUP);
        if let (Some(stream), Some(end)) = (&mut socket.stream, &socket.end) {
            has_changed |= stream.exchange(end, now)?;
            if is_closed {
                stream.close(end)?;
            }
        }
        if is_closed {
            socket.is_abandoned = true;
            socket.is_listening = false;
            has_changed = true;
        }
        self.drain(number, now);
        let is_over = self.sockets.get(&number).is_some_and(|socket| {
            socket.is_abandoned && socket.stream.as_ref().is_none_or(|stream| stream.is_gone())
        });
        if is_over {
            self.forget_connection(number);
        }
        Ok(has_changed)
    }

    fn send_datagrams(&mut self, number: u32, events: PollFlags) -> io::Result<bool> {
        let mut bytes = vec![0; MAX_DATAGRAM];
        let mut has_changed = false;
        while let Some(socket) = self.sockets.get(&number) {
            let Some(end) = &socket.end else { break };
            let length = match recv(end.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
                Ok(length) if length >= ADDRESS_LEN => length,
                Ok(_) | Err(Errno::EAGAIN) => break,
                // Once after the program has closed the socket with unread datagrams. Sent ones may follow.
                Err(Errno::EINTR | Errno::ECONNRESET) => continue,
                Err(error) => return Err(error.into()),
            };
            has_changed = true;
            let address = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let port = u16::from_ne_bytes([bytes[4], bytes[5]]);
            let named = (port != 0).then(|| SocketAddrV4::new(Ipv4Addr::from_bits(address), port));
            let (node, Some(to)) = (socket.node, named.or(socket.remote)) else { continue };
            let local = self.local_for(number, *to.ip());
            let datagram = udp::Datagram {
                source: local.port(),
                destination: to.port(),
                payload: Payload::Bytes(bytes[ADDRESS_LEN..length].to_vec()),
            };
            let mut payload = Vec::new();
            datagram.emit(*local.ip(), *to.ip(), &mut payload);
            self.send_packet(node, *local.ip(), *to.ip(), udp::PROTOCOL, 0, &payload);
        }
        if events.contains(PollFlags::POLLHUP) {
            self.remove(number);
            has_changed = true;
        }
        Ok(has_changed)
    }

    /// Local address of packets of a socket to `to`; gives the socket a port if it has none.
    fn local_for(&mut self, number: u32, to: Ipv4Addr) -> SocketAddrV4 {
        let (node, local) = {
            let socket = &self.sockets[&number];
            (socket.node, socket.local)
        };
        let port = local.map(|local| local.port()).filter(|port| *port != 0);
        let port = port.unwrap_or_else(|| self.free_port(node));
        let ip = local.map(|local| *local.ip()).filter(|ip| !ip.is_unspecified());
        let ip = ip.unwrap_or(if to.is_loopback() { Ipv4Addr::LOCALHOST } else { node.addr() });
        let socket = self.sockets.get_mut(&number).expect("it has just been found");
        let bound = socket.local.map_or(Ipv4Addr::UNSPECIFIED, |local| *local.ip());
        socket.local = Some(SocketAddrV4::new(bound, port));
        SocketAddrV4::new(ip, port)
    }

    fn free_port(&mut self, node: NodeId) -> u16 {
        loop {
            let next = self.next_port.entry(node).or_insert(FIRST_PORT);
            let port = *next;
            *next = next.checked_add(1).unwrap_or(FIRST_PORT);
            let is_used = |socket: &Socket| {
                socket.node == node
                    && !socket.has_failed
                    && socket.local.is_some_and(|local| local.port() == port)
            };
            if !self.sockets.values().any(is_used) {
                return port;
            }
        }
    }

    fn send_segment(&mut self, node: NodeId, from: Ipv4Addr, to: Ipv4Addr, segment: &tcp::Segment) {
        let mut payload = Vec::with_capacity(segment.header_len() + segment.payload.len());
        segment.emit(from, to, &mut payload);
        self.send_packet(node, from, to, tcp::PROTOCOL, ecn_bits(segment.ecn), &payload);
    }

    fn send_packet(
        &mut self,
        node: NodeId,
        from: Ipv4Addr,
        to: Ipv4Addr,
        protocol: u8,
        tos: u8,
        payload: &[u8],
    ) {
        self.packets = self.packets.wrapping_add(1);
        let header = ipv4::Header {
            tos,
            id: self.packets,
            dont_fragment: true,
            ttl: HOP_LIMIT,
            protocol,
            source: from,
            destination: to,
        };
        let mut packet = Vec::with_capacity(ipv4::Header::LEN + payload.len());
        header.emit(payload, &mut packet);
        let is_local = to.is_loopback() || to == node.addr();
        if is_local { &mut self.local } else { &mut self.outgoing }.push_back((node, packet));
    }

    /// Delivers the packets of nodes to themselves; returns whether there were any.
    fn deliver_locally(&mut self, now: Instant) -> bool {
        let mut has_changed = false;
        while let Some((node, packet)) = self.local.pop_front() {
            self.receive(node, &packet, now);
            has_changed = true;
        }
        has_changed
    }

    fn config(&self, algorithm: &Algorithm, node: NodeId, peer: Ipv4Addr) -> Config {
        let is_local = peer.is_loopback() || peer == node.addr();
        super::stream::config(algorithm.clone(), if is_local { LOCAL_MSS } else { self.mss })
    }

    fn add(&mut self, node: NodeId, is_stream: bool, is_ipv6: bool, end: OwnedFd, inode: u64) -> u32 {
        let number = self.next_socket;
        self.next_socket += 1;
        self.by_inode.insert(inode, number);
        let socket = Socket {
            node,
            is_stream,
            is_ipv6,
            end: Some(end),
            inode,
            local: None,
            remote: None,
            is_listening: false,
            algorithm: Variant::Cubic.into(),
            stream: None,
            error: 0,
            for_program: None,
            is_abandoned: false,
            has_failed: false,
        };
        self.sockets.insert(number, socket);
        number
    }

    /// Ports on which sockets of a node listen (TCP) or are bound (UDP), in order.
    pub(super) fn ports(&self, node: NodeId) -> Vec<u16> {
        let is_open = |socket: &&Socket| socket.node == node && (socket.is_listening || !socket.is_stream);
        let open = self.sockets.values().filter(is_open);
        let mut ports: Vec<_> = open.filter_map(|socket| Some(socket.local?.port())).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

/// Requests of programs about sockets.
impl Sockets {
    /// Answers a request of a program at a node.
    pub(super) fn answer(
        &mut self,
        node: NodeId,
        request: Message,
        attached: Option<OwnedFd>,
        now: Instant,
    ) -> Message {
        let mut reply = request;
        if request.kind == kind::SOCKET {
            if let Some(end) = attached {
                self.add(node, request.first == STREAM_TYPE, request.second != 0, end, request.inode);
            }
            return reply;
        }
        let number = self.by_inode.get(&request.inode).copied();
        let Some(number) = number else {
            reply.first = 0;
            reply.result = Errno::ENOTSOCK as i32;
            return reply;
        };
        if let Err(error) = self.perform(number, &request, &mut reply, now) {
            reply.result = error as i32;
        }
        reply
    }

    fn perform(
        &mut self,
        number: u32,
        request: &Message,
        reply: &mut Message,
        now: Instant,
    ) -> Result<(), Errno> {
        let wanted = SocketAddrV4::new(Ipv4Addr::from_bits(request.address), request.port);
        let socket = self.sockets.get_mut(&number).ok_or(Errno::ENOTSOCK)?;
        match request.kind {
            kind::LOOK_UP => {
                reply.first = if socket.is_stream { STREAM_TYPE } else { DATAGRAM_TYPE };
                reply.second = socket.is_ipv6.into();
            }
            kind::BIND => return self.bind(number, wanted),
            kind::LISTEN => {
                if !socket.is_stream || socket.stream.is_some() {
                    return Err(Errno::EOPNOTSUPP);
                }
                socket.is_listening = true;
                self.local_for(number, Ipv4Addr::UNSPECIFIED);
            }
            kind::CONNECT => return self.connect(number, wanted, request.first, now),
            kind::LOCAL => set_address(reply, Self::shown_local(socket)),
            kind::PEER => set_address(reply, socket.remote.ok_or(Errno::ENOTCONN)?),
            kind::ERROR => reply.result = std::mem::take(&mut socket.error),
            kind::CHOOSE => {
                let name = match request.text() {
                    name if name == "reno" => "newreno".to_owned(),
                    name => name,
                };
                let found = Variant::ALL.iter().find(|(known, _)| *known == name);
                socket.algorithm = found.ok_or(Errno::ENOENT)?.1.into();
            }
            kind::DETAILS => Self::details(socket, self.mss, reply),
            _ => return Err(Errno::EOPNOTSUPP),
        }
        Ok(())
    }

    fn bind(&mut self, number: u32, wanted: SocketAddrV4) -> Result<(), Errno> {
        let (node, is_stream) = (self.sockets[&number].node, self.sockets[&number].is_stream);
        let ip = *wanted.ip();
        if !(ip.is_unspecified() || ip.is_loopback() || ip == node.addr() || ip.is_multicast()) {
            return Err(Errno::EADDRNOTAVAIL);
        }
        let is_taken = |socket: &Socket| {
            socket.node == node
                && socket.is_stream == is_stream
                && (socket.is_listening || !is_stream && socket.remote.is_none())
                && socket.local.is_some_and(|local| local.port() == wanted.port() && overlap(*local.ip(), ip))
        };
        if wanted.port() != 0 && self.sockets.iter().any(|(n, socket)| *n != number && is_taken(socket)) {
            return Err(Errno::EADDRINUSE);
        }
        let port = if wanted.port() == 0 { self.free_port(node) } else { wanted.port() };
        let socket = self.sockets.get_mut(&number).expect("it has just been found");
        if socket.local.is_some() {
            return Err(Errno::EINVAL);
        }
        socket.local = Some(SocketAddrV4::new(ip, port));
        Ok(())
    }

    /// Connects a socket. The first request of a stream, without bytes, only finds out whether the socket can connect.
    fn connect(&mut self, number: u32, to: SocketAddrV4, plug: i32, now: Instant) -> Result<(), Errno> {
        let socket = self.sockets.get_mut(&number).expect("it has just been found");
        if !socket.is_stream {
            socket.remote = (to.port() != 0).then_some(to);
            self.local_for(number, *to.ip());
            return Ok(());
        }
        // A new connection would need a new pair of sockets.
        if socket.has_failed {
            let error = std::mem::take(&mut socket.error);
            return Err(if error == 0 { Errno::ECONNABORTED } else { Errno::from_raw(error) });
        }
        if let Some(stream) = &socket.stream {
            return Err(if stream.is_opening() { Errno::EALREADY } else { Errno::EISCONN });
        }
        if plug == 0 {
            return Ok(());
        }
        // Programs reach their own node under the address 0.0.0.0.
        let ip = if to.ip().is_unspecified() { Ipv4Addr::LOCALHOST } else { *to.ip() };
        let to = SocketAddrV4::new(ip, to.port());
        let local = self.local_for(number, ip);
        let socket = &self.sockets[&number];
        let (node, config) = (socket.node, self.config(&socket.algorithm, socket.node, ip));
        let plug = usize::try_from(plug).unwrap_or(0);
        let stream = Stream::active(config, local.port(), to.port(), number, plug);
        let socket = self.sockets.get_mut(&number).expect("it has just been found");
        (socket.local, socket.remote) = (Some(local), Some(to));
        socket.stream = Some(Box::new(stream));
        self.connections.insert((node, local.port(), to), number);
        self.drain(number, now);
        Ok(())
    }

    fn shown_local(socket: &Socket) -> SocketAddrV4 {
        let local = socket.local.unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        match socket.remote {
            Some(remote) if local.ip().is_unspecified() => {
                let ip = if remote.ip().is_loopback() { Ipv4Addr::LOCALHOST } else { socket.node.addr() };
                SocketAddrV4::new(ip, local.port())
            }
            _ => local,
        }
    }

    fn details(socket: &Socket, mss: u16, reply: &mut Message) {
        reply.address = mss.into();
        if let Some((name, _)) =
            Variant::ALL.iter().find(|(_, variant)| Algorithm::from(*variant) == socket.algorithm)
        {
            reply.set_text(name);
        }
        let Some(stream) = &socket.stream else { return };
        let details = stream.details();
        reply.address = details.mss;
        reply.first = i32::try_from(details.retransmitted).unwrap_or(i32::MAX);
        reply.second = i32::try_from(details.window).unwrap_or(i32::MAX);
        reply.time = nanos(Instant::ZERO + details.round_trip);
        reply.events = 1;
    }
}

/// Headers of IPv4 and TCP without options, bytes.
const HEADERS: u16 = 40;
/// Payload of a segment that does not leave its node.
const LOCAL_MSS: u16 = 2200;

fn inode(descriptor: &OwnedFd) -> u64 {
    fstat(descriptor).map_or(0, |status| status.st_ino)
}

fn set_address(reply: &mut Message, address: SocketAddrV4) {
    reply.address = address.ip().to_bits();
    reply.port = address.port();
}

fn accepts(bound: Ipv4Addr, to: Ipv4Addr) -> bool {
    bound.is_unspecified() || bound == to
}

fn overlap(a: Ipv4Addr, b: Ipv4Addr) -> bool {
    a.is_unspecified() || b.is_unspecified() || a == b
}

fn ecn(tos: u8) -> tcp::Ecn {
    match tos & 3 {
        0 => tcp::Ecn::NotEct,
        1 => tcp::Ecn::Ect1,
        2 => tcp::Ecn::Ect0,
        _ => tcp::Ecn::Ce,
    }
}

fn ecn_bits(ecn: tcp::Ecn) -> u8 {
    match ecn {
        tcp::Ecn::NotEct => 0,
        tcp::Ecn::Ect1 => 1,
        tcp::Ecn::Ect0 => 2,
        tcp::Ecn::Ce => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeId = NodeId(0);
    const TO: Ipv4Addr = Ipv4Addr::LOCALHOST;

    /// A socket of a program: the program's end, and a request about it.
    fn open(
        sockets: &mut Sockets,
        number: i32,
        local: SockType,
    ) -> (OwnedFd, impl Fn(i32, i32, u16) -> Message + use<>) {
        let (program, end) = socketpair(AddressFamily::Unix, local, None, SockFlag::empty()).unwrap();
        let inode = inode(&program);
        let request = move |kind, first, port| Message {
            inode,
            first,
            port,
            address: TO.to_bits(),
            ..Message::new(kind)
        };
        sockets.answer(NODE, request(kind::SOCKET, number, 0), Some(end), Instant::ZERO);
        (program, request)
    }

    fn send_all(program: &OwnedFd, bytes: &[u8]) {
        assert_eq!(send(program.as_raw_fd(), bytes, MsgFlags::empty()), Ok(bytes.len()));
    }

    #[test]
    fn a_failed_connection_keeps_its_error_and_no_descriptor() {
        let mut sockets = Sockets::new(1500);
        let (program, request) = open(&mut sockets, STREAM_TYPE, SockType::Stream);
        send_all(&program, &[0; 100]);
        let mut connect =
            |plug| sockets.answer(NODE, request(kind::CONNECT, plug, 9), None, Instant::ZERO).result;
        assert_eq!([connect(0), connect(100)], [0, 0]);
        assert_eq!(connect(0), Errno::EALREADY as i32);
        while sockets.advance(Instant::ZERO).unwrap() {}
        assert!(sockets.sockets[&0].end.is_none());
        assert_eq!(recv(program.as_raw_fd(), &mut [0], MsgFlags::MSG_DONTWAIT), Ok(0));
        let mut connect = || sockets.answer(NODE, request(kind::CONNECT, 0, 9), None, Instant::ZERO).result;
        assert_eq!([connect(), connect()], [Errno::ECONNREFUSED as i32, Errno::ECONNABORTED as i32]);
    }

    #[test]
    fn datagrams_are_sent_although_the_socket_was_closed_with_unread_ones() {
        let mut sockets = Sockets::new(1500);
        let (program, request) = open(&mut sockets, DATAGRAM_TYPE, SockType::SeqPacket);
        assert_eq!(sockets.answer(NODE, request(kind::BIND, 0, 7), None, Instant::ZERO).result, 0);
        let datagram =
            |to: Ipv4Addr| [&to.to_bits().to_ne_bytes()[..], &7_u16.to_ne_bytes(), b"..text"].concat();
        send_all(&program, &datagram(TO));
        while sockets.advance(Instant::ZERO).unwrap() {}
        send_all(&program, &datagram(NodeId(1).addr()));
        drop(program);
        while sockets.advance(Instant::ZERO).unwrap() {}
        assert!(sockets.poll_outgoing().is_some());
        assert!(sockets.sockets.is_empty());
    }
}
