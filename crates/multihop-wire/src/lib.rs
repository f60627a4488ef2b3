//! Packet formats: bytes to typed packets and back.
//!
//! | modules | formats |
//! |---|---|
//! | [`ipv4`], [`icmp`], [`udp`], [`tcp`], [`arp`] | the Internet protocols |
//! | [`tpa`], [`mesh`], [`control`], [`custom`] | transports of multihop |
//! | [`aodv`], [`dsr`], [`olsr`] | routing protocols |
//! | [`dot11`], [`radiotap`] | 802.11 frames, and the headers of their captures |
//!
//! Each packet type has `parse(&[u8]) -> Result<Self, ParseError>` and `emit(&self, &mut Vec<u8>)`, which are inverse
//! to each other: every value that can be constructed can be sent. For a header with a payload, `parse` also returns the
//! bytes of the payload and `emit` takes them. Formats whose checksum covers the IP addresses take the addresses as
//! arguments.
//!
//! ```
//! use core::net::Ipv4Addr;
//! use multihop_core::Payload;
//! use multihop_wire::{ParseError, udp::Datagram};
//!
//! let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
//! let datagram = Datagram { source: 4000, destination: 4001, payload: Payload::Bytes(b"hello".to_vec()) };
//! let mut bytes = Vec::new();
//! datagram.emit(source, destination, &mut bytes);
//! assert_eq!(Datagram::parse(&bytes, source, destination), Ok(datagram));
//!
//! bytes[9] ^= 1;
//! assert_eq!(Datagram::parse(&bytes, source, destination), Err(ParseError::Checksum));
//! ```
//!
//! Parsed data is [`multihop_core::Payload::Bytes`], or `EMPTY` if there is none. Nothing here sends, retransmits or
//! remembers packets, and IP packets are parsed without options and fragments of their own.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod dscp;
mod error;
mod quoted;
pub use dscp::{dscp, dscp_of_priority};
pub use error::ParseError;
pub use quoted::{PROTOCOL_EXPERIMENT, Quoted};

pub mod aodv;
pub mod arp;
pub mod checksum;
pub mod control;
pub mod custom;
pub mod dot11;
pub mod dsr;
pub mod icmp;
pub mod ipv4;
pub mod mesh;
pub mod olsr;
pub mod radiotap;
pub mod reader;
pub mod tcp;
pub mod tpa;
pub mod udp;

#[cfg(test)]
mod testing;
