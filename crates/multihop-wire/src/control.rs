//! Control segments: they open, watch and reset the connections of `mesh` and, on real networks, of user-defined
//! transports.
//!
//! Each end draws a random connection number of 32 bits and sends it in its SYN. A transport counts its segments from
//! the connection number plus one, so that segments of earlier connections lie outside of the window.
//!
//! # Bytes
//!
//! Control segments open, keep alive and reset connections of `mesh` and of user-defined transports.
//!
//! | first byte | segment | bytes behind it |
//! |---|---|---|
//! | 0x30 | SYN | attempt from 0 (1), 0 (1), 7 (1), connection number (4), window (2), options |
//! | 0x31 | SYN ACK | attempt of the SYN (1), 0 (1), 7 (1), connection number of the listener (4), connection number of the SYN (4), window (2), options |
//! | 0x32 | RST | cause (1), flags (1), 0 (1), number (4), text: 0 to 200 visible ASCII characters and blanks |
//! | 0x33 | keepalive | 0 (3), number of the sender's next segment (4) |
//!
//! Each end draws a random connection number of 32 bits. Receivers ignore reserved bytes, which are sent as
//! 0. The fourth byte of a TPA segment has its flags; 7 there would mean FIN, SYN and RST, of which no segment
//! of TPA has two. The 7 of a SYN therefore identifies a control segment.
//!
//! | RST | number |
//! |---|---|
//! | of an open connection | a segment that its receiver has in flight, or the receiver's next segment |
//! | in answer to data, FIN, probe or keepalive | that of the answered segment |
//! | in answer to an ACK | `next` of the ACK, with bit 1 of the flags: the number that the RST's receiver expects next |
//! | in answer to a SYN | the SYN's connection number |
//!
//! Ends ignore RSTs with any other number, and answer none.
//!
//! | cause | meaning | text |
//! |---|---|---|
//! | 0 | the application aborted | |
//! | 1 | unknown connection | |
//! | 2 | unsupported version | version of the sender |
//! | 3 | unknown mandatory option | its type |
//! | 4 | no transport in common | the sender's transports |
//! | 5 | no room for another connection | |
//! | 6 | only encrypted connections | |
//! | 7 | a rule of *channels* (`docs/wire.md#channels-of-mesh`) was broken | channel and rule |
//!
//! ## Options of a control SYN
//!
//! As in *TPA* (`docs/wire.md#options-of-a-syn`), in at most 1000 bytes. An unknown even type is skipped, an
//! unknown odd one refused by RST. A value out of range makes the SYN invalid, without an answer. Of several
//! options of one type, the last counts.
//!
//! | type | length | value |
//! |---|---|---|
//! | 1 | 1 | version: 3 |
//! | 2 | 0 to 255 | features, of which both ends use the common ones: bit n mod 8 (0 the least significant) of byte n div 8. 0: *second path* (`docs/models/mesh.md#two-paths`) in encrypted connections. 1: *channels* (`docs/wire.md#channels-of-mesh`). 2: SKIP in channels |
//! | 3 | 2 to 232 | up to 8 names of transports: length (1), 1 to 28 visible ASCII characters. A listener answers with the chosen one |
//! | 4 | 16 | cookie; zeros request one |
//! | 6 | 1 | initial TTL of the sender's packets, from 1 |
//! | 8 | 2 | longest payload that the sender accepts, from 1 |
//! | 10 | 14 | limits for *channels* (`docs/wire.md#channels-of-mesh`), with feature 1: channels that the receiver of the SYN may open (2), its credit in a new channel (4), length of its longest message (8) |

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::ParseError;
use crate::reader::Reader;

mod names;
mod options;

pub use names::Names;
pub use options::{ChannelLimits, Features, Options};

/// The implemented version of the protocol.
pub const VERSION: u8 = 3;

/// A control segment, which opens, watches or resets a connection of any transport over UDP.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Control {
    /// Opens a connection, or answers the peer's SYN.
    Syn(Syn),
    /// Resets or refuses a connection.
    Reset(Reset),
    /// Requests an acknowledgement from a silent peer. It has the number of the sender's next segment.
    KeepAlive(u32),
}

