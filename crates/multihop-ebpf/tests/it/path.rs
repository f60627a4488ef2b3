//! Two namespaces that are joined by a thread, which delays, queues and loses packets.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use multihop_linux::netns::Namespace;
use multihop_linux::netns::interface::{self, InterfaceSettings};
use multihop_linux::tun::Tun;

use crate::math::noise;

/// The trouble of data on its way; ACKs are only delayed.
#[derive(Clone, Copy)]
pub(crate) enum Trouble {
    /// One of 50 packets is lost.
    Losses,
    /// At times other flows have most of the link, and its queue overflows.
    Crowd,
}

/// A path from one namespace to another, which is removed when this value is dropped.
pub(crate) struct Path {
    pub(crate) sender: Namespace,
    pub(crate) receiver: Namespace,
    stop: Arc<AtomicBool>,
    relay: Option<JoinHandle<()>>,
}

impl Path {
    /// A path to the address `to`.
    pub(crate) fn new(from: IpAddr, to: IpAddr, trouble: Trouble) -> io::Result<Self> {
        let (sender, receiver) = (Namespace::new()?, Namespace::new()?);
        let (near, far) = (end(&sender, from)?, end(&receiver, to)?);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let relay = thread::spawn(move || {
            precede_other_programs();
            let mut ways = [Way::new(Some(trouble)), Way::new(None)];
            while !stopped.load(Ordering::Relaxed) {
                ways[0].carry(&near, &far);
                ways[1].carry(&far, &near);
                thread::sleep(Duration::from_micros(200));
            }
        });
        Ok(Self { sender, receiver, stop, relay: Some(relay) })
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(relay) = self.relay.take() {
            let _ = relay.join();
        }
    }
}

/// Gives this thread a real-time priority, so that a busy machine does not change the delays of the path. A machine that does
/// not permit it has longer delays.
fn precede_other_programs() {
    let thread = nix::unistd::gettid().to_string();
    let _ = Command::new("chrt").args(["--fifo", "--pid", "10", &thread]).status();
}

/// The interface to the path in a namespace.
fn end(namespace: &Namespace, address: IpAddr) -> io::Result<Tun> {
    namespace.run(|| {
        let tun = Tun::open("path0")?;
        interface::set_up(tun.name(), InterfaceSettings::default())?;
        interface::add_address(tun.name(), address, 24, None)?;
        Ok(tun)
    })?
}

/// One direction of a path.
struct Way {
    trouble: Option<Trouble>,
    began: Instant,
    /// When the link has sent everything in its queue.
    free: Instant,
    waiting: VecDeque<(Instant, Vec<u8>)>,
    state: u64,
}

impl Way {
    fn new(trouble: Option<Trouble>) -> Self {
        let now = Instant::now();
        Self { trouble, began: now, free: now, waiting: VecDeque::new(), state: 9 }
    }

    fn carry(&mut self, from: &Tun, to: &Tun) {
        let mut buffer = [0; 2000];
        let now = Instant::now();
        while let Ok(Some(length)) = from.receive(&mut buffer) {
            if let Some(due) = self.due(now, length) {
                self.waiting.push_back((due, buffer[..length].to_vec()));
            }
        }
        while let Some((_, packet)) = self.waiting.pop_front_if(|(due, _)| *due <= now) {
            to.send(&packet);
        }
    }

    /// When a packet arrives; `None` if it is lost.
    fn due(&mut self, now: Instant, length: usize) -> Option<Instant> {
        let Some(trouble) = self.trouble.filter(|_| length > SHORT) else { return Some(now + DELAY) };
        let phase = (now - self.began).as_millis() % 700;
        let service = match trouble {
            Trouble::Losses if noise(&mut self.state).is_multiple_of(50) => return None,
            Trouble::Crowd if phase < 140 => Duration::from_millis(6),
            _ => Duration::from_millis(1),
        };
        if self.free > now + QUEUE * service {
            return None;
        }
        self.free = self.free.max(now) + service;
        Some(self.free + DELAY)
    }
}

const DELAY: Duration = Duration::from_millis(5);
/// Packets that have room in the queue.
const QUEUE: u32 = 15;
/// Longest length of a packet without data.
const SHORT: usize = 200;
