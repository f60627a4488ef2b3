//! Detection of changes of the local address from which this host sends to a peer.

use core::net::IpAddr;

use multihop_core::{Duration, Instant};

/// The local address from which the system sends to a peer.
#[derive(Debug, Default)]
pub(super) struct LocalAddress {
    found: Option<IpAddr>,
    looked: Option<Instant>,
}

impl LocalAddress {
    /// Looks up the local address, unless it was looked up recently; returns true if it has changed.
    pub(super) fn has_changed(&mut self, now: Instant, look: impl FnOnce() -> Option<IpAddr>) -> bool {
        if self.looked.is_some_and(|looked| now < looked + PAUSE) {
            return false;
        }
        self.looked = Some(now);
        // Without a route to the peer there is no local address.
        let Some(found) = look() else { return false };
        self.found.replace(found).is_some_and(|before| before != found)
    }
}

/// Interval between two checks of the local addresses: each takes a few system calls.
const PAUSE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_noticed_once_also_after_a_time_without_an_address() {
        let mut local = LocalAddress::default();
        let [one, two] = [1, 2].map(|n| Some(IpAddr::from([10, 0, 0, n])));
        let looks = [
            (0, one),
            (200, one),
            (399, two),
            (400, two),
            (600, two),
            (800, None),
            (1000, two),
            (1200, None),
            (1400, one),
        ];
        let noticed =
            looks.map(|(ms, found)| local.has_changed(Instant::ZERO + Duration::from_millis(ms), || found));
        assert_eq!(noticed, [false, false, false, true, false, false, false, false, true]);
    }
}
