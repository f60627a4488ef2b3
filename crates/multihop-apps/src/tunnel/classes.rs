//! Classes of flows, by port or by the DSCP of their packets.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::str::FromStr;

use multihop_wire::dscp;

/// Rules that give each flow a class from 0 to 7, of which 0 is sent first.
#[derive(Clone, Debug, Default)]
pub struct Classes(Vec<ClassRule>);

/// A rule for the class of flows: `22=0`, `5000-5999=2`, `ef=1`, `dscp46=1`, `*=6`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClassRule {
    flows: Flows,
    class: u8,
}

/// Flows that a rule matches.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Flows {
    All,
    /// Flows of TCP and UDP with one of these ports.
    Ports(RangeInclusive<u16>),
    /// Packets with this DSCP (RFC 2474).
    Dscp(u8),
}

impl Classes {
    /// Classes by these rules, of which the first that matches decides.
    pub fn new(rules: Vec<ClassRule>) -> Self {
        Self(rules)
    }

    /// Class of a connection to this port.
    pub(super) fn of_port(&self, port: u16) -> u8 {
        self.find(|flows| matches!(flows, Flows::Ports(ports) if ports.contains(&port)))
    }

    /// Class of an IP packet, by its DSCP and both of its ports.
    pub(super) fn of_packet(&self, packet: &[u8]) -> u8 {
        let (dscp, ports) = (dscp(packet), ports(packet));
        self.find(|flows| match flows {
            Flows::Dscp(wanted) => dscp == Some(*wanted),
            Flows::Ports(range) => ports.iter().flatten().any(|port| range.contains(port)),
            Flows::All => false,
        })
    }

    fn find(&self, matches: impl Fn(&Flows) -> bool) -> u8 {
        let rule = self.0.iter().find(|rule| rule.flows == Flows::All || matches(&rule.flows));
        rule.map_or(USUAL, |rule| rule.class)
    }

    /// Every class that a flow may have.
    pub(super) fn all(&self) -> BTreeSet<u8> {
        let has_usual = !self.0.iter().any(|rule| rule.flows == Flows::All);
        self.0.iter().map(|rule| rule.class).chain(has_usual.then_some(USUAL)).collect()
    }
}

/// Source and destination port of a packet of TCP or UDP; `None` for later fragments, and behind extension headers.
fn ports(packet: &[u8]) -> Option<[u16; 2]> {
    let (protocol, at) = match packet.first()? >> 4 {
        4 => {
            let offset = u16::from_be_bytes(packet.get(6..8)?.try_into().ok()?) & 0x1fff;
            (*packet.get(9).filter(|_| offset == 0)?, usize::from(packet[0] & 0xf) * 4)
        }
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    let ports = packet.get(at..at + 4).filter(|_| [TCP, UDP].contains(&protocol))?;
    Some([0, 2].map(|at| u16::from_be_bytes([ports[at], ports[at + 1]])))
}

impl FromStr for ClassRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (flows, class) = text.split_once('=').ok_or(SYNTAX)?;
        let class =
            class.parse().ok().filter(|&class| class <= LAST).ok_or_else(|| {
                format!("class '{}', allowed: 0 (sent first) to {LAST}", class.escape_debug())
            })?;
        Ok(Self { flows: flows.parse()?, class })
    }
}

impl FromStr for Flows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::All);
        }
        if let Some(dscp) = code_point(&text.to_ascii_lowercase()) {
            return Ok(Self::Dscp(dscp));
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self::Ports(first..=last)),
            _ => Err(format!("'{}' is neither a port nor a DSCP; {SYNTAX}", text.escape_debug())),
        }
    }
}

/// DSCP with this name (RFC 2474, 2597, 3246, 5865, 8622).
fn code_point(name: &str) -> Option<u8> {
    let digit = |byte: u8, last: u8| (b'0'..=last).contains(&byte).then(|| byte - b'0');
    match name.as_bytes() {
        b"ef" => Some(46),
        b"va" => Some(44),
        b"le" => Some(1),
        [b'c', b's', class] => Some(8 * digit(*class, b'7')?),
        [b'a', b'f', class @ b'1'..=b'4', drop @ b'1'..=b'3'] => Some(8 * (class - b'0') + 2 * (drop - b'0')),
        _ => name.strip_prefix("dscp")?.parse().ok().filter(|&dscp| dscp < 64),
    }
}

/// Class of flows that no rule matches. Data of streams is sent immediately before it.
pub(super) const USUAL: u8 = 4;
/// Class that is sent last.
const LAST: u8 = 7;
/// Protocol numbers of IP.
const TCP: u8 = 6;
const UDP: u8 = 17;
const SYNTAX: &str = "allowed: PORT=CLASS, FIRST-LAST=CLASS, DSCP=CLASS or *=CLASS, where DSCP is cs0 to cs7, af11 to af43, ef, va, le or dscp0 to dscp63";

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(rules: &[&str]) -> Classes {
        Classes::new(rules.iter().map(|rule| rule.parse().unwrap()).collect())
    }

    /// A packet of UDP over IPv4 with options, or over IPv6.
    fn packet(version: u8, dscp: u8, ports: [u16; 2]) -> Vec<u8> {
        let mut packet = if version == 4 {
            let mut head = vec![0x46, dscp << 2, 0, 28];
            head.resize(24, 0);
            head[9] = UDP;
            head
        } else {
            let mut head = vec![0x60 | dscp >> 2, dscp << 6];
            head.resize(40, 0);
            head[6] = UDP;
            head
        };
        packet.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        packet
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let classes = classes(&["22=0", "5000-5999=2", "ef=1", "5555=7"]);
        assert_eq!([22, 5000, 5555, 5999, 6000].map(|port| classes.of_port(port)), [0, 2, 2, 2, USUAL]);
        assert_eq!(classes.all(), [0, 1, 2, USUAL, 7].into());
        let rest = self::classes(&["22=0", "*=6", "80=1"]);
        assert_eq!([22, 80].map(|port| rest.of_port(port)), [0, 6]);
    }

    #[test]
    fn packets_have_the_class_of_their_dscp_or_of_one_of_their_ports() {
        let classes = classes(&["ef=1", "22=0"]);
        for version in [4, 6] {
            let of = |dscp, ports| classes.of_packet(&packet(version, dscp, ports));
            assert_eq!(of(46, [22, 1]), 1, "the first rule");
            assert_eq!([of(0, [22, 1]), of(0, [1, 22]), of(0, [1, 2])], [0, 0, USUAL]);
            let whole = packet(version, 46, [22, 22]);
            for length in 0..whole.len() {
                classes.of_packet(&whole[..length]);
            }
        }
        let mut fragment = packet(4, 0, [22, 22]);
        fragment[7] = 1;
        assert_eq!(classes.of_packet(&fragment), USUAL, "a later fragment has no ports");
    }

    #[test]
    fn rules_name_what_is_allowed() {
        let dscp = [("cs1=0", 8), ("AF43=0", 38), ("ef=0", 46), ("dscp63=0", 63), ("le=0", 1), ("va=0", 44)];
        for (text, dscp) in dscp {
            assert_eq!(text.parse(), Ok(ClassRule { flows: Flows::Dscp(dscp), class: 0 }));
        }
        for text in
            ["", "22", "22=", "22=8", "22=-1", "x=1", "9-8=1", "65536=1", "dscp64=1", "cs8=1", "af44=1"]
        {
            let error = text.parse::<ClassRule>().unwrap_err();
            assert!(error.contains("allowed: "), "{text}: {error}");
        }
    }
}
