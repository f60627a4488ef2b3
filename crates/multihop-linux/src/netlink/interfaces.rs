//! Interfaces of a network namespace, with their addresses.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use nix::libc;

use super::message::{Message, Request, address, attributes, number};

/// A network interface of this thread's network namespace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Interface {
    /// Number of the interface in the kernel.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// Whether the interface is set up and has a carrier.
    pub is_up: bool,
    /// Longest packet that the interface sends, bytes.
    pub mtu: u32,
    /// Usable addresses of both families, in the order of the kernel, which sends from the first one. Left out are IPv6
    /// addresses that are temporary or deprecated, or for which the kernel still checks whether another host has them.
    pub addresses: Vec<Address>,
}

/// An address with the length of its network's prefix.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Address {
    /// IP address of the interface.
    pub address: IpAddr,
    /// Length of the network's prefix, bits.
    pub prefix: u8,
}

/// All interfaces of this thread's network namespace.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut found = BTreeMap::new();
    // struct ifinfomsg: family, type, index, flags, which flags change.
    let links = Request::new(libc::RTM_GETLINK, libc::NLM_F_DUMP).bytes(&[0; 16]).dump()?;
    for interface in links.iter().filter_map(link) {
        found.insert(interface.index, interface);
    }
    // struct ifaddrmsg: family, length of the prefix, flags, scope, index.
    let addresses = Request::new(libc::RTM_GETADDR, libc::NLM_F_DUMP).bytes(&[0; 8]).dump()?;
    for (index, address) in addresses.iter().filter_map(of_interface) {
        if let Some(interface) = found.get_mut(&index) {
            interface.addresses.push(address);
        }
    }
    Ok(found.into_values().collect())
}

fn link(message: &Message) -> Option<Interface> {
    if message.kind != libc::RTM_NEWLINK {
        return None;
    }
    let (index, flags) = (number(message.body.get(4..8)?)?, number(message.body.get(8..12)?)?);
    let up = (libc::IFF_UP | libc::IFF_LOWER_UP).cast_unsigned();
    let rest = message.body.get(16..)?;
    let attribute = |wanted: u16| attributes(rest).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let name = attribute(libc::IFLA_IFNAME)?;
    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    let mtu = attribute(libc::IFLA_MTU).and_then(number)?;
    Some(Interface { index, name, is_up: flags & up == up, mtu, addresses: Vec::new() })
}

fn of_interface(message: &Message) -> Option<(u32, Address)> {
    let body = &message.body;
    let [family, prefix, flags, ..] = body[..] else { return None };
    if message.kind != libc::RTM_NEWADDR {
        return None;
    }
    let unusable = match i32::from(family) {
        libc::AF_INET => 0,
        libc::AF_INET6 => UNUSABLE,
        _ => return None,
    };
    if u32::from(flags) & unusable != 0 {
        return None;
    }
    let index = number(body.get(4..8)?)?;
    let rest = body.get(8..)?;
    let attribute = |wanted: u16| attributes(rest).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    // On a link between two hosts, the other attribute is the address of the other one.
    let bytes = attribute(libc::IFA_LOCAL).or_else(|| attribute(libc::IFA_ADDRESS))?;
    Some((index, Address { address: address(bytes)?, prefix }))
}

/// Flags of IPv6 addresses that cannot or should not be used.
const UNUSABLE: u32 =
    libc::IFA_F_TENTATIVE | libc::IFA_F_DADFAILED | libc::IFA_F_DEPRECATED | libc::IFA_F_TEMPORARY;
