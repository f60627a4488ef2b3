//! Table of the interfaces of a node that has several, and of the flooded messages that it has forwarded.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Instant, Interface};

use super::duplicates::Duplicates;

/// The interfaces of a node that has several.
#[derive(Clone, Debug)]
pub struct OwnInterfaces {
    list: Vec<(Interface, Ipv4Addr)>,
    forwarded: Duplicates,
}

impl OwnInterfaces {
    /// Creates the table from the numbers and addresses of the interfaces; `None` if there are fewer than
    /// two.
    pub fn new(list: Vec<(Interface, Ipv4Addr)>) -> Option<Box<Self>> {
        (list.len() > 1).then(|| Box::new(Self { list, forwarded: Duplicates::default() }))
    }

    /// Numbers and addresses of the interfaces.
    pub fn list(&self) -> &[(Interface, Ipv4Addr)] {
        &self.list
    }

    /// Whether an address belongs to one of the interfaces.
    pub fn has(&self, address: Ipv4Addr) -> bool {
        self.list.iter().any(|(_, own)| *own == address)
    }

    /// The address of an interface.
    pub fn address(&self, interface: Interface) -> Option<Ipv4Addr> {
        self.list.iter().find(|(number, _)| *number == interface).map(|(_, address)| *address)
    }

    /// Whether a flooded message may be forwarded, because it was not forwarded before. The decision is
    /// remembered until `until`. A message first received from a node that has not chosen this node as a
    /// relay may still be forwarded when it arrives from one that has (RFC 3626 §3.4.1).
    // DEVIATION olsr-6: A message is forwarded once if any copy came from a selector, on any interface. In RFC 3626
    // (3.4.1) a message that came before over the same interface is not forwarded. Some nodes forward without need.
    pub fn may_forward(&mut self, now: Instant, originator: Ipv4Addr, sequence: u16, until: Instant) -> bool {
        self.forwarded.expire(now);
        self.forwarded.admit(originator, sequence, until)
    }
}
