//! The options of a SYN: each has a type, the length of the value, and the value.

use alloc::vec::Vec;

use multihop_core::Payload;
use multihop_core::settings::Field;

use super::MAX_BLOCK;
use crate::ParseError;
use crate::reader::Reader;

/// The implemented version of the protocol.
pub const VERSION: u8 = crate::control::VERSION;

/// The options of a SYN.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// Version of the protocol; 0 if the SYN has no such option.
    pub version: u8,
    /// The longest payload that the sender accepts.
    pub mss: u16,
    /// Number of segments in a full block of the sender.
    pub block_size: u8,
    /// Largest congestion window that the sender uses, segments.
    pub cwnd_max: u8,
    /// ACK policy that the sender requests for its data.
    pub ack_policy: AckPolicy,
    /// Whether the sender requests an ACK at once of the segment that completes a block.
    pub ack_block_end: bool,
    /// Whether the sender requests an ACK at once of each segment that leaves a gap, or comes while there is one.
    pub ack_gaps: bool,
    /// Whether the sender uses link-failure notices.
    pub takes_notices: bool,
    /// Initial TTL of the packets of the sender.
    pub initial_ttl: u8,
    /// Longest delay that the sender requests for ACKs of its data, microseconds.
    pub ack_interval: u32,
    /// Shortest retransmission timeout of the sender, microseconds.
    pub rto_min: u32,
}

/// How often a receiver acknowledges while its peer is not congested (§3.6).
#[derive(Clone, Copy, Debug, Default, Eq, Field, PartialEq)]
pub enum AckPolicy {
    /// Every other segment (TPA).
    #[default]
    #[word("every-2")]
    EveryTwo,
    /// Every `cwnd_max` segments (TPA*).
    #[word("every-cwnd")]
    EveryWindow,
}

impl Options {
    /// Length of all options on the wire, bytes.
    pub const WIRE_LEN: usize = 9 * HEADER + 1 + 2 + 1 + 1 + 1 + 1 + 1 + 4 + 4;

    /// Parses options: unknown types are skipped, missing ones have their defaults.
    pub(super) fn parse(data: &Payload) -> Result<Self, ParseError> {
        let mut options = Self { version: 0, ..Self::default() };
        let mut bytes = match data {
            Payload::Bytes(bytes) => bytes.as_slice(),
            Payload::Virtual(_) => &[],
        };
        while let Some((&kind, after)) = bytes.split_first() {
            if kind == PAD {
                bytes = after;
                continue;
            }
            let mut r = Reader::new(after);
            let len = r.u8()?;
            options.take_in(kind, r.take(usize::from(len))?)?;
            bytes = r.rest();
        }
        Ok(options)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        put(out, VERSION_KIND, [self.version]);
        put(out, MSS, self.mss.to_be_bytes());
        put(out, BLOCK_SIZE, [self.block_size]);
        put(out, CWND_MAX, [self.cwnd_max]);
        put(out, ACK_POLICY, [self.ack_rule()]);
        put(out, TAKES_NOTICES, [u8::from(self.takes_notices)]);
        put(out, INITIAL_TTL, [self.initial_ttl]);
        put(out, ACK_INTERVAL, self.ack_interval.to_be_bytes());
        put(out, RTO_MIN, self.rto_min.to_be_bytes());
    }

    /// The value of the option with the ACK policy.
    fn ack_rule(&self) -> u8 {
        let every_window = self.ack_policy == AckPolicy::EveryWindow;
        let rules = [(every_window, EVERY_WINDOW), (self.ack_block_end, BLOCK_END), (self.ack_gaps, GAPS)];
        rules.iter().filter(|(set, _)| *set).fold(0, |all, (_, bit)| all | bit)
    }

    fn set_ack_rule(&mut self, rule: u8) {
        self.ack_policy = if rule & EVERY_WINDOW == 0 { AckPolicy::EveryTwo } else { AckPolicy::EveryWindow };
        self.ack_block_end = rule & BLOCK_END != 0;
        self.ack_gaps = rule & GAPS != 0;
    }

    fn take_in(&mut self, kind: u8, value: &[u8]) -> Result<(), ParseError> {
        match (kind, value) {
            (VERSION_KIND, &[version]) => self.version = version,
            (MSS, &[a, b]) if [a, b] != [0, 0] => self.mss = u16::from_be_bytes([a, b]),
            (BLOCK_SIZE, &[size @ 1..=MAX_BLOCK]) => self.block_size = size,
            (CWND_MAX, &[window @ 1..=u8::MAX]) => self.cwnd_max = window,
            (ACK_POLICY, &[rule @ 0..=ACK_RULES]) => self.set_ack_rule(rule),
            (TAKES_NOTICES, &[takes @ 0..=1]) => self.takes_notices = takes == 1,
            (INITIAL_TTL, &[ttl @ 1..=u8::MAX]) => self.initial_ttl = ttl,
            (ACK_INTERVAL, &[a, b, c, d]) => self.ack_interval = u32::from_be_bytes([a, b, c, d]),
            (RTO_MIN, &[a, b, c, d]) => self.rto_min = u32::from_be_bytes([a, b, c, d]),
            (VERSION_KIND..=RTO_MIN, _) => {
                let (name, allowed) = ("option", "1 to 9, each with its own length and range");
                return Err(ParseError::Field { name, found: u32::from(kind), allowed });
            }
            _ => {}
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            version: VERSION,
            mss: 536,
            block_size: MAX_BLOCK,
            cwnd_max: 2,
            ack_policy: AckPolicy::EveryTwo,
            ack_block_end: false,
            ack_gaps: false,
            takes_notices: false,
            initial_ttl: 64,
            ack_interval: 100_000,
            rto_min: 200_000,
        }
    }
}

fn put<const N: usize>(out: &mut Vec<u8>, kind: u8, value: [u8; N]) {
    out.extend_from_slice(&[kind, u8::try_from(N).expect("values have 1 to 4 bytes")]);
    out.extend_from_slice(&value);
}

/// Length of an option's type and length fields, bytes.
const HEADER: usize = 2;

/// Type of an option of one byte, without length or value.
const PAD: u8 = 0;
const VERSION_KIND: u8 = 1;
const MSS: u8 = 2;
const BLOCK_SIZE: u8 = 3;
const CWND_MAX: u8 = 4;
const ACK_POLICY: u8 = 5;
const TAKES_NOTICES: u8 = 6;
const INITIAL_TTL: u8 = 7;
const ACK_INTERVAL: u8 = 8;
const RTO_MIN: u8 = 9;

const EVERY_WINDOW: u8 = 1;
const BLOCK_END: u8 = 2;
const GAPS: u8 = 4;
const ACK_RULES: u8 = EVERY_WINDOW | BLOCK_END | GAPS;
