//! The TUN interface of one end of a tunnel.

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::str::FromStr;

use super::rules::begins;

/// The address of an interface, and the network that it is in: `10.9.0.1/24`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Net {
    address: IpAddr,
    bits: u32,
}

impl Net {
    /// Whether an address is in this network and not the interface's own.
    pub(super) fn has_other(&self, ip: IpAddr) -> bool {
        ip != self.address && begins(ip, self.address, self.bits)
    }
}

impl Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Net {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').ok_or("allowed: ADDRESS/BITS, as in 10.9.0.1/24")?;
        let address: IpAddr =
            address.parse().map_err(|_| format!("'{}' is not an address", address.escape_debug()))?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.parse().ok().filter(|bits| (1..=all).contains(bits));
        let bits = bits.ok_or_else(|| format!("allowed after the address: a length from 1 to {all}"))?;
        Ok(Self { address, bits })
    }
}

#[cfg(target_os = "linux")]
pub use linux::Interface;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::process::Command;

    use multihop_linux::tun::Tun;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use super::{MTU, Net};

    /// A TUN interface with an address.
    #[derive(Debug)]
    pub struct Interface {
        tun: AsyncFd<Tun>,
        net: Net,
    }

    impl Interface {
        /// Creates the interface, which ends with this value. Needs root, the command `ip`, and a runtime.
        pub fn open(net: Net) -> io::Result<Self> {
            let tun = Tun::open("multihop%d")?;
            let name = tun.name();
            ip(&format!("addr add {net} dev {name}"))?;
            ip(&format!("link set {name} mtu {MTU} txqueuelen {QUEUE} up"))?;
            #[expect(
                deprecated,
                reason = "the interface keeps its descriptor for its whole life, and the successor of this function is unsafe"
            )]
            let tun = AsyncFd::with_interest(tun, Interest::READABLE)?;
            Ok(Self { tun, net })
        }

        /// Name of the TUN interface.
        pub fn name(&self) -> &str {
            self.tun.get_ref().name()
        }

        pub(crate) fn net(&self) -> Net {
            self.net
        }

        /// The next packet that this host sends into the tunnel.
        pub(crate) async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
            let take = |tun: &Tun| tun.receive(buffer)?.ok_or_else(|| io::ErrorKind::WouldBlock.into());
            self.tun.async_io(Interest::READABLE, take).await
        }

        /// Delivers a packet to this host.
        pub(crate) fn send(&self, packet: &[u8]) {
            self.tun.get_ref().send(packet);
        }
    }

    fn ip(words: &str) -> io::Result<()> {
        let done = Command::new("ip").args(words.split(' ')).output()?;
        if done.status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&done.stderr);
        Err(io::Error::other(format!("ip {words}: {}", complaint.trim())))
    }

    /// Number of packets that may wait while the connection is slow or lost; the kernel drops the rest.
    const QUEUE: usize = 100;
}

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Interface;

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::convert::Infallible;
    use std::io;

    use super::Net;

    /// TUN interfaces exist only on Linux.
    #[derive(Debug)]
    pub struct Interface(Infallible);

    impl Interface {
        /// Always fails, because TUN interfaces exist only on Linux.
        pub fn open(_: Net) -> io::Result<Self> {
            Err(io::Error::new(io::ErrorKind::Unsupported, "TUN interfaces need Linux"))
        }

        /// Name of the TUN interface; never called, because no interface exists here.
        pub fn name(&self) -> &str {
            match self.0 {}
        }

        pub(crate) fn net(&self) -> Net {
            match self.0 {}
        }

        #[expect(clippy::unused_async, reason = "as on Linux")]
        pub(crate) async fn receive(&self, _: &mut [u8]) -> io::Result<usize> {
            match self.0 {}
        }

        pub(crate) fn send(&self, _: &[u8]) {
            match self.0 {}
        }
    }
}

/// The MTU of the interfaces: of both ends, so that no packet is too long.
pub(super) const MTU: usize = 1400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_parsed_and_know_their_addresses() {
        let net: Net = "10.9.0.1/24".parse().unwrap();
        let has = |ip: &str| net.has_other(ip.parse().unwrap());
        assert!(has("10.9.0.2") && has("10.9.0.254"));
        assert!(!has("10.9.0.1") && !has("10.9.1.2") && !has("::1"));
        assert!("fd00::1/64".parse::<Net>().unwrap().has_other("fd00::2".parse().unwrap()));
        for text in ["", "10.9.0.1", "10.9.0.1/0", "10.9.0.1/33", "10.9.0.1/x", "a/24", "10.9.0.1/24/1"] {
            assert!(text.parse::<Net>().is_err(), "{text}");
        }
    }
}
