//! Link costs: an extension of HELLO, and a flooded message. Nodes without the extension ignore the first and forward
//! the second.
//!
//! In a HELLO, the extension is two groups of links with codes that RFC 3626 §6.1.1 reserves and that nodes discard if
//! unknown. The costs of a TC's links are a message of a type for private use (§18.4) that follows the TC.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::reader::Reader;

/// The quantity that a link's number measures: 0 delay, 1 expected transmissions (ETX). Metrics choose further ones.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quantity(pub u8);

/// The extension of a HELLO: when it was sent, and how well others are heard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// Counts the HELLOs of the sender.
    pub number: u16,
    /// The quantity in `heard`.
    pub quantity: Quantity,
    /// The sender's clock at transmission, microseconds.
    pub stamp: u32,
    /// Neighbours' interfaces, and how well they are heard.
    pub heard: Vec<(Ipv4Addr, u32)>,
    /// The last timestamps of neighbours, for clocks that are not synchronised.
    pub echoes: Vec<Echo>,
}

/// A neighbour's timestamp, echoed to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Echo {
    /// The neighbour's interface.
    pub address: Ipv4Addr,
    /// The timestamp of its last HELLO.
    pub stamp: u32,
    /// The clock of this report's sender when that HELLO arrived.
    pub arrived: u32,
}

/// The costs of the links of a TC.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Costs {
    /// The sequence number of the TC (ANSN).
    pub sequence: u16,
    /// The quantity in `costs`.
    pub quantity: Quantity,
    /// One for each neighbour of the TC, in the order of addresses.
    pub costs: Vec<u32>,
}

/// Link codes of the groups.
pub(super) const REPORT: u8 = 16;
pub(super) const ECHOES: u8 = 17;

/// The message type of [`Costs`].
pub(super) const COSTS: u8 = 144;

impl Report {
    /// Lengths of the groups without their headers.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [8 + 8 * self.heard.len(), 12 * self.echoes.len()]
    }

    /// Parses a group with code [`REPORT`]; `None` if it is not this extension.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        let (number, quantity, _reserved) = (r.u16().ok()?, r.u8().ok()?, r.u8().ok()?);
        let (quantity, stamp) = (Quantity(quantity), r.u32().ok()?);
        let heard = words::<2>(r.rest())?.map(|[address, value]| (address.into(), value)).collect();
        Some(Self { number, quantity, stamp, heard, echoes: Vec::new() })
    }

    /// Parses a group with code [`ECHOES`]; `None` if it is not this extension.
    pub(super) fn parse_echoes(bytes: &[u8]) -> Option<Vec<Echo>> {
        let echo = |[address, stamp, arrived]: [u32; 3]| Echo { address: address.into(), stamp, arrived };
        Some(words(bytes)?.map(echo).collect())
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&[self.quantity.0, 0]);
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

    /// Parses a message; `None` if it is not this extension.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        let (sequence, quantity, _reserved) = (r.u16().ok()?, r.u8().ok()?, r.u8().ok()?);
        let quantity = Quantity(quantity);
        Some(Self { sequence, quantity, costs: words(r.rest())?.map(|[cost]| cost).collect() })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&[self.quantity.0, 0]);
        self.costs.iter().for_each(|cost| out.extend_from_slice(&cost.to_be_bytes()));
    }
}

/// Numbers in groups of `N`; `None` if the length is not a multiple of a group.
fn words<const N: usize>(bytes: &[u8]) -> Option<impl Iterator<Item = [u32; N]>> {
    let (words, rest) = bytes.as_chunks::<4>();
    let whole = rest.is_empty() && words.len().is_multiple_of(N);
    let (groups, _) = words.as_chunks::<N>();
    whole.then(|| groups.iter().map(|group| group.map(u32::from_be_bytes)))
}