/// A SYN, or a SYN ACK.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Syn {
    /// The sender's connection number.
    pub number: u32,
    /// Serial number of a SYN, from 0: a retransmission has the next one.
    pub attempt: u8,
    /// Connection number of the peer in a SYN ACK; `None` in a SYN.
    pub answers: Option<u32>,
    /// Receive window of the sender: number of further segments that it has room for.
    pub window: u16,
    /// Version, transports and features that the sender supports.
    pub options: Options,
}

impl Syn {
    /// The reset that refuses a SYN with another version, or with an unknown option that must be understood.
    pub fn refusal(&self) -> Option<Reset> {
        let (cause, text) = match self.options.unknown {
            _ if self.options.version != VERSION => (Cause::VERSION, VERSION.to_string()),
            Some(kind) => (Cause::OPTION, kind.to_string()),
            None => return None,
        };
        Some(Reset { cause, number: self.number, is_expected: false, text })
    }
}

/// A segment that resets a connection or refuses a SYN.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reset {
    /// The reason for which the sender resets the connection.
    pub cause: Cause,
    /// A number that proves that the sender is an end of the connection: that of a segment that the receiver
    /// of this reset has sent, or of the segment that the receiver expects.
    pub number: u32,
    /// Whether `number` is that of the segment that the receiver of this reset expects.
    pub is_expected: bool,
    /// Details for people: at most [`MAX_TEXT`](Self::MAX_TEXT) visible ASCII characters and blanks.
    pub text: String,
}

/// The reason for which an end resets a connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cause(pub u8);

impl Cause {
    /// The application has ended the connection.
    pub const ABORTED: Self = Self(0);
    /// The segment belongs to no connection.
    pub const UNKNOWN_CONNECTION: Self = Self(1);
    /// The version of the SYN is not supported; the text is the version of the sender of the reset.
    pub const VERSION: Self = Self(2);
    /// The SYN has an unknown option that must be understood; the text is its type.
    pub const OPTION: Self = Self(3);
    /// No transport is common to both ends.
    pub const TRANSPORT: Self = Self(4);
    /// The listener has no room for another connection.
    pub const BUSY: Self = Self(5);
    /// The listener accepts only encrypted connections.
    pub const NOT_PLAIN: Self = Self(6);
    /// The peer has broken a rule or a limit of channels; the text says which.
    pub const CHANNEL: Self = Self(7);

    /// A description of the cause for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ABORTED => "aborted",
            Self::UNKNOWN_CONNECTION => "unknown connection",
            Self::VERSION => "version",
            Self::OPTION => "option",
            Self::TRANSPORT => "transport",
            Self::BUSY => "busy",
            Self::NOT_PLAIN => "not plain",
            Self::CHANNEL => "channel",
            _ => "unknown cause",
        }
    }
}

impl Reset {
    /// Maximum length of [`text`](Self::text), characters.
    pub const MAX_TEXT: usize = 200;
}

impl Control {
    /// Bytes of a SYN without options.
    pub const SYN_HEADER: usize = 10;
    /// Bytes of all options of a SYN, at most.
    pub const MAX_OPTIONS: usize = 1000;

