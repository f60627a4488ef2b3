//! Differentiated services (RFC 2474) of IP packets.

/// DSCP of an IPv4 or IPv6 packet; `None` if the bytes are neither.
pub fn dscp(packet: &[u8]) -> Option<u8> {
    let &[first, second, ..] = packet else { return None };
    match first >> 4 {
        4 => Some(second >> 2),
        6 => Some((first & 0xf) << 2 | second >> 6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_ip_have_a_dscp() {
        assert_eq!(dscp(&[0x45, 46 << 2 | 3]), Some(46));
        assert_eq!(dscp(&[0x6b, 0x8f]), Some(46));
        assert_eq!([&[0x45][..], &[], &[0x15, 0xff]].map(dscp), [None; 3]);
    }
}
