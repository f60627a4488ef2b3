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
            // Packets of seen values may have arrived before the filter.
            let is_new = !found.contains(&value) && !self.seen.contains(&value);
            if is_new && found.len() < T::MAX {
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use multihop_linux::netns::Namespace;
    use nix::net::if_::if_nametoindex;

    use super::*;
    use crate::usage::Pair;

    #[test]
    fn packets_from_before_the_filter_are_not_reported_again() {
        let made = Namespace::new().and_then(|made| made.ip("link set lo up").map(|()| made));
        match made {
            Ok(namespace) => namespace.run(observe_twice).unwrap().unwrap(),
            Err(error) => println!("skipped: network namespaces need root and the command ip: {error}"),
        }
    }

    fn observe_twice() -> io::Result<()> {
        let now = Instant::ZERO;
        let mut observer = Observer::<Pair>::open()?;
        observer.set(now, vec![if_nametoindex("lo")?], ())?;
        let (socket, receiver) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("0.0.0.0:0")?);
        let port = receiver.local_addr()?.port();
        let [first, second] = [2, 3].map(|host| Ipv4Addr::new(127, 0, 0, host));
        socket.send_to(&[1], (first, port))?;
        assert_eq!(observer.take(now)?, [(Ipv4Addr::LOCALHOST, first)]);
        // The queue gets a packet that the next filter would have dropped.
        let seen = std::mem::take(&mut observer.seen);
        observer.attach(now)?;
        socket.send_to(&[1], (first, port))?;
        socket.send_to(&[1], (second, port))?;
        observer.seen = seen;
        assert_eq!(observer.take(now)?, [(Ipv4Addr::LOCALHOST, second)]);
        assert_eq!(observer.seen, [first, second].map(|to| (Ipv4Addr::LOCALHOST, to)));
        observer.handle_timeout(now + Pair::INTERVAL)?;
        socket.send_to(&[1], (first, port))?;
        assert_eq!(observer.take(now)?, [(Ipv4Addr::LOCALHOST, first)], "in the next interval");
        Ok(())
    }
}
