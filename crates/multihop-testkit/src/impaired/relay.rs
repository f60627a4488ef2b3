//! A UDP relay that puts impaired links between clients and a target.

use std::collections::VecDeque;
use std::io;
use std::iter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use multihop_core::{Duration, Machine, Rng, earliest};
use multihop_linux::wait::wake_on_time;

use super::clock::WallClock;
use super::link::{Cut, ImpairedLink, LinkCounters, Settings};

/// Clients of a relay; a further one replaces the oldest.
const CLIENTS: usize = 64;
const LONGEST_DATAGRAM: usize = 65_535;

/// A UDP relay: clients send to its address, and their datagrams go to the target, each client from its own port
/// like behind a NAT, over its own link in each direction. Dropping it stops it.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<RelayShared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// State shared by the thread and the owner.
#[derive(Debug, Default)]
struct RelayShared {
    stop: AtomicBool,
    rebind: AtomicBool,
    silence: Mutex<Option<std::time::Duration>>,
    counters: Mutex<[LinkCounters; 2]>,
}

impl Relay {
    /// Starts a thread that relays datagrams between `listen` and `target`.
    pub fn start(listen: SocketAddr, target: SocketAddr, settings: Settings, seed: u64) -> io::Result<Self> {
        let front = UdpSocket::bind(listen)?;
        front.set_nonblocking(true)?;
        let address = front.local_addr()?;
        let shared = Arc::new(RelayShared::default());
        let clients = VecDeque::new();
        let mut state =
            RelayLoop { clock: WallClock::start(), front, target, settings, seed, clients, seen: 0 };
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name("relay".to_owned()).spawn(move || state.run(&theirs))?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// The address that clients send to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts all links from now on for this long.
    pub fn silence(&self, length: std::time::Duration) {
        *self.shared.silence.lock().expect("no thread panics while it holds the lock") = Some(length);
    }

    /// Gives every client a new port, like a NAT that has lost its bindings.
    pub fn rebind(&self) {
        self.shared.rebind.store(true, Ordering::Relaxed);
    }

    /// Counters of the datagrams towards the target, and of those back from it.
    pub fn counters(&self) -> [LinkCounters; 2] {
        *self.shared.counters.lock().expect("no thread panics while it holds the lock")
    }

    /// Waits until the relay ends, which happens only if a socket fails.
    pub fn join(mut self) -> io::Result<()> {
        self.thread.take().map_or(Ok(()), |thread| thread.join().expect("the relay does not panic"))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct RelayLoop {
    clock: WallClock,
    front: UdpSocket,
    target: SocketAddr,
    settings: Settings,
    seed: u64,
    clients: VecDeque<Client>,
    seen: u64,
}

/// A client, and its socket towards the target.
struct Client {
    address: SocketAddr,
    socket: UdpSocket,
    there: ImpairedLink,
    back: ImpairedLink,
}

impl RelayLoop {
    fn run(&mut self, shared: &RelayShared) -> io::Result<()> {
        wake_on_time();
        let mut buffer = vec![0; LONGEST_DATAGRAM];
        while !shared.stop.load(Ordering::Relaxed) {
            self.apply_requests(shared)?;
            self.receive(&mut buffer)?;
            self.deliver();
            *shared.counters.lock().expect("no thread panics while it holds the lock") = self.counters();
            let links = self.clients.iter().flat_map(|client| [&client.there, &client.back]);
            let next = links.map(ImpairedLink::poll_timeout).fold(None, earliest);
            let sockets: Vec<_> = self.sockets().collect();
            self.clock.wait(&sockets, next)?;
        }
        Ok(())
    }

    /// Applies the owner's requests.
    fn apply_requests(&mut self, shared: &RelayShared) -> io::Result<()> {
        if let Some(length) = shared.silence.lock().expect("no thread panics while it holds the lock").take()
        {
            let from = self.clock.now();
            let cut = Cut { from, until: from + Duration::from(length) };
            self.settings.cuts.push(cut);
            for link in self.clients.iter_mut().flat_map(|client| [&mut client.there, &mut client.back]) {
                link.cut(cut);
            }
        }
        if shared.rebind.swap(false, Ordering::Relaxed) {
            for client in &mut self.clients {
                client.socket = towards(self.target)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        while let Some((length, from)) = received(self.front.recv_from(buffer))? {
            let now = self.clock.now();
            self.client(from)?.there.handle(now, buffer[..length].to_vec());
        }
        for client in &mut self.clients {
            while let Some(length) = received(client.socket.recv(buffer))? {
                client.back.handle(self.clock.now(), buffer[..length].to_vec());
            }
        }
        Ok(())
    }

    fn client(&mut self, address: SocketAddr) -> io::Result<&mut Client> {
        let place = match self.clients.iter().position(|client| client.address == address) {
            Some(place) => place,
            None => self.add_client(address)?,
        };
        Ok(&mut self.clients[place])
    }

    fn add_client(&mut self, address: SocketAddr) -> io::Result<usize> {
        if self.clients.len() == CLIENTS {
            self.clients.pop_front();
        }
        let link =
            |purpose| ImpairedLink::new(self.settings.clone(), Rng::stream(self.seed, purpose, self.seen));
        let (there, back) = (link("relay/there"), link("relay/back"));
        self.clients.push_back(Client { address, socket: towards(self.target)?, there, back });
        self.seen += 1;
        Ok(self.clients.len() - 1)
    }

    /// Sends all packets that are due. Those that the kernel rejects are lost, like on a network.
    fn deliver(&mut self) {
        let now = self.clock.now();
        for client in &mut self.clients {
            while let Some(datagram) = client.there.poll_output(now) {
                let _ = client.socket.send(&datagram);
            }
            while let Some(datagram) = client.back.poll_output(now) {
                let _ = self.front.send_to(&datagram, client.address);
            }
        }
    }

    fn counters(&self) -> [LinkCounters; 2] {
        let mut sums = [LinkCounters::default(); 2];
        for client in &self.clients {
            sums[0].add(client.there.counters());
            sums[1].add(client.back.counters());
        }
        sums
    }

    fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        iter::once(self.front.as_fd()).chain(self.clients.iter().map(|client| client.socket.as_fd()))
    }
}

fn towards(target: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr =
        if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.set_nonblocking(true)?;
    socket.connect(target)?;
    Ok(socket)
}

/// A datagram if there is one. A relay ignores closed ports.
fn received<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(received) => Ok(Some(received)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(error),
    }
}
