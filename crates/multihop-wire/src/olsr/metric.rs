//! What links cost: an extension of HELLO and of the messages that are flooded, which nodes of
//! RFC 3626 skip or pass on unread.
//!
//! In a HELLO it is two groups of links whose codes RFC 3626 §6.1.1 leaves to the future, and which
//! it has nodes discard when they do not know them. What a TC's links cost is a message of a kind for
//! private use (§18.4) that follows the TC.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::reader::Reader;

/// What a number says of a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Quantity {
    /// How long a message takes, in microseconds.
    Delay,
    /// In a HELLO the share of messages that arrive, in millionths; in a flooded message how often a
    /// packet is sent until it and its acknowledgement have arrived, in thousandths.
    Transmissions,
}

/// What a HELLO says besides: when it left, and how well others are heard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// Counts the HELLOs of the sender.
    pub number: u16,
    /// What `heard` says.
    pub quantity: Quantity,
    /// The sender's clock when it left, in microseconds.
    pub stamp: u32,
    /// Neighbours' interfaces, and how well they are heard.
    pub heard: Vec<(Ipv4Addr, u32)>,
    /// The last stamps of neighbours, for clocks that do not agree.
    pub echoes: Vec<Echo>,
}

/// A neighbour's stamp, sent back to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Echo {
    /// The neighbour's interface.
    pub address: Ipv4Addr,
    /// What its last HELLO was stamped with.
    pub stamp: u32,
    /// The clock of this report's sender when that HELLO arrived.
    pub arrived: u32,
}

/// What the links of a TC cost.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Costs {
    /// That of the TC (ANSN).
    pub sequence: u16,
    /// What the costs are.
    pub quantity: Quantity,
    /// One for each neighbour of the TC, in the order of addresses.
    pub costs: Vec<u32>,
}

/// Link codes of the groups.
pub(super) const REPORT: u8 = 16;
pub(super) const ECHOES: u8 = 17;

/// The kind of message that carries [`Costs`].
pub(super) const COSTS: u8 = 144;

impl Report {
    /// Bytes of the groups without their headers.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [8 + 8 * self.heard.len(), 12 * self.echoes.len()]
    }

    /// Reads the content of a group with code [`REPORT`], if it is one of ours.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        let (number, quantity, _reserved) = (r.u16().ok()?, r.u8().ok()?, r.u8().ok()?);
        let (quantity, stamp) = (Quantity::parse(quantity)?, r.u32().ok()?);
        let heard = words::<2>(r.rest())?.map(|[address, value]| (address.into(), value)).collect();
        Some(Self { number, quantity, stamp, heard, echoes: Vec::new() })
    }

    /// Reads the content of a group with code [`ECHOES`], if it is one of ours.
    pub(super) fn parse_echoes(bytes: &[u8]) -> Option<Vec<Echo>> {
        let echo = |[address, stamp, arrived]: [u32; 3]| Echo { address: address.into(), stamp, arrived };
        Some(words(bytes)?.map(echo).collect())
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&[self.quantity.byte(), 0]);
        out.extend_from_slice(&self.stamp.to_be_bytes());
        for (address, value) in &self.heard {
            out.extend_from_slice(&address.octets());
            out.extend_from_slice(&value.to_be_bytes());
        }
    }

    pub(super) fn emit_echoes(&self, out: &mut Vec<u8>) {
        for echo in &self.echoes {
            out.extend_from_slice(&echo.address.octets());
            out.extend_from_slice(&echo.stamp.to_be_bytes());
            out.extend_from_slice(&echo.arrived.to_be_bytes());
        }
    }
}

impl Costs {
    pub(super) fn len(&self) -> usize {
        4 + 4 * self.costs.len()
    }

    /// Reads the content of a message, if it is one of ours.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        let (sequence, quantity, _reserved) = (r.u16().ok()?, r.u8().ok()?, r.u8().ok()?);
        let quantity = Quantity::parse(quantity)?;
        Some(Self { sequence, quantity, costs: words(r.rest())?.map(|[cost]| cost).collect() })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&[self.quantity.byte(), 0]);
        self.costs.iter().for_each(|cost| out.extend_from_slice(&cost.to_be_bytes()));
    }
}

impl Quantity {
    const fn parse(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Delay),
            1 => Some(Self::Transmissions),
            _ => None,
        }
    }

    const fn byte(self) -> u8 {
        match self {
            Self::Delay => 0,
            Self::Transmissions => 1,
        }
    }
}

/// Numbers in groups of so many, if the bytes are as many.
fn words<const N: usize>(bytes: &[u8]) -> Option<impl Iterator<Item = [u32; N]>> {
    let (words, rest) = bytes.as_chunks::<4>();
    let whole = rest.is_empty() && words.len().is_multiple_of(N);
    let (groups, _) = words.as_chunks::<N>();
    whole.then(|| groups.iter().map(|group| group.map(u32::from_be_bytes)))
}
