//! Generic netlink: families of messages that have names, and numbers that differ from start to start.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket, sockopt,
};

use super::message::{Message, Request, attribute, messages};

/// A family of messages of the running kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family(u16);

impl Family {
    /// The family with this name; `None` if the kernel does not have it.
    pub(crate) fn find(name: &str) -> io::Result<Option<Self>> {
        let mut request = Request::new(GENL_ID_CTRL, 0);
        request.bytes(&header(CTRL_CMD_GETFAMILY));
        request.attribute(CTRL_ATTR_FAMILY_NAME, &[name.as_bytes(), &[0]].concat());
        match request.ask(SockProtocol::NetlinkGeneric) {
            Ok(answer) => Ok(number_of(&answer).map(Self)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a dump request with one attribute, and returns the listed messages without their headers.
    pub(crate) fn dump(self, command: u8, (kind, value): (u16, u32)) -> io::Result<Vec<Vec<u8>>> {
        let mut request = Request::new(self.0, libc::NLM_F_DUMP);
        request.bytes(&header(command)).attribute(kind, &value.to_ne_bytes());
        let list = request.dump_of(SockProtocol::NetlinkGeneric)?;
        let content = |message: Message| message.body.get(HEADER..).map(<[u8]>::to_vec);
        Ok(list.into_iter().filter_map(content).collect())
    }
}

/// Socket to a family of messages that exchanges messages for as long as it is open.
#[derive(Debug)]
pub struct GenericSocket {
    family: Family,
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// Message of a family, or the kernel's verdict on a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GenericMessage {
    /// A command with its attributes.
    Command(u8, Vec<u8>),
    /// Verdict on a request: zero, a negative error number, or a positive number that the command returns.
    Verdict(i32),
}

impl GenericSocket {
    /// Opens a socket to the family with this name; `None` if the kernel does not have the family.
    pub fn open(name: &str) -> io::Result<Option<Self>> {
        let Some(family) = Family::find(name)? else { return Ok(None) };
        let protocol = SockProtocol::NetlinkGeneric;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        // The kernel drops messages for which there is no room.
        setsockopt(&socket, sockopt::RcvBufForce, &ROOM)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &ROOM))?;
        Ok(Some(Self { family, socket, buffer: vec![0; LARGEST] }))
    }

    /// A request of this family, to be filled with attributes. With `NLM_F_ACK` in `flags` the kernel answers with a verdict.
    pub fn request(&self, command: u8, flags: i32) -> Request {
        let mut request = Request::new(self.family.0, flags);
        request.bytes(&header(command));
        request
    }

    /// Sends a request.
    pub fn send(&self, request: &mut Request) -> io::Result<()> {
        send(self.socket.as_raw_fd(), request.finish(), MsgFlags::empty())?;
        Ok(())
    }

    /// The messages of the next datagram, which may be none; `None` if no datagram waits.
    pub fn receive(&mut self) -> io::Result<Option<Vec<GenericMessage>>> {
        match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => Ok(Some(self.parse(length))),
            Err(Errno::EAGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a request with `NLM_F_ACK`, and waits for its verdict, which must not be negative. Commands that arrive before the
    /// verdict are lost.
    pub fn ask(&mut self, request: &mut Request) -> io::Result<i32> {
        self.send(request)?;
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
            for message in self.parse(length) {
                match message {
                    GenericMessage::Verdict(error @ ..0) => return Err(io::Error::from_raw_os_error(-error)),
                    GenericMessage::Verdict(number) => return Ok(number),
                    GenericMessage::Command(..) => {}
                }
            }
        }
    }

    fn parse(&self, length: usize) -> Vec<GenericMessage> {
        messages(&self.buffer[..length]).iter().filter_map(|message| self.family.content(message)).collect()
    }
}

impl AsFd for GenericSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Family {
    /// The command in a message of this family, or a verdict; `None` for all other messages.
    fn content(self, message: &Message) -> Option<GenericMessage> {
        if i32::from(message.kind) == libc::NLMSG_ERROR {
            let number = message.body.get(..4)?.try_into().ok()?;
            return Some(GenericMessage::Verdict(i32::from_ne_bytes(number)));
        }
        let (command, attributes) = (message.body.first()?, message.body.get(HEADER..)?);
        (message.kind == self.0).then(|| GenericMessage::Command(*command, attributes.to_vec()))
    }
}

/// struct genlmsghdr: command, version, reserved.
const fn header(command: u8) -> [u8; HEADER] {
    [command, 1, 0, 0]
}

fn number_of(answer: &Message) -> Option<u16> {
    let bytes = attribute(answer.body.get(HEADER..)?, CTRL_ATTR_FAMILY_ID)?;
    bytes.try_into().ok().map(u16::from_ne_bytes)
}

const HEADER: usize = 4;
/// Bytes for messages that wait in a socket.
const ROOM: usize = 8 << 20;
/// Largest datagram that a family sends, bytes.
const LARGEST: usize = 65_536;

// Constants of linux/genetlink.h.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_found_by_their_names() {
        assert!(Family::find("multihop").unwrap().is_none(), "a name that no kernel has");
        let control = Family::find("nlctrl").unwrap().expect("the family that names the others");
        assert_eq!(control.0, GENL_ID_CTRL);
    }
}
