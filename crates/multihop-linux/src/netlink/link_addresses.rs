//! The link addresses of neighbours, as far as the kernel knows them.

use std::io;
use std::net::IpAddr;

use nix::libc;

use super::message::{Message, Request, address, attribute, family, number};

/// A neighbour's address on the link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LinkAddress {
    /// The number of this host's interface.
    pub interface: u32,
    /// The neighbour's IP address.
    pub address: IpAddr,
    /// Address of the neighbour on the link.
    pub link: [u8; 6],
}

/// Lists the link addresses of all neighbours in this thread's network namespace.
pub fn link_addresses() -> io::Result<Vec<LinkAddress>> {
    // struct ndmsg: family (any), padding, interface (any), state, flags, type.
    let list = Request::new(libc::RTM_GETNEIGH, libc::NLM_F_DUMP).bytes(&[0; 12]).dump()?;
    Ok(list.iter().filter_map(link_address).collect())
}

/// Makes the kernel resolve a neighbour's link address, as it would to send a packet to the neighbour. Requires
/// CAP_NET_ADMIN.
pub fn find_link_address(interface: u32, neighbour: IpAddr) -> io::Result<()> {
    let mut request = Request::new(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE | libc::NLM_F_ACK);
    // struct ndmsg: family, padding, interface, state (none yet), flags, type.
    request.bytes(&[family(neighbour), 0, 0, 0]).u32(interface).bytes(&[0, 0, NTF_USE, 0]);
    request.address(libc::NDA_DST, neighbour).transact()
}

fn link_address(message: &Message) -> Option<LinkAddress> {
    if message.kind != libc::RTM_NEWNEIGH {
        return None;
    }
    let (interface, rest) = (number(message.body.get(4..8)?)?, message.body.get(12..)?);
    let address = address(attribute(rest, libc::NDA_DST)?)?;
    Some(LinkAddress { interface, address, link: attribute(rest, libc::NDA_LLADDR)?.try_into().ok()? })
}

/// Flag of a neighbour entry that is in use (linux/neighbour.h).
const NTF_USE: u8 = 1;

#[cfg(test)]
mod tests {
    use super::super::message::tests::content;
    use super::*;

    #[test]
    fn link_addresses_are_read() {
        let link = [2, 0, 0, 0, 0, 5];
        let body = content(|request| {
            request.u32(2).u32(7).u32(2);
            request.attribute(libc::NDA_DST, &[10, 0, 0, 2]).attribute(libc::NDA_LLADDR, &link)
        });
        let read = |body: &[u8]| link_address(&Message { kind: libc::RTM_NEWNEIGH, body: body.to_vec() });
        assert_eq!(read(&body), Some(LinkAddress { interface: 7, address: [10, 0, 0, 2].into(), link }));
        let padding = 2;
        for cut in 0..body.len() - padding {
            assert_eq!(read(&body[..cut]), None, "{cut} bytes");
        }
    }
}
