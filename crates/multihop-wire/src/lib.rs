//! Packet formats: bytes to typed packets and back.
//!
//! Each packet type has `parse(&[u8]) -> Result<Self, ParseError>` and `emit(&self, &mut Vec<u8>)`, which are inverse
//! to each other: every value that can be constructed can be sent. For a header with a payload, `parse` also returns the
//! bytes of the payload and `emit` takes them. Formats whose checksum covers the IP addresses take the addresses as
//! arguments.
//!
//! Parsed data is [`multihop_core::Payload::Bytes`], or `EMPTY` if there is none.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod error;
mod quoted;
mod reader;
pub use error::ParseError;
pub use quoted::{PROTOCOL_EXPERIMENT, Quoted};

pub mod aodv;
pub mod arp;
pub mod babel;
pub mod batman;
pub mod checksum;
pub mod control;
pub mod custom;
pub mod dot11;
pub mod dsr;
pub mod hwmp;
pub mod icmp;
pub mod ipv4;
pub mod mesh;
pub mod olsr;
pub mod olsrv2;
pub mod radiotap;
pub mod rfc5444;
pub mod tcp;
pub mod tpa;
pub mod udp;

#[cfg(test)]
mod testing;
