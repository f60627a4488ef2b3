//! Interfaces of this thread's network namespace, set up by rtnetlink messages.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use crate::netlink::{Request, family};
use nix::libc;
use nix::net::if_::if_nametoindex;

/// Settings of an interface that are changed when it is set up; `None` keeps the present one.
#[derive(Clone, Copy, Debug, Default)]
pub struct InterfaceSettings {
    /// Longest IP packet of the interface, bytes.
    pub mtu: Option<u16>,
    /// MAC address of the interface.
    pub mac: Option<[u8; 6]>,
    /// Packets that may wait in the kernel.
    pub queue: Option<u32>,
}

/// Sets an interface up.
pub fn set_up(interface: &str, link: InterfaceSettings) -> io::Result<()> {
    let up = libc::IFF_UP.cast_unsigned();
    let mut message = change(libc::RTM_NEWLINK);
    // struct ifinfomsg: family, type, index, flags, which flags change.
    message.bytes(&[0; 4]).u32(if_nametoindex(interface)?).u32(up).u32(up);
    if let Some(mtu) = link.mtu {
        message.attribute(libc::IFLA_MTU, &u32::from(mtu).to_ne_bytes());
    }
    if let Some(mac) = link.mac {
        message.attribute(libc::IFLA_ADDRESS, &mac);
    }
    if let Some(queue) = link.queue {
        message.attribute(libc::IFLA_TXQLEN, &queue.to_ne_bytes());
    }
    message.transact()
}

/// Gives an interface an address with a prefix of this length; of IPv4, with the address for broadcasts. An address of
/// IPv6 can be used at once, without a search for a duplicate.
pub fn add_address(
    interface: &str,
    address: IpAddr,
    prefix: u8,
    broadcast: Option<Ipv4Addr>,
) -> io::Result<()> {
    let mut message = change(libc::RTM_NEWADDR);
    let flags = u8::try_from(libc::IFA_F_NODAD).expect("a flag of the first byte");
    // struct ifaddrmsg: family, length of the prefix, flags, scope, index.
    message.bytes(&[family(address), prefix, flags, libc::RT_SCOPE_UNIVERSE]);
    message.u32(if_nametoindex(interface)?);
    for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
        message.address(kind, address);
    }
    if let Some(broadcast) = broadcast {
        message.address(libc::IFA_BROADCAST, broadcast.into());
    }
    message.transact()
}

/// Adds a default route through an interface, for the address family of `unspecified` (0.0.0.0 or ::).
pub fn add_default_route(interface: &str, unspecified: IpAddr) -> io::Result<()> {
    let mut message = change(libc::RTM_NEWROUTE);
    let (table, scope) = (libc::RT_TABLE_MAIN, libc::RT_SCOPE_LINK);
    // struct rtmsg: family, lengths of the prefixes of destination and source, type of service, table, protocol,
    // scope, type, flags.
    message.bytes(&[family(unspecified), 0, 0, 0, table, libc::RTPROT_STATIC, scope, libc::RTN_UNICAST]);
    message.u32(0).attribute(libc::RTA_OIF, &if_nametoindex(interface)?.to_ne_bytes());
    message.transact()
}

fn change(kind: u16) -> Request {
    Request::new(kind, libc::NLM_F_ACK | libc::NLM_F_CREATE)
}
