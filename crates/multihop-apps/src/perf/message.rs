//! The messages of a measurement.
//!
//! # Bytes
//!
//! Numbers are big-endian, and a number in parentheses is a length in bytes. The stream consists of frames: kind (1),
//! length of the body (4), body of at most 32,768 bytes. A longer or invalid body, or an unknown kind, ends the
//! connection.
//!
//! One connection for each flow:
//!
//! | kind | from | body |
//! |---|---|---|
//! | 1 REQUEST | connecting end | `multihop perf`, version (1): 3, reverse (1: 0 or 1), unit (1: 0 ms, 1 bytes), amount (8), bits per second of UDP (8; 0: none), number of the measurement (8, random), equal on all its connections |
//! | 6 GO | listening end | empty; sent when the listening end begins the measurement |
//! | 2 DATA | sending end | any bytes |
//! | 3 END | sending end; with reverse then the receiving end, too | with UDP, from the sending end: number of datagrams (8) |
//! | 4 TALLY | listening end | twelve numbers (8 each): bytes, ns, ns of processor time, data_sent, retransmitted, delivered, timeouts, freezes, datagrams sent, received, out of order, ns of jitter; at most 64 counters by name: length (1), name (`a-z`, `0-9`, `_`), count (8) |
//! | 5 UDP | listening end, after GO | its port (2), number of the flow (8, random) |
//!
//! Datagrams of UDP have the number of the flow, their own number from 0, and the sender's time in ns (8 each), then
//! zeros. With reverse, the connecting end first sends datagrams of 24 bytes with number 2^64 - 1 every 100 ms, until
//! one arrives.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Amount, EndTotals};

/// The request of the connecting end, one per connection of a measurement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct PerfRequest {
    /// Whether the listening end is the sender.
    pub(super) reverse: bool,
    pub(super) amount: Amount,
    /// Rate of UDP datagrams, bit/s; `None` measures the connection itself.
    pub(super) udp: Option<u64>,
    /// Random number of the measurement, whose connections are served together.
    pub(super) group: u64,
}

impl PerfRequest {
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let (&[reverse, kind], numbers) = body.strip_prefix(MAGIC)?.split_first_chunk()?;
        let (numbers, []) = numbers.as_chunks::<8>() else { return None };
        let numbers: &[[u8; 8]; 3] = numbers.try_into().ok()?;
        let [amount, rate, group] = numbers.map(u64::from_be_bytes);
        let amount = match kind {
            0 => Amount::Time(Duration::from_millis(amount)),
            1 => Amount::Bytes(amount),
            _ => return None,
        };
        let udp = Some(rate).filter(|rate| *rate > 0);
        (reverse <= 1).then_some(Self { reverse: reverse == 1, amount, udp, group })
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let (kind, amount) = match self.amount {
            Amount::Time(time) => (0, u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            Amount::Bytes(bytes) => (1, bytes),
        };
        let numbers = [amount, self.udp.unwrap_or(0), self.group].map(u64::to_be_bytes);
        [MAGIC, &[u8::from(self.reverse), kind], numbers.as_flattened()].concat()
    }
}

pub(super) fn emit(tally: &EndTotals) -> Vec<u8> {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let fields = [
        tally.bytes,
        nanoseconds(tally.time),
        nanoseconds(tally.cpu),
        tally.data_sent,
        tally.retransmitted,
        tally.delivered,
        tally.timeouts,
        tally.freezes,
        tally.datagrams_sent,
        tally.datagrams_received,
        tally.out_of_order,
        nanoseconds(tally.jitter),
    ];
    let mut out: Vec<u8> = fields.iter().flat_map(|field| field.to_be_bytes()).collect();
    for (name, count) in tally.counters.iter().take(MAX_COUNTERS) {
        let Ok(len) = u8::try_from(name.len()) else { continue };
        out.push(len);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&count.to_be_bytes());
    }
    out
}

pub(super) fn parse(body: &[u8]) -> Option<EndTotals> {
    let (fields, rest) = body.split_first_chunk::<{ 12 * 8 }>()?;
    let fields: &[[u8; 8]; 12] = fields.as_chunks::<8>().0.try_into().ok()?;
    let [bytes, time, cpu, data_sent, retransmitted, delivered, timeouts, freezes, out, back, late, jitter] =
        fields.map(u64::from_be_bytes);
    Some(EndTotals {
        bytes,
        time: Duration::from_nanos(time),
        cpu: Duration::from_nanos(cpu),
        data_sent,
        retransmitted,
        delivered,
        timeouts,
        freezes,
        datagrams_sent: out,
        datagrams_received: back,
        out_of_order: late,
        jitter: Duration::from_nanos(jitter),
        counters: parse_counters(rest)?,
    })
}

/// Counters in the order of their names, at most [`MAX_COUNTERS`].
fn parse_counters(mut body: &[u8]) -> Option<BTreeMap<String, u64>> {
    let mut counters = BTreeMap::new();
    while let Some((&len, rest)) = body.split_first() {
        let (name, rest) = rest.split_at_checked(len.into())?;
        let (count, rest) = rest.split_first_chunk()?;
        let name = str::from_utf8(name).ok()?;
        let is_next = counters.last_key_value().is_none_or(|(last, _): (&String, _)| last.as_str() < name);
        if !is_next || counters.len() == MAX_COUNTERS || !name.bytes().all(is_of_a_name) {
            return None;
        }
        counters.insert(name.to_owned(), u64::from_be_bytes(*count));
        body = rest;
    }
    Some(counters)
}

