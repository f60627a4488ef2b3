//! Names of 32 bits for the addresses of IPv6 nodes, because the agent refers to nodes by 32 bits.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_core::{Duration, Instant};

use super::wire;

/// Names that messages and the agent have used recently.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    now: Instant,
    names: BTreeMap<Ipv6Addr, u32>,
    /// Address of each name, and the instant at which it was last used.
    addresses: BTreeMap<u32, (Ipv6Addr, Instant)>,
    /// The name that was given last.
    last: u32,
    swept: Instant,
}

impl Given {
    /// Sets the present time, and forgets names that were not used for [`MEMORY`].
    pub(super) fn advance(&mut self, now: Instant) {
        self.now = now;
        if now < self.swept + SWEEP {
            return;
        }
        self.swept = now;
        let names = &mut self.names;
        self.addresses.retain(|_, (address, used)| {
            let stays = now < *used + MEMORY;
            if !stays {
                names.remove(address);
            }
            stays
        });
    }

    /// Address with a name; `None` if the name is unknown.
    pub(super) fn find(&self, name: Ipv4Addr) -> Option<IpAddr> {
        self.addresses.get(&name.to_bits()).map(|(address, _)| (*address).into())
    }
}

impl wire::Names for Given {
    fn name(&mut self, address: IpAddr) -> Option<Ipv4Addr> {
        let IpAddr::V6(address) = address else { return None };
        if let Some(&name) = self.names.get(&address) {
            self.addresses.insert(name, (address, self.now));
            return Some(Ipv4Addr::from_bits(name));
        }
        if self.names.len() >= MAX_NAMES {
            return None;
        }
        // Names ascend, so that a name is given again long after the agent has forgotten it.
        loop {
            self.last = self.last.wrapping_add(1).max(1);
            if !self.addresses.contains_key(&self.last) {
                break;
            }
        }
        self.names.insert(address, self.last);
        self.addresses.insert(self.last, (address, self.now));
        Some(Ipv4Addr::from_bits(self.last))
    }

    fn address(&mut self, name: Ipv4Addr) -> Option<IpAddr> {
        let (address, used) = self.addresses.get_mut(&name.to_bits())?;
        *used = self.now;
        Some((*address).into())
    }

    fn is_ipv6(&self) -> bool {
        true
    }
}

/// Largest number of names, a limit of memory.
const MAX_NAMES: usize = 65_536;
/// Time for which an unused name is remembered. Routers repeat all information more often.
const MEMORY: Duration = Duration::from_secs(3600);
/// Time between two searches for unused names.
const SWEEP: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::wire::Names;
    use super::*;

    #[test]
    fn a_name_lasts_for_an_hour_after_its_last_use() {
        let address = |n| IpAddr::from(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n));
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut names = Given::default();
        let [one, two] = [1, 2].map(|n| names.name(address(n)).unwrap());
        assert_ne!(one, two);
        assert_eq!((names.name(address(1)), names.address(two)), (Some(one), Some(address(2))));
        names.advance(at(3000));
        assert_eq!(names.address(one), Some(address(1)));
        names.advance(at(3700));
        assert_eq!((names.find(one), names.find(two)), (Some(address(1)), None));
        assert_ne!(names.name(address(2)), Some(two));
        assert_eq!(names.name(IpAddr::from([10, 0, 0, 1])), None);
    }
}
