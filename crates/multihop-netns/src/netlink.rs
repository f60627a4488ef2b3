//! Interfaces of a network namespace, set up by rtnetlink messages.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// Sets an interface of this thread's namespace up, with another MTU if given.
pub(crate) fn set_up(interface: &str, mtu: Option<u16>) -> io::Result<()> {
    let up = libc::IFF_UP.cast_unsigned();
    let mut message = Message::new(libc::RTM_NEWLINK);
    // struct ifinfomsg: family, type, index, flags, which flags change.
    message.bytes(&[0; 4]).u32(if_nametoindex(interface)?).u32(up).u32(up);
    if let Some(mtu) = mtu {
        message.attribute(libc::IFLA_MTU, &u32::from(mtu).to_ne_bytes());
    }
    message.transact()
}

/// Gives an interface of this thread's namespace an address.
pub(crate) fn add_address(
    interface: &str,
    address: Ipv4Addr,
    prefix: u8,
    broadcast: Ipv4Addr,
) -> io::Result<()> {
    let mut message = Message::new(libc::RTM_NEWADDR);
    // struct ifaddrmsg: family, length of the prefix, flags, scope, index.
    let family = u8::try_from(libc::AF_INET).expect("address families are small");
    message.bytes(&[family, prefix, 0, libc::RT_SCOPE_UNIVERSE]).u32(if_nametoindex(interface)?);
    for (kind, address) in
        [(libc::IFA_LOCAL, address), (libc::IFA_ADDRESS, address), (libc::IFA_BROADCAST, broadcast)]
    {
        message.attribute(kind, &address.octets());
    }
    message.transact()
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
