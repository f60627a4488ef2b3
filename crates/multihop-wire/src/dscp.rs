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

/// DSCP of segments with messages of a priority from 0, which is sent first, to 7.
///
/// Priority 0 has EF, 1 and 2 AF41, 5 to 7 CS1: voice, video and background in RFC 8325. Priorities 3 and 4 have the
/// default of 0.
pub const fn dscp_of_priority(priority: u8) -> u8 {
    match priority {
        0 => 46,
        1 | 2 => 34,
        3 | 4 => 0,
        _ => 8,
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
