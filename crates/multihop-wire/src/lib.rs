//! Bytes to typed packets and back, and nothing else.
//!
//! Each packet type has `parse(&[u8]) -> Result<Self, ParseError>` and `emit(&self, &mut Vec<u8>)`,
//! and one undoes the other: what can be constructed can be sent.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod tcp;
