//! Requests to the kernel and its answers, in the byte order of this machine.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// A request to the kernel that is being built.
#[derive(Debug)]
pub struct Request(Vec<u8>);

/// A message that the kernel has sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// Type of the message, `RTM_*`.
    pub kind: u16,
    /// Bytes of the message after its header.
    pub body: Vec<u8>,
}

impl Request {
    /// A request of this type, `RTM_*`, with flags besides `NLM_F_REQUEST`.
    pub fn new(kind: u16, flags: i32) -> Self {
        let flags = u16::try_from(libc::NLM_F_REQUEST | flags).expect("flags have 16 bits");
        let mut request = Self(Vec::new());
        // struct nlmsghdr: length, type, flags, sequence number, port.
        request.u32(0).bytes(&kind.to_ne_bytes()).bytes(&flags.to_ne_bytes()).u32(1).u32(0);
        request
    }

    /// Attributes inside of an attribute, without the header of a request.
    pub(crate) const fn nested() -> Self {
        Self(Vec::new())
    }

    /// Bytes that were appended to a [nested](Self::nested) list of attributes.
    pub(crate) fn content(&self) -> &[u8] {
        &self.0
    }

    /// Appends bytes without padding.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends a number in the byte order of the machine.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// Appends an attribute with its header, padded to a multiple of 4 bytes.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = u16::try_from(ATTRIBUTE_HEADER + value.len()).expect("attributes are short");
        self.bytes(&length.to_ne_bytes()).bytes(&kind.to_ne_bytes()).bytes(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Appends an attribute with an address.
    pub fn address(&mut self, kind: u16, address: IpAddr) -> &mut Self {
        match address {
            IpAddr::V4(address) => self.attribute(kind, &address.octets()),
            IpAddr::V6(address) => self.attribute(kind, &address.octets()),
        }
    }

    /// The bytes after the header of the message.
    pub fn body(&self) -> &[u8] {
        &self.0[HEADER..]
    }

    /// Sends the request, which must have the flag `NLM_F_ACK`, and waits for the kernel's verdict.
    pub fn transact(&mut self) -> io::Result<()> {
        let socket = self.send(SockProtocol::NetlinkRoute)?;
        let message = read(&socket)?.into_iter().next();
        message.map_or_else(|| Err(cut_off()), |message| verdict(&message.body))
    }

    /// Sends the request, which must have the flag `NLM_F_DUMP`, and collects the kernel's list.
    pub fn dump(&mut self) -> io::Result<Vec<Message>> {
        self.dump_of(SockProtocol::NetlinkRoute)
    }

    /// Sends the request to a part of the kernel, and collects the kernel's list. The request must have the flag
    /// `NLM_F_DUMP`.
    pub(crate) fn dump_of(&mut self, part: SockProtocol) -> io::Result<Vec<Message>> {
        let socket = self.send(part)?;
        let mut list = Vec::new();
        loop {
            let part = read(&socket)?;
            if part.is_empty() {
                return Err(cut_off());
            }
            for message in part {
                match i32::from(message.kind) {
                    libc::NLMSG_DONE => return Ok(list),
                    libc::NLMSG_ERROR => return verdict(&message.body).map(|()| list),
                    _ => list.push(message),
                }
            }
        }
    }

    /// Sends the request to a part of the kernel, and waits for the one message that answers it.
    pub(crate) fn ask(&mut self, part: SockProtocol) -> io::Result<Message> {
        let socket = self.send(part)?;
        let answer = read(&socket)?.into_iter().next().ok_or_else(cut_off)?;
        if i32::from(answer.kind) == libc::NLMSG_ERROR {
            verdict(&answer.body)?;
        }
        Ok(answer)
    }

    /// Writes the length of the message into its header, and returns the whole message.
    pub(crate) fn finish(&mut self) -> &[u8] {
        let length = u32::try_from(self.0.len()).expect("messages are short");
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        &self.0
    }

    fn send(&mut self, part: SockProtocol) -> io::Result<OwnedFd> {
        let message = self.finish();
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, part)?;
        send(socket.as_raw_fd(), message, MsgFlags::empty())?;
        Ok(socket)
    }
}

