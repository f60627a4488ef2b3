//! Instructions of the kernel's packet filters (linux/filter.h).

use std::io;

use nix::libc;
use socket2::{SockFilter, Socket};

/// Attaches a filter to a socket. If the kernel has too little memory for the filter (`net.core.optmem_max`), the socket
/// gets a filter that drops all packets, and the result is false.
pub(crate) fn attach(socket: &Socket, program: &[SockFilter]) -> io::Result<bool> {
    match socket.attach_filter(program) {
        Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
            // The kernel charges the earlier filter, too, until it is detached.
            let detached = || socket.detach_filter().and_then(|()| socket.attach_filter(&[NOTHING]));
            socket.attach_filter(&[NOTHING]).or_else(|_| detached()).map(|()| false)
        }
        done => done.map(|()| true),
    }
}

/// Beginning of a filter that passes packets that leave over one of these interfaces, and drops all others.
pub(crate) fn from_interfaces(interfaces: &[u32]) -> Vec<SockFilter> {
    let mut program = vec![ancillary(libc::SKF_AD_PKTTYPE), unless(PACKET_OUTGOING, 1), NOTHING];
    program.push(ancillary(libc::SKF_AD_IFINDEX));
    let count = u8::try_from(interfaces.len()).unwrap_or(u8::MAX);
    for (interface, left) in interfaces.iter().zip((0..count).rev()) {
        // Jumps past the remaining interfaces and the end of the program.
        program.push(SockFilter::new(JUMP_EQUAL, left + 1, 0, *interface));
    }
    program.push(NOTHING);
    program
}

/// Instruction that loads a property of the packet from the kernel's metadata.
pub(crate) fn ancillary(what: libc::c_int) -> SockFilter {
    SockFilter::new(LOAD | WORD | ABSOLUTE, 0, 0, (libc::SKF_AD_OFF + what).cast_unsigned())
}

/// Instruction that loads a 32-bit word at offset `at` of the packet.
pub(crate) const fn word(at: u32) -> SockFilter {
    SockFilter::new(LOAD | WORD | ABSOLUTE, 0, 0, at)
}

/// Instruction that skips the next `skipped` instructions if the loaded value equals `value`.
pub(crate) const fn unless(value: u32, skipped: u8) -> SockFilter {
    SockFilter::new(JUMP_EQUAL, skipped, 0, value)
}

/// Instruction that ends the program and drops the packet.
pub(crate) const NOTHING: SockFilter = SockFilter::new(RETURN, 0, 0, 0);

// Instructions of linux/filter.h.
pub(crate) const LOAD: u16 = 0x00;
pub(crate) const WORD: u16 = 0x00;
pub(crate) const HALF: u16 = 0x08;
pub(crate) const BYTE: u16 = 0x10;
pub(crate) const ABSOLUTE: u16 = 0x20;
pub(crate) const INDIRECT: u16 = 0x40;
pub(crate) const JUMP_EQUAL: u16 = 0x15;
pub(crate) const MIN_JUMP: u16 = 0x35;
/// The length of the IP header into the index.
pub(crate) const LOAD_INDEX_OF_HEADER: u16 = 0xb1;
pub(crate) const JUMP: u16 = 0x05;
pub(crate) const JUMP_BITS: u16 = 0x45;
pub(crate) const SHIFT_LEFT: u16 = 0x64;
pub(crate) const ADD: u16 = 0x04;
/// A number into the index.
pub(crate) const LOAD_INDEX: u16 = 0x01;
/// The loaded value into the index.
pub(crate) const TO_INDEX: u16 = 0x07;
pub(crate) const RETURN: u16 = 0x06;

// Constants of linux/if_ether.h and linux/if_packet.h.
pub(crate) const ETHERTYPE_ALL: u16 = 3;
pub(crate) const ETHERTYPE_IPV4: u32 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u32 = 0x86dd;
const PACKET_OUTGOING: u32 = 4;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{MsgFlags, recv};
    use socket2::{Domain, Type};

    use super::*;

    #[test]
    fn a_filter_that_is_too_large_is_replaced_by_one_that_drops_all() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), None).unwrap();
        socket.bind(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let own = socket.local_addr().unwrap();
        let everything = || SockFilter::new(RETURN, 0, 0, u32::MAX);
        // The kernel makes several instructions of each of these, and allows 4096.
        let load = || SockFilter::new(LOAD | WORD | INDIRECT, 0, 0, 0);
        let huge: Vec<_> = (0..4095).map(|_| load()).chain([SockFilter::new(RETURN, 0, 0, 0)]).collect();
        assert!(attach(&socket, &[everything()]).unwrap());
        assert!(!attach(&socket, &huge).unwrap());
        socket.send_to(b"dropped", &own).unwrap();
        assert!(attach(&socket, &[everything()]).unwrap());
        socket.send_to(b"kept", &own).unwrap();
        let mut buffer = [0; 16];
        let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT);
        assert_eq!(&buffer[..length.unwrap()], b"kept");
    }
}
