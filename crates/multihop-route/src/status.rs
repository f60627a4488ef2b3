//! Status of a running daemon: one JSON document for each connection to its socket.
//!
//! The socket has an abstract name. Such names leave no file and belong to the network namespace, so that a
//! namespace has at most one daemon of each family.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::delay::Radio;
use crate::links::QueueStatus;
use crate::prefix::Family;
use crate::router::{Counters, OnDemandCounts, Reason};

/// The abstract name of the socket.
pub const fn control(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "multihop-route",
        Family::Ipv6 => "multihop-route-ipv6",
    }
}

/// The state of a daemon.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Name of the routing protocol.
    pub protocol: &'static str,
    /// The address by which other nodes know this host.
    pub main_address: Option<IpAddr>,
    /// Time since the start of the agent, in seconds.
    pub seconds: f64,
    /// The interfaces of the configuration.
    pub interfaces: Vec<InterfaceStatus>,
    /// All neighbours that were heard in the last minute.
    pub neighbours: Vec<NeighbourStatus>,
    /// Routes to other hosts, by destination.
    pub routes: BTreeMap<String, RouteStatus>,
    /// Flows with a reserved path, under apdr-pr.
    pub reserved: Vec<ReservedStatus>,
    /// Routes in the kernel's tables.
    pub installed: usize,
    /// Number of changes of the kernel's tables, and number of changes that the kernel refused.
    pub kernel_changes: [u64; 2],
    /// Number of flooded messages for which the tables had no room.
    pub refused: u64,
    /// Number of times that the next hop to a destination was replaced by another.
    pub route_changes: u64,
    /// Number of returns to a next hop that had been left less than 10 s before.
    pub oscillations: u64,
    /// Numbers of datagrams received, sent and refused.
    pub datagrams: Counters,
    /// Senders whose datagrams were refused, with the reason and the time of the last one.
    pub refusals: Vec<RefusalStatus>,
    /// Message counters of the agent, by protocol.
    pub messages: Messages,
}

/// Counters of an agent.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Messages {
    /// Counters of OLSR's messages.
    Olsr(MessageCounts),
    /// Counters of AODV's messages and of waiting packets.
    Aodv(OnDemandStatus),
    /// Counters of a registered protocol, by their names.
    Extension(BTreeMap<&'static str, u64>),
}

/// Status of AODV: messages, and packets that had no route.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OnDemandStatus {
    /// Counters since the start of the agent.
    #[serde(flatten)]
    pub counts: OnDemandCounts,
    /// Packets that wait for routes.
    pub waiting: usize,
}

/// An interface of the configuration.
#[derive(Clone, Debug, Serialize)]
pub struct InterfaceStatus {
    /// Name of the interface.
    pub name: String,
    /// Address of the interface; `None` while it is down or missing.
    pub address: Option<IpAddr>,
    /// Queue of the interface, if it has one and routes are chosen by delay.
    pub queue: Option<QueueStatus>,
    /// Share of time for which the channel is busy, if a Wi-Fi card reports it and routes are chosen by
    /// delay.
    pub channel_busy: Option<f64>,
}

/// Status of one interface of a neighbour, and of the link to it.
#[derive(Clone, Debug, Serialize)]
pub struct NeighbourStatus {
    /// Address of the neighbour's interface.
    pub address: IpAddr,
    /// The neighbour's main address.
    pub main_address: IpAddr,
    /// The name of this host's interface.
    pub interface: String,
    /// Time since the neighbour was last heard, in seconds.
    pub heard_ago: f64,
    /// Share of the neighbour's last packets, at most 32, that arrived; `None` under AODV, whose packets have
    /// no numbers.
    pub received: Option<f64>,
    /// Whether the neighbour hears this host, too.
    pub symmetric: bool,
    /// Whether the neighbour is a multipoint relay of this host.
    pub relay: bool,
    /// Whether this host is a multipoint relay of the neighbour.
    pub selector: bool,
    /// Delay of the link to the neighbour; `None` if routes are not chosen by delay.
    pub delay: Option<DelayStatus>,
    /// Transmissions of a Wi-Fi card to the neighbour; `None` unless routes are chosen by delay.
    pub radio: Option<Radio>,
    /// Cost of the link to the neighbour, in the unit of the protocol; `None` if the protocol has no costs,
    /// or the link is not used.
    pub cost: Option<u32>,
}

