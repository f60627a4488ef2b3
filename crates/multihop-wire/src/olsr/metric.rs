//! Link costs: an extension of HELLO, and a flooded message. Nodes without the extension ignore the first and forward
//! the second.
//!
//! In a HELLO, the extension is two groups of links with codes that RFC 3626 §6.1.1 reserves and that nodes discard if
//! unknown. The costs of a TC's links are a message of a type for private use (§18.4) that follows the TC.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use super::Address;
use crate::reader::Reader;

/// The quantity that a link's number measures: 0 delay, 1 expected transmissions (ETX). Metrics choose further ones.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quantity(pub u8);

/// Extension of a HELLO with its time stamp, and a measurement of each neighbour's HELLOs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report<A = Ipv4Addr> {
    /// Counts the HELLOs of the sender.
    pub number: u16,
    /// The quantity in `heard`.
    pub quantity: Quantity,
    /// The sender's clock at transmission, microseconds.
    pub stamp: u32,
    /// Interface addresses of neighbours, with the measurement of their HELLOs in the unit of `quantity`.
    pub heard: Vec<(A, u32)>,
    /// The last timestamps of neighbours, for clocks that are not synchronised.
    pub echoes: Vec<Echo<A>>,
}

/// A neighbour's timestamp, echoed to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Echo<A = Ipv4Addr> {
    /// Address of the neighbour's interface.
    pub address: A,
    /// Timestamp in the neighbour's last HELLO.
    pub stamp: u32,
    /// Time at which the neighbour's last HELLO arrived, by the clock of the node that sends this echo.
    pub arrived: u32,
}

/// The costs of the links of a TC.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Costs {
    /// The sequence number of the TC (ANSN).
    pub sequence: u16,
    /// The quantity in `costs`.
    pub quantity: Quantity,
    /// Cost of each neighbour of the TC, in the order in which the TC lists them.
    pub costs: Vec<u32>,
}

/// Link code of the group with reported costs.
pub(super) const REPORT: u8 = 16;
pub(super) const ECHOES: u8 = 17;

/// The message type of [`Costs`].
pub(super) const COSTS: u8 = 144;

impl<A: Address> Report<A> {
    /// Lengths of the groups without their headers.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [8 + (A::LEN + 4) * self.heard.len(), (A::LEN + 8) * self.echoes.len()]
    }

    /// Parses a group with code [`REPORT`]; `None` if it is not this extension.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        let (number, quantity, _reserved) = (r.u16().ok()?, r.u8().ok()?, r.u8().ok()?);
        let (quantity, stamp) = (Quantity(quantity), r.u32().ok()?);
        let heard = rows(r.rest())?.map(|(address, [value])| (address, value)).collect();
        Some(Self { number, quantity, stamp, heard, echoes: Vec::new() })
    }

    /// Parses a group with code [`ECHOES`]; `None` if it is not this extension.
    pub(super) fn parse_echoes(bytes: &[u8]) -> Option<Vec<Echo<A>>> {
        Some(rows(bytes)?.map(|(address, [stamp, arrived])| Echo { address, stamp, arrived }).collect())
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&[self.quantity.0, 0]);
        out.extend_from_slice(&self.stamp.to_be_bytes());
        for (address, value) in &self.heard {
            address.emit(out);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }

    pub(super) fn emit_echoes(&self, out: &mut Vec<u8>) {
        for echo in &self.echoes {
            echo.address.emit(out);
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
        let (costs, rest) = r.rest().as_chunks();
        let costs = costs.iter().copied().map(u32::from_be_bytes).collect();
        rest.is_empty().then_some(Self { sequence, quantity, costs })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&[self.quantity.0, 0]);
        self.costs.iter().for_each(|cost| out.extend_from_slice(&cost.to_be_bytes()));
    }
}

/// Parses entries of one address and `N` numbers each; `None` if the last entry is incomplete.
fn rows<A: Address, const N: usize>(bytes: &[u8]) -> Option<impl Iterator<Item = (A, [u32; N])>> {
    let size = A::LEN + 4 * N;
    let row = |row: &[u8]| {
        let (address, numbers) = row.split_at(A::LEN);
        let (numbers, _) = numbers.as_chunks();
        (A::read(address), core::array::from_fn(|n| u32::from_be_bytes(numbers[n])))
    };
    bytes.len().is_multiple_of(size).then(|| bytes.chunks_exact(size).map(row))
}