/// Whether names of counters may contain this byte.
const fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// UDP port of the listening end, and the number in every datagram of the flow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct UdpFlow {
    pub(super) port: u16,
    pub(super) number: u64,
}

impl UdpFlow {
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let (port, number) = body.split_first_chunk()?;
        let [port, number] = [u16::from_be_bytes(*port).into(), u64::from_be_bytes(number.try_into().ok()?)];
        Some(Self { port: u16::try_from(port).ok()?, number })
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        [&self.port.to_be_bytes()[..], &self.number.to_be_bytes()].concat()
    }
}

/// The number of datagrams sent, in an END.
pub(super) fn parse_count(body: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(body.try_into().ok()?))
}

/// The header of a UDP datagram; the other bytes are zero.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Head {
    /// Random number of the flow to which the datagram belongs.
    pub(super) flow: u64,
    /// Number of the datagram in its flow, from 0; [`HELLO`] in a datagram that only shows the receiver's address.
    pub(super) number: u64,
    /// Departure time of the datagram, in nanoseconds since the start of the sender.
    pub(super) sent: u64,
}

impl Head {
    pub(super) const LEN: usize = 24;

    pub(super) fn parse(datagram: &[u8]) -> Option<Self> {
        let (fields, _) = datagram.first_chunk::<{ Self::LEN }>()?.as_chunks::<8>();
        let fields: &[[u8; 8]; 3] = fields.try_into().ok()?;
        let [flow, number, sent] = fields.map(u64::from_be_bytes);
        Some(Self { flow, number, sent })
    }

    pub(super) fn emit(&self) -> [u8; Self::LEN] {
        let fields = [self.flow, self.number, self.sent].map(u64::to_be_bytes);
        fields.as_flattened().try_into().expect("three numbers")
    }
}

/// Checks that a parsed message emits the bytes from which it was parsed.
#[cfg(fuzzing)]
pub(crate) fn check(body: &[u8]) {
    if let Some(request) = PerfRequest::parse(body) {
        assert_eq!(request.emit(), body);
    }
    if let Some(tally) = parse(body) {
        assert_eq!(emit(&tally), body);
    }
    if let Some(flow) = UdpFlow::parse(body) {
        assert_eq!(flow.emit(), body);
    }
    if let Some(head) = Head::parse(body) {
        assert_eq!(head.emit(), body[..Head::LEN]);
    }
}

pub(super) const REQUEST: u8 = 1;
pub(super) const DATA: u8 = 2;
pub(super) const END: u8 = 3;
pub(super) const TALLY: u8 = 4;
pub(super) const UDP: u8 = 5;
pub(super) const GO: u8 = 6;
/// The number of a datagram that has none.
pub(super) const HELLO: u64 = u64::MAX;
/// Largest number of counters in a [`TALLY`].
const MAX_COUNTERS: usize = 64;
/// Start of the first message, which ends with the version of the protocol.
const MAGIC: &[u8] = b"multihop perf\x03";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_survive_a_round_trip() {
        for amount in [Amount::Time(Duration::from_millis(1500)), Amount::Bytes(u64::MAX)] {
            for (reverse, udp) in [(false, None), (true, Some(1_000_000))] {
                let request = PerfRequest { reverse, amount, udp, group: 7 };
                assert_eq!(PerfRequest::parse(&request.emit()), Some(request));
            }
        }
        let tally = EndTotals {
            bytes: 1,
            time: Duration::from_nanos(2),
            cpu: Duration::from_nanos(3),
            data_sent: 4,
            retransmitted: 5,
            delivered: 6,
            timeouts: 7,
            freezes: 8,
            datagrams_sent: 9,
            datagrams_received: 10,
            out_of_order: 11,
            jitter: Duration::from_nanos(12),
            counters: [("acks", 13), ("freezes", 8)].map(|(name, count)| (name.to_owned(), count)).into(),
        };
        assert_eq!(parse(&emit(&tally)), Some(tally));
        let flow = UdpFlow { port: 1234, number: 1 << 40 };
        assert_eq!(UdpFlow::parse(&flow.emit()), Some(flow));
        let head = Head { flow: 1, number: HELLO, sent: 3 };
        assert_eq!(Head::parse(&head.emit()), Some(head));
    }

    #[test]
    fn only_ordered_counters_with_names_are_accepted() {
        let with = |counters: &[u8]| parse(&[&emit(&EndTotals::default())[..], counters].concat());
        let entry = |name: &str| [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), &[0; 8]].concat();
        assert!(with(&[entry("a"), entry("b_2")].concat()).is_some());
        assert!(with(&[entry("b"), entry("a")].concat()).is_none(), "the order is wrong");
        assert!(with(&[entry("a"), entry("a")].concat()).is_none(), "a name twice");
        assert!(with(&entry("a b")).is_none() && with(&entry("\u{1b}")).is_none(), "not a name");
        assert!(with(&entry("a")[..9]).is_none(), "too short");
        let many = |count: usize| (0..count).flat_map(|n| entry(&format!("n{n:03}"))).collect::<Vec<_>>();
        assert!(with(&many(MAX_COUNTERS)).is_some() && with(&many(MAX_COUNTERS + 1)).is_none());
    }

    proptest! {
        #[test]
        fn noise_is_refused_or_understood(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = (parse(&body), PerfRequest::parse(&body), UdpFlow::parse(&body), Head::parse(&body));
        }
    }
}
