//! Bytes to typed packets and back, and nothing else.
//!
//! Each packet type has `parse(&[u8]) -> Result<Self, ParseError>` and `emit(&self, &mut Vec<u8>)`,
//! and one undoes the other: what can be constructed can be sent. Headers that carry another
//! format hand back its bytes when parsed and take them when emitted; formats whose checksum covers
//! the IP addresses take those as well.
//!
//! Data that was parsed is [`multihop_core::Payload::Bytes`], or `EMPTY` where there was none.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod error;
mod quoted;
mod reader;
pub use error::ParseError;
pub use quoted::{PROTOCOL_EXPERIMENT, Quoted};

pub mod aodv;
pub mod arp;
pub mod checksum;
pub mod dot11;
pub mod dsr;
pub mod icmp;
pub mod ipv4;
pub mod olsr;
pub mod radiotap;
pub mod tcp;
pub mod tpa;
pub mod udp;

#[cfg(test)]
mod testing;
