//! Table of a server's connections: their number and addresses, and the choice of a connection to close for a
//! new one.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bounds of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The time for a request to arrive completely.
    pub(crate) request: Duration,
    /// The time for an answer to leave completely.
    pub(crate) answer: Duration,
    /// Largest number of open connections, from all addresses together.
    pub(super) max_connections: usize,
    /// Largest number of connections from one IPv4 address, or from one /64 of IPv6.
    pub(super) max_per_address: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            max_connections: 64,
            max_per_address: 16,
        }
    }
}

/// The open connections of a server.
///
/// A new connection is always accepted. If its address has `max_per_address` connections, it replaces the oldest one of
/// these; otherwise, if all places are taken, it replaces the oldest one of the address with the most connections.
/// Connections whose request is incomplete are replaced first.
pub(crate) struct Clients {
    limits: Limits,
    /// Open connections, in the order of their arrival.
    open: Mutex<Vec<Client>>,
    /// Threads that serve connections, of which some may have been replaced.
    threads: AtomicUsize,
}

struct Client {
    stream: Arc<TcpStream>,
    address: IpAddr,
    is_answering: bool,
}

/// Entry of one open connection, removed when this value is dropped.
pub(super) struct Place {
    clients: Arc<Clients>,
    stream: Arc<TcpStream>,
}

impl Clients {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, open: Mutex::default(), threads: AtomicUsize::new(0) }
    }

    /// Whether there is no connection.
    pub(crate) fn is_empty(&self) -> bool {
        self.threads.load(Ordering::Acquire) == 0
    }

    /// Gives a new connection its place; `None` if too many replaced connections still have a thread.
    pub(super) fn admit(self: &Arc<Self>, stream: &TcpStream) -> io::Result<Option<Place>> {
        let address = prefix(stream.peer_addr()?.ip());
        let stream = Arc::new(stream.try_clone()?);
        if self.threads.load(Ordering::Acquire) >= 2 * self.limits.max_connections {
            return Ok(None);
        }
        let mut open = self.open();
        if let Some(crowded) = self.crowded(&open, address) {
            displace(&mut open, crowded);
        }
        open.push(Client { stream: Arc::clone(&stream), address, is_answering: false });
        self.threads.fetch_add(1, Ordering::AcqRel);
        drop(open);
        Ok(Some(Place { clients: Arc::clone(self), stream }))
    }

    /// Address whose oldest connection must be closed to make room for a new one of `address`; `None` if
    /// there is room.
    fn crowded(&self, open: &[Client], address: IpAddr) -> Option<IpAddr> {
        let mut counts = BTreeMap::<_, usize>::new();
        for client in open {
            *counts.entry(client.address).or_default() += 1;
        }
        if counts.get(&address).is_some_and(|count| *count >= self.limits.max_per_address) {
            return Some(address);
        }
        let is_full = open.len() >= self.limits.max_connections;
        counts.into_iter().max_by_key(|(_, count)| *count).filter(|_| is_full).map(|(crowded, _)| crowded)
    }

    fn open(&self) -> MutexGuard<'_, Vec<Client>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the oldest connection of an address, preferably one whose request is incomplete.
fn displace(open: &mut Vec<Client>, address: IpAddr) {
    let of_address = |client: &Client| client.address == address;
    let oldest = open.iter().position(|client| of_address(client) && !client.is_answering);
    if let Some(oldest) = oldest.or_else(|| open.iter().position(of_address)) {
        // The thread of the displaced client ends with its next read or write.
        let _ = open.remove(oldest).stream.shutdown(Shutdown::Both);
    }
}

/// Bits of an address that identify one client: all bits under IPv4, 64 under IPv6, because one host may use all
/// addresses of a /64.
fn prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

impl Place {
    pub(super) fn limits(&self) -> Limits {
        self.clients.limits
    }

    /// Records that the request is complete, so that the connection counts as answering.
    pub(super) fn set_answering(&self) {
        let mut open = self.clients.open();
        if let Some(client) = open.iter_mut().find(|client| Arc::ptr_eq(&client.stream, &self.stream)) {
            client.is_answering = true;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clients.open().retain(|client| !Arc::ptr_eq(&client.stream, &self.stream));
        self.clients.threads.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_has_one_prefix() {
        let same = |a: &str, b: &str| prefix(a.parse().unwrap()) == prefix(b.parse().unwrap());
        assert!(same("fd00::1", "fd00::ffff:2"));
        assert!(!same("fd00::1", "fd00:0:0:1::1"));
        assert!(same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("10.0.0.1", "10.0.0.2"));
    }
}
