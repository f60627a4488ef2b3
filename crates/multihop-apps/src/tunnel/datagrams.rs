//! UDP through a tunnel: the datagrams of one SOCKS5 client (RFC 1928, section 7) on one TPA connection.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpStream, UdpSocket};

use super::address::Address;
use super::gateway_stream::GatewayStream;
use super::request::{message, read_message};
use super::rules::Rule;
use super::splice::Reset;
use super::targets::resolve;

/// Carries the datagrams of a client until it closes its TCP connection. `socket` is for the client only.
pub(super) async fn associate(
    mut near: TcpStream,
    socket: UdpSocket,
    far: GatewayStream,
) -> io::Result<(u64, u64)> {
    let host = near.peer_addr()?.ip();
    let client = Mutex::new(None);
    let (mut reader, mut writer) = split(far);
    let up = async {
        let mut buffer = vec![0; LONGEST];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await?;
            // A fragment is dropped, as by most servers.
            if let (true, Some(([_, _, 0], body))) = (from.ip() == host, buffer[..length].split_first_chunk())
            {
                *client.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
                writer.write_all(&message(&[body])).await?;
            }
        }
    };
    let down = async {
        let mut buffer = vec![0; LONGEST];
        loop {
            let body = read_message(&mut reader, &mut buffer).await?;
            let to = *client.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(to) = to {
                // UDP may lose datagrams.
                let _ = socket.send_to(&[&[0; 3], &*body].concat(), to).await;
            }
        }
    };
    let closed = async {
        let mut scrap = [0; 64];
        while near.read(&mut scrap).await? > 0 {}
        Ok((0, 0))
    };
    tokio::select! {
        closed = closed => closed,
        lost = up => lost,
        lost = down => lost,
    }
}

/// Runs the gateway's end: sends the datagrams to their targets, and returns the answers.
pub(super) async fn relay(near: impl Reset, rules: &[Rule]) -> io::Result<(u64, u64)> {
    let sockets = Sockets::open().await?;
    let (mut reader, mut writer) = split(near);
    let up = async {
        let mut buffer = vec![0; LONGEST];
        loop {
            let body = read_message(&mut reader, &mut buffer).await?;
            sockets.send(body, rules).await?;
        }
    };
    let down = async {
        let [mut four, mut six] = [(); 2].map(|()| vec![0; LONGEST]);
        loop {
            let (length, from, buffer) = tokio::select! {
                received = receive(sockets.four.as_ref(), &mut four) => (received.0, received.1, &four),
                received = receive(sockets.six.as_ref(), &mut six) => (received.0, received.1, &six),
            };
            if sockets.is_target(from) {
                answer(&mut writer, from, &buffer[..length]).await?;
            }
        }
    };
    tokio::select! {
        lost = up => lost,
        lost = down => lost,
    }
}

async fn answer(writer: &mut (impl AsyncWrite + Unpin), from: SocketAddr, data: &[u8]) -> io::Result<()> {
    let mut head = Vec::new();
    Address::from_addr(from).emit(&mut head);
    // Longer ones cannot be carried.
    if head.len() + data.len() > LONGEST {
        return Ok(());
    }
    writer.write_all(&message(&[&head, data])).await
}

/// The next datagram; errors are reports about datagrams that were sent.
async fn receive(socket: Option<&UdpSocket>, buffer: &mut [u8]) -> (usize, SocketAddr) {
    let Some(socket) = socket else { return std::future::pending().await };
    loop {
        match socket.recv_from(buffer).await {
            Ok((length, from)) => return (length, SocketAddr::new(from.ip().to_canonical(), from.port())),
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// The sockets of one client at the gateway.
struct Sockets {
    four: Option<UdpSocket>,
    six: Option<UdpSocket>,
    /// Targets to which the near end has sent datagrams: only answers of these targets are forwarded.
    targets: Mutex<BTreeSet<SocketAddr>>,
    /// The allowed address of each name; `None` if there is none.
    known: Mutex<BTreeMap<String, Option<SocketAddr>>>,
}

impl Sockets {
    async fn open() -> io::Result<Self> {
        let four = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await;
        let six = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).await.ok();
        let four = if six.is_some() { four.ok() } else { Some(four?) };
        Ok(Self { four, six, targets: Mutex::default(), known: Mutex::default() })
    }

    /// Sends a datagram to its target if the rules allow it; otherwise drops it, as a firewall does.
    async fn send(&self, body: &[u8], rules: &[Rule]) -> io::Result<()> {
        let mut data = body;
        // The end of the datagram is an error as well.
        let Ok(Ok(wanted)) = Address::read(&mut data).await else { return Ok(()) };
        let Some(to) = self.target(&wanted, rules).await else { return Ok(()) };
        if let Some(socket) = if to.is_ipv4() { &self.four } else { &self.six } {
            self.add_target(to);
            // UDP may lose datagrams.
            let _ = socket.send_to(data, to).await;
        }
        Ok(())
    }

    async fn target(&self, wanted: &Address, rules: &[Rule]) -> Option<SocketAddr> {
        let name = wanted.to_string();
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&name) {
            return *known;
        }
        let found = resolve(wanted, rules).await;
        if let Err(refusal) = &found {
            tracing::info!(%wanted, "datagrams are dropped: {refusal}");
        }
        let found = found.ok().and_then(|found| found.first().copied());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TARGETS {
            known.clear();
        }
        known.insert(name, found);
        found
    }

    fn add_target(&self, to: SocketAddr) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if targets.len() >= TARGETS {
            targets.clear();
        }
        targets.insert(to);
    }

    fn is_target(&self, from: SocketAddr) -> bool {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner).contains(&from)
    }
}

/// Longest message with a datagram, bytes.
const LONGEST: usize = u16::MAX as usize;
/// Number of targets of one client that are remembered.
const TARGETS: usize = 1024;
