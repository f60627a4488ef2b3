//! Observation of the packets that this host transmits, by their headers.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use multihop_core::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use crate::filter::{ETHERTYPE_ALL, NOTHING, attach};

/// Property of packets that an [`Observer`] reports, such as the flow to which a packet belongs.
pub(crate) trait Observed: Copy + Debug + PartialEq {
    /// Restriction to some packets on the observed interfaces.
    type Scope: Debug + Default;
    /// Time after which a value is reported again.
    const INTERVAL: Duration;
    /// Largest number of values in an interval. The filter of so many values takes less than half of the memory that
    /// Debian 12 allows a socket (20 KiB).
    const MAX: usize;

    /// Reads the value of a packet that the filter passes.
    fn parse(packet: &[u8]) -> Option<Self>;

    /// Filter that passes the headers of packets that leave over one of the interfaces, except for those with a value in
    /// `seen`. The filter sees packets from the IP header on.
    fn program(interfaces: &[u32], scope: &Self::Scope, seen: &[Self]) -> Vec<SockFilter>;
}

/// Observes one packet of each value per interval. The kernel's filter drops further packets of values that were seen, so that
/// a fast flow costs no more than a slow one and hides no other.
#[derive(Debug)]
pub(crate) struct Observer<T: Observed> {
    socket: Socket,
    interfaces: Vec<u32>,
    scope: T::Scope,
    seen: Vec<T>,
    /// Instant at which values are reported again; `None` if none was seen, and the kernel had memory for the filter.
    again_at: Option<Instant>,
}

impl<T: Observed> Observer<T> {
    /// Opens the packet socket, which sees nothing yet. Needs `CAP_NET_RAW`.
    pub(crate) fn open() -> io::Result<Self> {
        let all = Protocol::from(i32::from(ETHERTYPE_ALL.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM.nonblocking().cloexec(), Some(all))?;
        let (interfaces, seen) = (Vec::new(), Vec::new());
        let mut observer = Self { socket, interfaces, scope: T::Scope::default(), seen, again_at: None };
        observer.attach(Instant::ZERO)?;
        // Packets that arrived before the filter was set are discarded.
        observer.drain(|_| ());
        Ok(observer)
    }

    /// Sets the interfaces whose packets are observed, and the observed packets.
    pub(crate) fn set(&mut self, now: Instant, interfaces: Vec<u32>, scope: T::Scope) -> io::Result<()> {
        (self.interfaces, self.scope) = (interfaces, scope);
        self.attach(now)
    }

    /// Takes the values of packets that have left, each value once in an interval.
    pub(crate) fn take(&mut self, now: Instant) -> io::Result<Vec<T>> {
        let mut found = Vec::new();
        self.drain(|value| {
            if !found.contains(&value) && found.len() < T::MAX {
                found.push(value);
            }
        });
        if !found.is_empty() {
            self.seen.extend(&found);
            self.again_at.get_or_insert(now + T::INTERVAL);
            self.attach(now)?;
        }
        Ok(found)
    }

    /// Instant at which [`handle_timeout`](Self::handle_timeout) must be called.
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.again_at
    }

    /// Forgets the values of an interval that is over, so that they are reported again.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> io::Result<()> {
        if self.again_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        self.seen.clear();
        self.again_at = None;
        self.attach(now)
    }

    fn drain(&self, mut each: impl FnMut(T)) {
        let mut header = [0; LONGEST];
        for _ in 0..TURN {
            match recv(self.socket.as_raw_fd(), &mut header, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => T::parse(&header[..length]).into_iter().for_each(&mut each),
                Err(Errno::EINTR) => {}
                // An interface that goes down causes an error, too.
                Err(_) => return,
            }
        }
    }

    /// Attaches the filter that drops values in `seen`. Without memory for the filter the kernel reports nothing until the next
    /// interval.
    fn attach(&mut self, now: Instant) -> io::Result<()> {
        let is_full = self.seen.len() >= T::MAX;
        let program =
            if is_full { vec![NOTHING] } else { T::program(&self.interfaces, &self.scope, &self.seen) };
        if !attach(&self.socket, &program)? {
            self.again_at.get_or_insert(now + T::INTERVAL);
        }
        Ok(())
    }
}

impl<T: Observed> AsFd for Observer<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Number of headers read at once.
const TURN: usize = 1024;
/// Bytes of the longest header that a filter passes.
const LONGEST: usize = 512;