/// The address family of rtnetlink for an address.
pub fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    u8::try_from(family).expect("address families are small")
}

/// Reads an IP address of 4 or 16 bytes.
pub(crate) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = || bytes.try_into().ok().map(|bytes: [u8; 4]| bytes.into());
    let sixteen = || bytes.try_into().ok().map(|bytes: [u8; 16]| bytes.into());
    four().or_else(sixteen)
}

/// The address of all hosts, of a family of rtnetlink.
pub(crate) fn unspecified(family: u8) -> Option<IpAddr> {
    match i32::from(family) {
        libc::AF_INET => Some([0; 4].into()),
        libc::AF_INET6 => Some([0; 16].into()),
        _ => None,
    }
}

/// The attributes in `bytes`: type and content. They end where the bytes are not an attribute.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let &[a, b, c, d, ..] = rest else { return None };
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let content = rest.get(ATTRIBUTE_HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]), content))
    })
}

/// The content of the first attribute of this type.
pub fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(kind, _)| kind & NLA_TYPE_MASK == wanted).map(|(_, content)| content)
}

/// A number in the byte order of this machine.
pub(crate) fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

pub(crate) fn open(flags: SockFlag) -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?)
}

/// Reads the messages of one datagram from a netlink socket.
pub(crate) fn read(socket: &OwnedFd) -> io::Result<Vec<Message>> {
    let mut buffer = vec![0; LARGEST];
    let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
    Ok(messages(&buffer[..length]))
}

pub(crate) fn messages(mut rest: &[u8]) -> Vec<Message> {
    let mut list = Vec::new();
    while let Some(length) = rest.get(..4).and_then(number) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (Some(kind), Some(body)) = (rest.get(4..6), rest.get(HEADER..length)) else { break };
        list.push(Message { kind: u16::from_ne_bytes([kind[0], kind[1]]), body: body.to_vec() });
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    list
}

/// struct nlmsgerr: zero or a negative error number.
fn verdict(body: &[u8]) -> io::Result<()> {
    match body.get(..4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        None => Err(cut_off()),
    }
}

fn cut_off() -> io::Error {
    io::Error::other("the kernel's answer is too short")
}

/// Length of the header of a message, `struct nlmsghdr`, bytes.
const HEADER: usize = 16;
/// Length of the header of an attribute, `struct rtattr`, bytes.
const ATTRIBUTE_HEADER: usize = 4;
/// Bits of an attribute's type without its flags (linux/netlink.h).
const NLA_TYPE_MASK: u16 = 0x3fff;
/// Largest buffer that the kernel fills when it lists something, bytes.
const LARGEST: usize = 32_768;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Bytes that `append` appends to a request, without the request's header.
    pub(crate) fn content(append: impl FnOnce(&mut Request) -> &mut Request) -> Vec<u8> {
        let mut request = Request::new(0, 0);
        append(&mut request);
        request.0.split_off(HEADER)
    }

    #[test]
    fn messages_and_attributes_that_are_cut_off_end_the_list() {
        let mut request = Request::new(20, 0);
        request.u32(7).attribute(1, &[1, 2, 3]).attribute(2, &[]);
        let length = u32::try_from(request.0.len()).unwrap();
        request.0[..4].copy_from_slice(&length.to_ne_bytes());
        let whole = messages(&request.0);
        assert_eq!(whole.len(), 1);
        let body = &whole[0].body;
        assert_eq!(attributes(&body[4..]).collect::<Vec<_>>(), [(1, &[1, 2, 3][..]), (2, &[])]);
        for cut in 0..request.0.len() {
            assert_eq!(messages(&request.0[..cut]).len(), 0, "{cut} bytes");
        }
        for cut in 0..body.len() {
            assert!(attributes(&body[..cut]).count() <= 2);
        }
        // Lengths below those of the headers.
        assert_eq!(messages(&[0; 64]).len(), 0);
        assert_eq!(attributes(&[0; 64]).count(), 0);
    }
}
