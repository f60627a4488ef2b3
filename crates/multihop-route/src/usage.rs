//! Observation of the routes that the kernel uses: the headers of the packets that it transmits.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use multihop_core::{Duration, Instant};
use multihop_wire::{aodv, udp};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use crate::filter::{
    ABSOLUTE, BYTE, ETHERTYPE_ALL, ETHERTYPE_IPV4, HALF, INDIRECT, JUMP_EQUAL, LOAD, LOAD_INDEX_OF_HEADER,
    MIN_JUMP, NOTHING, RETURN, ancillary, attach, from_interfaces, unless, word,
};

/// Observes one packet of each pair of hosts per tenth of a second. The kernel's filter drops further packets
/// of pairs that were seen, so that a fast flow costs no more than a slow one and hides no other.
#[derive(Debug)]
pub(crate) struct Usage {
    socket: Socket,
    interfaces: Vec<u32>,
    seen: Vec<Pair>,
    /// Instant at which pairs are reported again; `None` if none was seen, and the kernel had memory for the filter.
    again_at: Option<Instant>,
}

/// Source and destination of packets.
pub(crate) type Pair = (Ipv4Addr, Ipv4Addr);

impl Usage {
    /// Opens the packet socket, which sees nothing yet. Needs `CAP_NET_RAW`.
    pub(crate) fn open() -> io::Result<Self> {
        let all = Protocol::from(i32::from(ETHERTYPE_ALL.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM.nonblocking().cloexec(), Some(all))?;
        let mut usage = Self { socket, interfaces: Vec::new(), seen: Vec::new(), again_at: None };
        usage.attach(Instant::ZERO)?;
        // Packets that arrived before the filter was set are discarded.
        usage.drain(|_| ());
        Ok(usage)
    }

    /// Sets the interfaces whose packets are observed.
    pub(crate) fn set_interfaces(&mut self, now: Instant, interfaces: Vec<u32>) -> io::Result<()> {
        self.interfaces = interfaces;
        self.attach(now)
    }

    /// Takes the pairs of source and destination that exchanged packets, each pair once in a tenth of a
    /// second.
    pub(crate) fn take(&mut self, now: Instant) -> io::Result<Vec<Pair>> {
        let mut found = Vec::new();
        self.drain(|pair| {
            if !found.contains(&pair) && found.len() < MAX_PAIRS {
                found.push(pair);
            }
        });
        if !found.is_empty() {
            self.seen.extend(&found);
            self.again_at.get_or_insert(now + INTERVAL);
            self.attach(now)?;
        }
        Ok(found)
    }

    /// Deadline of the next call of [`look_again`](Self::look_again).
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.again_at
    }

    /// Forgets the pairs of this interval, so that they are reported again.
    pub(crate) fn look_again(&mut self, now: Instant) -> io::Result<()> {
        self.seen.clear();
        self.again_at = None;
        self.attach(now)
    }

    fn drain(&self, mut each: impl FnMut(Pair)) {
        let mut header = [0; HEADER];
        for _ in 0..TURN {
            match recv(self.socket.as_raw_fd(), &mut header, MsgFlags::MSG_DONTWAIT) {
                Ok(HEADER) => {
                    let address =
                        |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
                    each((address(12), address(16)));
                }
                Ok(_) | Err(Errno::EINTR) => {}
                // An interface that goes down causes an error, too.
                Err(_) => return,
            }
        }
    }

    /// Attaches the filter that drops pairs in `seen`. Without memory for the filter the kernel reports no pairs until the next interval.
    fn attach(&mut self, now: Instant) -> io::Result<()> {
        let program =
            if self.seen.len() < MAX_PAIRS { program(&self.interfaces, &self.seen) } else { vec![NOTHING] };
        if !attach(&self.socket, &program)? {
            self.again_at.get_or_insert(now + INTERVAL);
        }
        Ok(())
    }
}

impl AsFd for Usage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Filter that passes the headers of unicast IPv4 packets that leave over one of the interfaces, except for
/// the daemon's messages and the pairs in `seen`. The filter sees packets from the IP header on.
fn program(interfaces: &[u32], seen: &[Pair]) -> Vec<SockFilter> {
    let mut program = from_interfaces(interfaces);
    program.extend([ancillary(libc::SKF_AD_PROTOCOL), unless(ETHERTYPE_IPV4, 1), NOTHING]);
    // Multicast and broadcast packets are left out.
    program.extend([word(16), SockFilter::new(MIN_JUMP, 0, 1, 0xe000_0000), NOTHING]);
    // Messages of AODV are left out: UDP to its port, behind an IP header of any length.
    let port = aodv::PORT.into();
    program.extend([
        SockFilter::new(LOAD | BYTE | ABSOLUTE, 0, 0, 9),
        SockFilter::new(JUMP_EQUAL, 0, 4, udp::PROTOCOL.into()),
        SockFilter::new(LOAD_INDEX_OF_HEADER, 0, 0, 0),
        SockFilter::new(LOAD | HALF | INDIRECT, 0, 0, 2),
        SockFilter::new(JUMP_EQUAL, 0, 1, port),
        NOTHING,
    ]);
    for (source, destination) in seen {
        program.extend([
            word(12),
            SockFilter::new(JUMP_EQUAL, 0, 3, source.to_bits()),
            word(16),
            SockFilter::new(JUMP_EQUAL, 0, 1, destination.to_bits()),
            NOTHING,
        ]);
    }
    program.push(SockFilter::new(RETURN, 0, 0, KEPT));
    program
}

/// Bytes of a header without options.
const KEPT: u32 = 20;
const HEADER: usize = KEPT as usize;
const INTERVAL: Duration = Duration::from_millis(100);
/// Largest number of address pairs in an interval. A busy router forwards further pairs, which another interval shows.
/// The filter of so many pairs takes less than half of the memory that Debian 12 allows a socket (20 KiB).
const MAX_PAIRS: usize = 32;
/// Number of headers read at once.
const TURN: usize = 1024;
