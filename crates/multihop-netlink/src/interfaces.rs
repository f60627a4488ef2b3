//! The interfaces and their IPv4 addresses.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;

use nix::libc;

use crate::message::{Message, Request, attributes, number};

/// A network interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether it is set up and has a carrier.
    pub is_up: bool,
    /// The longest packet that it carries, bytes.
    pub mtu: u32,
    /// In the order of the kernel: the first is what packets are sent from.
    pub addresses: Vec<Address>,
}

/// An address with the length of its network's prefix.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Address {
    /// The address.
    pub address: Ipv4Addr,
    /// Bits of the prefix.
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
    let inet = u8::try_from(libc::AF_INET).expect("address families are small");
    let addresses =
        Request::new(libc::RTM_GETADDR, libc::NLM_F_DUMP).bytes(&[inet, 0, 0, 0]).u32(0).dump()?;
    for (index, address) in addresses.iter().filter_map(address) {
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

fn address(message: &Message) -> Option<(u32, Address)> {
    let body = &message.body;
    let [family, prefix, ..] = body[..] else { return None };
    if message.kind != libc::RTM_NEWADDR || i32::from(family) != libc::AF_INET {
        return None;
    }
    let index = number(body.get(4..8)?)?;
    let bytes = attributes(body.get(8..)?).find(|(kind, _)| *kind == libc::IFA_LOCAL)?.1;
    let bytes: [u8; 4] = bytes.try_into().ok()?;
    Some((index, Address { address: bytes.into(), prefix }))
}