/// Parts of the delay of a link, s. A part is `None` if nothing measures it; the cost of the link then
/// contains 10 ms for HELLOs and zero for other parts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DelayStatus {
    /// Half of the round trip of HELLOs, averaged.
    pub hellos: Option<f64>,
    /// Waiting time of data packets in those queues of this host that HELLOs pass without waiting.
    pub queue: Option<f64>,
    /// Time that a Wi-Fi card needs for all transmissions of a packet.
    pub transmission: Option<f64>,
}

/// Refused datagrams of one sender with the same reason.
#[derive(Clone, Debug, Serialize)]
pub struct RefusalStatus {
    /// Address from which the refused datagrams came.
    pub address: IpAddr,
    /// Reason why the datagrams were not used.
    pub reason: Reason,
    /// Number of refused datagrams.
    pub count: u64,
    /// Time since the last refused datagram, in seconds.
    pub last_ago: f64,
}

/// Status of one route: its next hop and its length.
#[derive(Clone, Debug, Serialize)]
pub struct RouteStatus {
    /// The next hop; `None` if the destination is a neighbour.
    pub via: Option<IpAddr>,
    /// The name of the interface.
    pub interface: String,
    /// Hops to the destination, or to its gateway; `None` if the protocol does not count them.
    pub hops: Option<u8>,
    /// Cost of the path if routes are chosen by cost, in microseconds, thousandths of transmissions, or the protocol's unit.
    pub cost: Option<u64>,
    /// Whether the kernel has acknowledged the route. A new route waits up to 50 ms for others that are installed together with it.
    pub installed: bool,
}

/// A flow with a reserved path.
#[derive(Clone, Debug, Serialize)]
pub struct ReservedStatus {
    /// Protocol, source and destination of the flow, such as `tcp 10.0.0.1:40000 > 10.0.0.5:80`.
    pub flow: String,
    /// Main addresses of the routers of the path, from the first hop to the last router.
    pub routers: Vec<Ipv4Addr>,
    /// Time since a packet of the flow was last observed, in seconds.
    pub used_ago: f64,
}

/// Messages of an OLSR agent.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MessageCounts {
    /// Number of HELLOs originated.
    pub hellos: u64,
    /// Number of TCs originated.
    pub tcs: u64,
    /// Messages of other nodes forwarded.
    pub forwarded: u64,
    /// Number of flooded messages received more than once.
    pub duplicates: u64,
    /// Number of flooded messages from nodes that are not symmetric neighbours.
    pub strangers: u64,
}

/// Requests the status of the daemon of a family in this network namespace; returns its JSON document.
pub fn status(family: Family) -> io::Result<String> {
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(control(family))?)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Server of the daemon's status.
#[derive(Debug)]
pub(crate) struct Reporter {
    listener: UnixListener,
    /// Reference counter: one clone exists for each answer that is being written.
    busy: Arc<()>,
}

impl Reporter {
    /// Binds the socket's name; `None` if another daemon has it. The name of a killed daemon stays in use
    /// until the kernel has ended the process.
    pub(crate) fn open(family: Family) -> io::Result<Option<Self>> {
        let name = SocketAddr::from_abstract_name(control(family))?;
        let begin = Instant::now();
        loop {
            match UnixListener::bind_addr(&name) {
                Ok(listener) => {
                    listener.set_nonblocking(true)?;
                    return Ok(Some(Self { listener, busy: Arc::default() }));
                }
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Err(error),
                Err(_) if begin.elapsed() > MAX_END => return Ok(None),
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Sends the status to the next connection. A slow reader delays only itself.
    pub(crate) fn answer(&self, status: impl FnOnce() -> Status) {
        let Ok((mut stream, _)) = self.listener.accept() else { return };
        if Arc::strong_count(&self.busy) > MAX_READERS {
            return;
        }
        let text = serde_json::to_string(&status()).expect("a status is JSON");
        let busy = Arc::clone(&self.busy);
        thread::spawn(move || {
            let _busy = busy;
            // The reader may have closed the connection.
            let _ = stream.set_nonblocking(false);
            let _ = stream.set_write_timeout(Some(PATIENCE));
            let _ = writeln!(stream, "{text}");
        });
    }
}

impl AsFd for Reporter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Time within which the kernel ends a daemon that was killed.
const MAX_END: Duration = Duration::from_secs(1);
/// Largest number of answers that are written at the same time.
const MAX_READERS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(5);
