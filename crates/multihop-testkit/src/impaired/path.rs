//! Two network namespaces with impaired links between them.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use multihop_core::{Machine, Rng, earliest};
use multihop_linux::netns::Namespace;
use multihop_linux::tun::Tun;
use multihop_linux::wait::wake_on_time;

use super::clock::WallClock;
use super::link::{ImpairedLink, LinkCounters, Settings};

const INTERFACE: &str = "mh0";
const LONGEST_PACKET: usize = 65_535;

/// Two namespaces and an emulated link between them that carries all their packets.
#[derive(Debug)]
pub struct Path {
    /// Namespace with the addresses 10.77.0.1 and fd77::1.
    pub near: Namespace,
    /// Namespace with the addresses 10.77.0.2 and fd77::2.
    pub far: Namespace,
    shared: Arc<PathShared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug, Default)]
struct PathShared {
    stop: AtomicBool,
    counters: Mutex<[LinkCounters; 2]>,
}

impl Path {
    /// Creates both namespaces and starts the thread that moves packets between them.
    pub fn start(settings: &Settings, mtu: u16, seed: u64) -> io::Result<Self> {
        let (near, far) = (Namespace::new()?, Namespace::new()?);
        let tuns = [interface(&near, 1, mtu)?, interface(&far, 2, mtu)?];
        let link = |purpose| ImpairedLink::new(settings.clone(), Rng::stream(seed, purpose, 0));
        let mut links = [link("path/there"), link("path/back")];
        let shared = Arc::new(PathShared::default());
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("path".to_owned())
            .spawn(move || carry(&tuns, &mut links, &theirs))?;
        Ok(Self { near, far, shared, thread: Some(thread) })
    }

    /// Counters of the packets from near to far, and from far to near.
    pub fn counters(&self) -> [LinkCounters; 2] {
        *self.shared.counters.lock().expect("no thread panics while it holds the lock")
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn interface(namespace: &Namespace, host: u8, mtu: u16) -> io::Result<Tun> {
    let tun = namespace.run(|| Tun::open(INTERFACE))??;
    namespace.ip(&format!("addr add 10.77.0.{host}/24 dev {INTERFACE}"))?;
    namespace.ip(&format!("link set {INTERFACE} mtu {mtu} up"))?;
    if mtu >= 1280 {
        namespace.ip(&format!("addr add fd77::{host}/64 dev {INTERFACE} nodad"))?;
    }
    Ok(tun)
}

fn carry(tuns: &[Tun; 2], links: &mut [ImpairedLink; 2], shared: &PathShared) -> io::Result<()> {
    wake_on_time();
    let clock = WallClock::start();
    let mut buffer = vec![0; LONGEST_PACKET];
    while !shared.stop.load(Ordering::Relaxed) {
        for (from, link) in links.iter_mut().enumerate() {
            while let Some(length) = tuns[from].receive(&mut buffer)? {
                link.handle(clock.now(), buffer[..length].to_vec());
            }
            while let Some(packet) = link.poll_output(clock.now()) {
                tuns[1 - from].send(&packet);
            }
        }
        *shared.counters.lock().expect("no thread panics while it holds the lock") =
            [links[0].counters(), links[1].counters()];
        let next = earliest(links[0].poll_timeout(), links[1].poll_timeout());
        clock.wait(&[tuns[0].as_fd(), tuns[1].as_fd()], next)?;
    }
    Ok(())
}
