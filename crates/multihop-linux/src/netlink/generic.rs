//! Generic netlink: families of messages that have names, and numbers that differ from start to start.

use std::io;

use nix::libc;
use nix::sys::socket::SockProtocol;

use super::message::{Message, Request, attribute};

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

/// struct genlmsghdr: command, version, reserved.
const fn header(command: u8) -> [u8; HEADER] {
    [command, 1, 0, 0]
}

fn number_of(answer: &Message) -> Option<u16> {
    let bytes = attribute(answer.body.get(HEADER..)?, CTRL_ATTR_FAMILY_ID)?;
    bytes.try_into().ok().map(u16::from_ne_bytes)
}

const HEADER: usize = 4;

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
