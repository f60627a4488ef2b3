//! The Internet checksum of IPv4, ICMP, TCP and UDP (RFC 1071).

use core::net::Ipv4Addr;

use multihop_core::Payload;

/// A partial Internet checksum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    sum: u64,
}

impl Checksum {
    /// Starts with the pseudo header of TCP and UDP (RFC 9293 §3.1).
    pub fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, len: usize) -> Self {
        let lengths = Self { sum: u64::from(protocol) + len as u64 };
        lengths.over(&source.octets()).over(&destination.octets())
    }

    /// Adds `bytes`. Only the last call may add an odd number of them.
    #[must_use]
    pub fn over(self, bytes: &[u8]) -> Self {
        let (pairs, odd) = bytes.as_chunks::<2>();
        let even: u64 = pairs.iter().map(|&pair| u64::from(u16::from_be_bytes(pair))).sum();
        let last = odd.first().map_or(0, |&byte| u64::from(byte) << 8);
        Self { sum: self.sum + even + last }
    }

    /// Adds application data to the sum. Virtual data is zeros, which add nothing.
    #[must_use]
    pub fn over_payload(self, payload: &Payload) -> Self {
        match payload {
            Payload::Bytes(bytes) => self.over(bytes),
            Payload::Virtual(_) => self,
        }
    }

    /// The checksum to send. It is 0 over bytes that already contain their correct checksum.
    pub fn finish(self) -> u16 {
        let mut sum = self.sum;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !u16::try_from(sum).expect("folded to 16 bits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_of_rfc_1071() {
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::default().over(&example).finish(), !0xddf2);
    }

    #[test]
    fn an_odd_last_byte_counts_as_if_a_zero_followed() {
        let odd = Checksum::default().over(&[1, 2]).over(&[3]);
        assert_eq!(odd.finish(), Checksum::default().over(&[1, 2, 3, 0]).finish());
    }
}