    /// Reads a control segment from all of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            SYN => parse_syn(reader, false).map(Self::Syn),
            SYN_ACK => parse_syn(reader, true).map(Self::Syn),
            RESET => parse_reset(reader).map(Self::Reset),
            KEEP_ALIVE => {
                reader.take(3)?;
                let number = reader.u32()?;
                end(&reader)?;
                Ok(Self::KeepAlive(number))
            }
            kind => Err(refusal("kind", kind.into(), "0x30 to 0x33")),
        }
    }

    /// The number of a SYN or a keepalive; for a reset, the number that proves that its sender is an end of
    /// the connection.
    pub const fn number(&self) -> u32 {
        match self {
            Self::Syn(syn) => syn.number,
            Self::Reset(reset) => reset.number,
            Self::KeepAlive(number) => *number,
        }
    }

    /// Whether the first byte of a segment is that of a control segment.
    pub const fn has_kind(kind: u8) -> bool {
        matches!(kind, SYN | SYN_ACK | RESET | KEEP_ALIVE)
    }

    /// Appends the bytes of the segment.
    ///
    /// Of the text of a reset, at most [`Reset::MAX_TEXT`] characters are sent, and a question mark in place of each one
    /// that is neither visible ASCII nor a blank.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Syn(syn) => {
                let kind = if syn.answers.is_some() { SYN_ACK } else { SYN };
                out.extend_from_slice(&[kind, syn.attempt, 0, NOT_TPA]);
                out.extend_from_slice(&syn.number.to_be_bytes());
                if let Some(number) = syn.answers {
                    out.extend_from_slice(&number.to_be_bytes());
                }
                out.extend_from_slice(&syn.window.to_be_bytes());
                syn.options.emit(out);
            }
            Self::Reset(reset) => {
                out.extend_from_slice(&[RESET, reset.cause.0, u8::from(reset.is_expected), 0]);
                out.extend_from_slice(&reset.number.to_be_bytes());
                let text = reset.text.chars().take(Reset::MAX_TEXT);
                out.extend(text.map(|c| u8::try_from(c).ok().filter(|&byte| is_text(byte)).unwrap_or(b'?')));
            }
            Self::KeepAlive(number) => {
                out.extend_from_slice(&[KEEP_ALIVE, 0, 0, 0]);
                out.extend_from_slice(&number.to_be_bytes());
            }
        }
    }

    /// Length of the segment, bytes.
    pub fn wire_len(&self) -> usize {
        match self {
            Self::Syn(syn) => {
                Self::SYN_HEADER + syn.answers.map_or(0, |_| size_of::<u32>()) + syn.options.wire_len()
            }
            Self::Reset(reset) => HEADER + reset.text.chars().take(Reset::MAX_TEXT).count(),
            Self::KeepAlive(_) => HEADER,
        }
    }

    /// The connection number of a SYN or SYN ACK whose first bytes a notice quotes.
    pub fn quoted_syn(start: &[u8; 16]) -> Option<u32> {
        let number = u32::from_be_bytes([start[4], start[5], start[6], start[7]]);
        matches!(start[0], SYN | SYN_ACK).then_some(number)
    }
}

/// Parses a SYN or SYN ACK without its first byte, the kind.
fn parse_syn(mut reader: Reader<'_>, has_answer: bool) -> Result<Syn, ParseError> {
    let attempt = reader.u8()?;
    reader.u8()?;
    let mark = reader.u8()?;
    if mark & NOT_TPA != NOT_TPA {
        return Err(refusal("fourth byte of a SYN", mark.into(), "those with the bits 1, 2 and 4"));
    }
    let number = reader.u32()?;
    let answers = if has_answer { Some(reader.u32()?) } else { None };
    let window = reader.u16()?;
    Ok(Syn { number, attempt, answers, window, options: Options::parse(reader.rest())? })
}

/// Parses a reset without its first byte, the kind.
fn parse_reset(mut reader: Reader<'_>) -> Result<Reset, ParseError> {
    let cause = Cause(reader.u8()?);
    let is_expected = reader.u8()? & 1 != 0;
    reader.u8()?;
    let number = reader.u32()?;
    let bytes = reader.rest();
    if bytes.len() > Reset::MAX_TEXT {
        return Err(refusal(
            "length of the text",
            u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            "0 to 200",
        ));
    }
    if let Some(&byte) = bytes.iter().find(|&&byte| !is_text(byte)) {
        return Err(refusal("character of the text", byte.into(), "0x20 to 0x7e"));
    }
    let text = bytes.iter().map(|&byte| char::from(byte)).collect();
    Ok(Reset { cause, number, is_expected, text })
}

/// Checks that all bytes have been read; the error is [`ParseError`] otherwise.
pub(crate) fn end(reader: &Reader<'_>) -> Result<(), ParseError> {
    if reader.is_empty() { Ok(()) } else { Err(refusal("bytes after the segment", 1, "none")) }
}

/// Whether the text of a reset may have this byte.
const fn is_text(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic()
}

const fn refusal(name: &'static str, found: u32, allowed: &'static str) -> ParseError {
    ParseError::Field { name, found, allowed }
}

/// Bytes of a reset without text, and of a keepalive.
const HEADER: usize = 8;

const SYN: u8 = 0x30;
const SYN_ACK: u8 = 0x31;
const RESET: u8 = 0x32;
const KEEP_ALIVE: u8 = 0x33;
/// Bits of which a segment of TPA has at most one set: RST, SYN and FIN.
const NOT_TPA: u8 = 0x07;

#[cfg(test)]
mod tests;
