//! Permits shared by many peers: each peer gets its share, whatever the number of connections of another
//! peer.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use multihop_net::PublicKey;
use tokio::sync::oneshot;

/// Identity of a connection's peer, for fair sharing.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Peer {
    /// The peer that owns this key.
    Key([u8; 32]),
    /// A host with a token or without authentication; under IPv6 a /64, because a host owns all of its addresses.
    Host(IpAddr),
}

impl Peer {
    pub(super) fn new(key: Option<PublicKey>, address: IpAddr) -> Self {
        match (key, address.to_canonical()) {
            (Some(key), _) => Self::Key(*key.as_bytes()),
            (None, IpAddr::V6(ip)) => Self::Host(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into()),
            (None, ip) => Self::Host(ip),
        }
    }
}

/// A fixed number of permits. A peer may hold fewer permits than remain for others. The peer with the fewest
/// permits is served first.
#[derive(Debug)]
pub(super) struct Turns(Mutex<State>);

#[derive(Debug)]
struct State {
    free: usize,
    /// Number of permits that each peer holds.
    held: BTreeMap<Peer, usize>,
    waiting: VecDeque<(Peer, oneshot::Sender<()>)>,
}

/// A permit, which returns when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Arc<Turns>,
    peer: Peer,
}

/// A place in the queue. A permit that has been granted and was not taken is returned.
struct Wait {
    granted: oneshot::Receiver<()>,
    turns: Arc<Turns>,
    peer: Peer,
}

impl Turns {
    pub(super) fn new(permits: usize) -> Arc<Self> {
        let state = State { free: permits, held: BTreeMap::new(), waiting: VecDeque::new() };
        Arc::new(Self(Mutex::new(state)))
    }

    /// Waits for a permit.
    pub(super) async fn take(self: &Arc<Self>, peer: Peer) -> Turn {
        let mut wait = Wait { granted: self.enter(peer), turns: Arc::clone(self), peer };
        // The queue outlives all waiting tasks.
        let _ = (&mut wait.granted).await;
        Turn { turns: Arc::clone(self), peer }
    }

    /// Waits for a permit in a thread that may block.
    pub(super) fn take_blocking(self: &Arc<Self>, peer: Peer) -> Turn {
        let _ = self.enter(peer).blocking_recv();
        Turn { turns: Arc::clone(self), peer }
    }

    fn enter(&self, peer: Peer) -> oneshot::Receiver<()> {
        let (grant, granted) = oneshot::channel();
        let mut state = self.lock();
        state.waiting.push_back((peer, grant));
        state.serve();
        granted
    }

    fn release(&self, peer: Peer) {
        let mut state = self.lock();
        state.free += 1;
        if let Some(held) = state.held.get_mut(&peer) {
            *held -= 1;
            if *held == 0 {
                state.held.remove(&peer);
            }
        }
        state.serve();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Grants permits while a waiting peer may have one.
    fn serve(&mut self) {
        self.waiting.retain(|(_, grant)| !grant.is_closed());
        loop {
            let held = |peer: &Peer| self.held.get(peer).copied().unwrap_or(0);
            let places = self.waiting.iter().enumerate().map(|(place, (peer, _))| (held(peer), place));
            let Some((held, place)) = places.min().filter(|(held, _)| *held < self.free) else { return };
            let Some((peer, grant)) = self.waiting.remove(place) else { return };
            if grant.send(()).is_ok() {
                self.free -= 1;
                self.held.insert(peer, held + 1);
            }
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.granted.close();
        if self.granted.try_recv().is_ok() {
            self.turns.release(self.peer);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.release(self.peer);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn host(n: u8) -> Peer {
        Peer::new(None, [10, 0, 0, n].into())
    }

    /// The permit, if it is available at once.
    fn at_once(turns: &Arc<Turns>, peer: Peer) -> Option<Turn> {
        match pin!(turns.take(peer)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_peer_leaves_permits_to_others() {
        let turns = Turns::new(16);
        let mut held = Vec::new();
        for (peer, expected) in [(1, 8), (2, 4), (3, 2), (4, 1), (5, 1), (6, 0)] {
            let before = held.len();
            held.extend(std::iter::from_fn(|| at_once(&turns, host(peer))));
            assert_eq!(held.len() - before, expected, "peer {peer}");
        }
        drop(held);
        assert_eq!(std::iter::from_fn(|| at_once(&turns, host(7))).collect::<Vec<_>>().len(), 8);
    }

    #[test]
    fn a_single_permit_goes_round() {
        let turns = Turns::new(1);
        let held = at_once(&turns, host(1)).unwrap();
        assert!(at_once(&turns, host(1)).is_none() && at_once(&turns, host(2)).is_none());
        drop(held);
        assert!(at_once(&turns, host(2)).is_some());
    }

    #[test]
    fn whoever_holds_the_fewest_is_served_first() {
        let turns = Turns::new(2);
        let first = at_once(&turns, host(1)).unwrap();
        let second = at_once(&turns, host(2)).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let mut again = Box::pin(turns.take(host(1)));
        let mut gone = Box::pin(turns.take(host(3)));
        let mut other = Box::pin(turns.take(host(4)));
        assert!(again.as_mut().poll(&mut context).is_pending());
        assert!(gone.as_mut().poll(&mut context).is_pending());
        assert!(other.as_mut().poll(&mut context).is_pending());
        // A permit that was granted but not taken goes to the next peer.
        drop(second);
        drop(gone);
        let Poll::Ready(other) = other.as_mut().poll(&mut context) else { panic!("it waits") };
        assert!(again.as_mut().poll(&mut context).is_pending());
        drop((first, other));
        assert!(again.as_mut().poll(&mut context).is_ready());
    }

    #[test]
    fn a_host_has_one_name() {
        let of = |text: &str| Peer::new(None, text.parse().unwrap());
        assert_eq!(of("10.0.0.1"), of("::ffff:10.0.0.1"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
