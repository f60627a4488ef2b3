//! Interfaces of this thread's network namespace, set up by rtnetlink messages.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// What changes when an interface is set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    /// Longest IP packet, bytes.
    pub mtu: Option<u16>,
    /// MAC address.
    pub mac: Option<[u8; 6]>,
    /// Packets that may wait in the kernel.
    pub queue: Option<u32>,
}

/// Sets an interface up.
pub fn set_up(interface: &str, link: Link) -> io::Result<()> {
    let up = libc::IFF_UP.cast_unsigned();
    let mut message = Message::new(libc::RTM_NEWLINK);
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
    let mut message = Message::new(libc::RTM_NEWADDR);
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

/// Sends packets to other networks out of an interface: those of the kind of `unspecified`, the address of nobody.
pub fn add_default_route(interface: &str, unspecified: IpAddr) -> io::Result<()> {
    let mut message = Message::new(libc::RTM_NEWROUTE);
    let (table, scope) = (libc::RT_TABLE_MAIN, libc::RT_SCOPE_LINK);
    // struct rtmsg: family, lengths of the prefixes of destination and source, type of service, table, protocol,
    // scope, type, flags.
    message.bytes(&[family(unspecified), 0, 0, 0, table, libc::RTPROT_STATIC, scope, libc::RTN_UNICAST]);
    message.u32(0).attribute(libc::RTA_OIF, &if_nametoindex(interface)?.to_ne_bytes());
    message.transact()
}

fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    u8::try_from(family).expect("address families are small")
}

/// A request, in the byte order of this machine.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16) -> Self {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE;
        let mut message = Self(Vec::new());
        // struct nlmsghdr: length, type, flags, sequence number, port.
        message.u32(0).bytes(&kind.to_ne_bytes());
        message.bytes(&u16::try_from(flags).expect("flags have 16 bits").to_ne_bytes()).u32(1).u32(0);
        message
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).expect("attributes are short");
        self.bytes(&length.to_ne_bytes()).bytes(&kind.to_ne_bytes()).bytes(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn address(&mut self, kind: u16, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.attribute(kind, &address.octets()),
            IpAddr::V6(address) => self.attribute(kind, &address.octets()),
        }
    }

    /// Sends the request and waits for the kernel's answer.
    fn transact(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.0.len()).expect("messages are short");
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        let (family, protocol) = (AddressFamily::Netlink, SockProtocol::NetlinkRoute);
        let socket = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        send(socket.as_raw_fd(), &self.0, MsgFlags::empty())?;
        let mut answer = [0; 4096];
        let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        // struct nlmsgerr: after the header, zero or a negative error number.
        match answer[..length].get(16..20) {
            Some(&[a, b, c, d]) => match i32::from_ne_bytes([a, b, c, d]) {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(-error)),
            },
            _ => Err(io::Error::other("the kernel's answer is too short")),
        }
    }
}
