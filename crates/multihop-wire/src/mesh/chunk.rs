//! Chunks: the parts of a segment of `mesh` that belong to channels.
//!
//! # Bytes
//!
//! A segment of *channels* (`docs/models/mesh.md#channels`), which need feature 1 at both ends, has the header
//! of data with 0x50 in place of 0x10, and no FIN. Then follow the length of the chunk section (2), the chunk
//! headers, and the data of all chunks in their order.
//!
//! A chunk header begins with its kind (1) and, except in SKIP, the number of the channel (variable).
//! *Variable* is a variable-length integer of RFC 9000, section 16.
//!
//! | kind | chunk | bytes behind kind and channel |
//! |---|---|---|
//! | 0x00; + 1 for an ordered channel | OPEN | priority (1), 0 to 7; deadline (variable) in 100 us, at most 864,000,000, 0 for reliable messages; length of the name (1), at most 32; name of visible ASCII characters |
//! | 0x10 | GAP | first message, number of messages, credit used (all variable). The credit is not 0 only for a single message |
//! | 0x20 | CREDIT | limit (variable) |
//! | 0x30 | SKIP, with feature 2 | distance from the first skipped segment to this segment, 1 to 16,383; number of skipped segments, from 1 (both variable). All skipped segments are before this one |
//! | 0x40; + 1 at the end of a message; + 2 with a slack; + 4 with an offset | DATA | message, offset, length, slack in 100 us (all variable); offset and slack only with their flags |
//!
//! | subject | rule |
//! |---|---|
//! | channel numbers | An end numbers the channels that it opens 0, 2, 4, up to 16,382. A chunk has this number if its sender has opened the channel, otherwise that number plus 1 |
//! | message numbers | count from 0 in each direction of a channel |
//! | reliability | A segment of channels has a number and is acknowledged as data of the stream. A receiver takes its chunks at once, whatever earlier segments are missing. Of the copies of one segment only the first to arrive counts |
//! | retransmission | has the same chunks, except that a GAP may take the place of DATA |
//! | gap | A sender that gives up a message sends a GAP, also in place of the unsent part. A receiver ignores the gap of messages that it knows as arrived or given up |
//! | copied message | DATA may repeat a whole message of an earlier segment. The receiver delivers the first copy. A retransmission has no copies |
//! | skipped segments | count as arrived at the receiver. The sender skips a lost segment of channels if all its messages have arrived in other segments or were given up, and announces each gap again |
//! | order | The receiver keeps DATA that arrives before the OPEN of its channel |
//! | credit | A message uses credit of 64 bytes plus its bytes sent so far. The sum over a direction of a channel must not exceed the credit: at first that of option 10, then the largest limit of a CREDIT. A GAP returns the credit that its message has used |
//! | window | A receiver accepts segments of channels among the 256 segments from `next` on, outside of the stream's window |
//! | FIN | follows all messages. Behind FIN only CREDIT is sent |
//! | limits | A chunk that does not end its message has 64 bytes of data or more. At most 4096 messages of a channel may be neither acknowledged nor known as a gap |
//! | a broken rule | The end that finds it resets the connection with cause 7 |
//!
//! Example: the chunks of segment 5, transmission 6, sent at 7 us. A real sender would not divide message 7 into
//! parts of one byte.
//!
//! ```text
//! 50 08 00 00  00 00 00 05  00 00 00 06  00 00 00 07  00 24
//! 01 02 01 47 d0 03 67 70 73      OPEN: ordered channel 2, priority 1, deadline 200 ms, name gps
//! 43 02 00 02 47 08               DATA: its message 0, whole, 2 bytes, slack 180 ms
//! 44 05 07 40 64 01               DATA: 1 byte at offset 100 of message 7, channel 5 of the peer
//! 10 05 08 02 00                  GAP: messages 8 and 9 of channel 5
//! 20 03 80 01 11 70               CREDIT: 70,000 for channel 3
//! 30 41 2c 02                     SKIP: two segments, the first 300 before this one
//! 61 62 63                        data: ab, c
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use super::refusal;
use crate::ParseError;
use crate::reader::Reader;

/// A part of a segment that belongs to a channel.
///
/// `channel` is an even number if the sender of the segment has opened the channel, otherwise an odd one: the two ends
/// name one channel by numbers that differ in the lowest bit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Chunk {
    /// Opens a channel of the sender.
    Open {
        /// Number of the new channel, which is even.
        channel: u16,
        /// Options of the channel, for both directions.
        options: ChannelOptions,
    },
    /// Data of a message. The bytes of all data chunks follow the chunk section, in the order of the chunks.
    Data {
        /// Channel of the message.
        channel: u16,
        /// Number of the message in its direction of the channel, from 0.
        message: u64,
        /// Place of the first byte in the message.
        offset: u64,
        /// Number of bytes of the message in this chunk.
        len: u16,
        /// Whether the message ends with these bytes.
        is_last: bool,
        /// Longest queueing delay with which the chunk arrives before the deadline of its message, in units of 100 us.
        /// `None` without a deadline.
        slack: Option<u32>,
    },
    /// Messages that the sender has given up.
    Gap {
        /// Channel of the messages.
        channel: u16,
        /// Number of the first message.
        first: u64,
        /// Number of messages, at least 1.
        count: u64,
        /// Credit that the sender has used for them. Not 0 only for a single message of which a part was sent.
        used: u64,
    },
    /// The sender's room for messages of a channel.
    Credit {
        /// Channel of the messages.
        channel: u16,
        /// Total credit for the channel since it was opened: the bytes that the receiver of this chunk may have sent.
        limit: u64,
    },
    /// Earlier segments of channels that the sender does not retransmit, because their messages have arrived in other
    /// segments or were given up.
    Skip {
        /// Number of this segment less the number of the first skipped segment, 1 to
        /// [`MAX_DISTANCE`](Self::MAX_DISTANCE).
        distance: u16,
        /// Number of skipped segments, 1 to `distance`.
        count: u16,
    },
}

/// Options of a channel, which its opener chooses for both directions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ChannelOptions {
    /// Class of the channel, 0 to [`MAX_PRIORITY`](Self::MAX_PRIORITY). Messages of class 0 leave first.
    pub priority: u8,
    /// Whether messages are delivered in the order in which they were sent.
    pub is_ordered: bool,
    /// Time after which a message is worthless, in units of 100 us, at most [`MAX_DEADLINE`](Self::MAX_DEADLINE); 0 for
    /// reliable messages.
    pub deadline: u32,
    /// Name of the channel for applications: at most [`MAX_NAME`](Self::MAX_NAME) visible ASCII characters.
    pub name: String,
}

impl ChannelOptions {
    /// Class of the messages that leave last.
    pub const MAX_PRIORITY: u8 = 7;
    /// One day, in units of 100 us.
    pub const MAX_DEADLINE: u32 = 864_000_000;
    /// Maximum length of a name, characters.
    pub const MAX_NAME: usize = 32;

    /// Whether the options are within their bounds, so that they can be sent.
    pub fn is_valid(&self) -> bool {
        self.priority <= Self::MAX_PRIORITY
            && self.deadline <= Self::MAX_DEADLINE
            && self.name.len() <= Self::MAX_NAME
            && self.name.bytes().all(|byte| byte.is_ascii_graphic())
    }

    fn parse(flags: u8, reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let priority = reader.u8()?;
        if priority > Self::MAX_PRIORITY {
            return Err(refusal("priority of a channel", priority.into(), "0 to 7"));
        }
        let deadline = varint(reader)?;
        let deadline = u32::try_from(deadline).ok().filter(|&deadline| deadline <= Self::MAX_DEADLINE);
        let Some(deadline) = deadline else {
            return Err(refusal("deadline of a channel", u32::MAX, "0 to 864000000"));
        };
        let len = reader.u8()?;
        if usize::from(len) > Self::MAX_NAME {
            return Err(refusal("length of a channel's name", len.into(), "0 to 32"));
        }
        let bytes = reader.take(len.into())?;
        if let Some(&byte) = bytes.iter().find(|byte| !byte.is_ascii_graphic()) {
            return Err(refusal("character of a channel's name", byte.into(), "0x21 to 0x7e"));
        }
        let name = bytes.iter().map(|&byte| char::from(byte)).collect();
        Ok(Self { priority, is_ordered: flags & ORDERED != 0, deadline, name })
    }
}

impl Chunk {
    /// Largest number of a channel. The opener of a channel counts by 2, from 0.
    pub const MAX_CHANNEL: u16 = 0x3fff;
    /// Largest value of a number that has a variable length.
    pub const MAX_NUMBER: u64 = (1 << 62) - 1;

    /// Longest distance of a SKIP, segments.
    pub const MAX_DISTANCE: u16 = 0x3fff;

    /// Channel of the chunk, as the sender of its segment names it. Returns 0 for a SKIP, which belongs to no channel.
    pub const fn channel(&self) -> u16 {
        match self {
            Self::Open { channel, .. }
            | Self::Data { channel, .. }
            | Self::Gap { channel, .. }
            | Self::Credit { channel, .. } => *channel,
            Self::Skip { .. } => 0,
        }
    }

    /// Bytes of application data that follow the chunk section.
    pub const fn data_len(&self) -> u16 {
        match self {
            Self::Data { len, .. } => *len,
            _ => 0,
        }
    }

    /// Length of the chunk header, bytes.
    pub fn header_len(&self) -> usize {
        let rest = match self {
            Self::Open { options, .. } => {
                2 * size_of::<u8>() + len_of(options.deadline.into()) + options.name.len()
            }
            Self::Data { message, offset, len, slack, .. } => {
                let slack = slack.map_or(0, |slack| len_of(slack.into()));
                let offset = if *offset == 0 { 0 } else { len_of(*offset) };
                len_of(*message) + offset + len_of((*len).into()) + slack
            }
            Self::Gap { first, count, used, .. } => len_of(*first) + len_of(*count) + len_of(*used),
            Self::Credit { limit, .. } => len_of(*limit),
            Self::Skip { distance, count } => {
                return size_of::<u8>() + len_of((*distance).into()) + len_of((*count).into());
            }
        };
        size_of::<u8>() + len_of(self.channel().into()) + rest
    }

    /// Appends the chunk header.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = |kind: u8, out: &mut Vec<u8>| {
            out.push(kind);
            put(self.channel().into(), out);
        };
        match self {
            Self::Open { options, .. } => {
                start(OPEN | if options.is_ordered { ORDERED } else { 0 }, out);
                out.push(options.priority);
                put(options.deadline.into(), out);
                out.push(u8::try_from(options.name.len()).expect("at most 32 bytes"));
                out.extend_from_slice(options.name.as_bytes());
            }
            Self::Data { message, offset, len, is_last, slack, .. } => {
                let flags = [(*is_last, LAST), (slack.is_some(), SLACK), (*offset > 0, OFFSET)];
                let flags = flags.map(|(is_set, bit)| u8::from(is_set) * bit);
                start(DATA | flags[0] | flags[1] | flags[2], out);
                put(*message, out);
                if *offset > 0 {
                    put(*offset, out);
                }
                put((*len).into(), out);
                if let Some(slack) = slack {
                    put((*slack).into(), out);
                }
            }
            Self::Gap { first, count, used, .. } => {
                start(GAP, out);
                [first, count, used].into_iter().for_each(|number| put(*number, out));
            }
            Self::Credit { limit, .. } => {
                start(CREDIT, out);
                put(*limit, out);
            }
            Self::Skip { distance, count } => {
                out.push(SKIP);
                [distance, count].into_iter().for_each(|&number| put(number.into(), out));
            }
        }
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let kind = reader.u8()?;
        if kind == SKIP {
            return Self::parse_skip(reader);
        }
        let channel = varint(reader)?;
        let Some(channel) = u16::try_from(channel).ok().filter(|&channel| channel <= Self::MAX_CHANNEL)
        else {
            return Err(refusal("number of a channel", u32::MAX, "0 to 16383"));
        };
        match kind {
            OPEN..=0x01 => {
                if channel % 2 == 1 {
                    return Err(refusal("number of a new channel", channel.into(), "an even number"));
                }
                Ok(Self::Open { channel, options: ChannelOptions::parse(kind, reader)? })
            }
            GAP => {
                let (first, count, used) = (varint(reader)?, varint(reader)?, varint(reader)?);
                if count == 0 || first + count > Self::MAX_NUMBER {
                    return Err(refusal("messages of a gap", 0, "at least 1, up to number 2^62 - 2"));
                }
                if count > 1 && used > 0 {
                    return Err(refusal("credit used by several messages of a gap", 1, "0"));
                }
                Ok(Self::Gap { channel, first, count, used })
            }
            CREDIT => Ok(Self::Credit { channel, limit: varint(reader)? }),
            DATA..=0x47 => {
                let message = varint(reader)?;
                let offset = if kind & OFFSET != 0 { varint(reader)? } else { 0 };
                let len = varint(reader)?;
                let slack = if kind & SLACK != 0 { Some(varint(reader)?) } else { None };
                let Ok(len) = u16::try_from(len) else {
                    return Err(refusal("length of a chunk", u32::MAX, "0 to 65535"));
                };
                if message == Self::MAX_NUMBER || offset + u64::from(len) > Self::MAX_NUMBER {
                    return Err(refusal("end of a chunk", u32::MAX, "up to 2^62 - 1"));
                }
                let slack = match slack.map(u32::try_from) {
                    Some(Err(_)) => return Err(refusal("slack", u32::MAX, "0 to 2^32 - 1")),
                    Some(Ok(slack)) => Some(slack),
                    None => None,
                };
                Ok(Self::Data { channel, message, offset, len, is_last: kind & LAST != 0, slack })
            }
            kind => {
                Err(refusal("kind of a chunk", kind.into(), "0x00, 0x01, 0x10, 0x20, 0x30, 0x40 to 0x47"))
            }
        }
    }

    fn parse_skip(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let (distance, count) = (varint(reader)?, varint(reader)?);
        if !(1..=u64::from(Self::MAX_DISTANCE)).contains(&distance) || !(1..=distance).contains(&count) {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            return Err(refusal("segments of a skip", count, "at least 1, all before the segment itself"));
        }
        let within = |number: u64| u16::try_from(number).unwrap_or(Self::MAX_DISTANCE);
        Ok(Self::Skip { distance: within(distance), count: within(count) })
    }
}

/// Parses the chunk section, which is at least one chunk long, and all behind it.
pub(super) fn parse_section<'a>(reader: &mut Reader<'a>) -> Result<Vec<Chunk>, ParseError> {
    let len = reader.u16()?;
    let mut section = Reader::new(reader.take(len.into())?);
    if len == 0 {
        return Err(refusal("length of the chunk section", 0, "at least 3"));
    }
    let mut chunks = Vec::new();
    while !section.is_empty() {
        chunks.push(Chunk::parse(&mut section)?);
    }
    Ok(chunks)
}

/// Appends the chunk section; nothing for a segment without chunks.
pub(super) fn emit_section(chunks: &[Chunk], out: &mut Vec<u8>) {
    if !chunks.is_empty() {
        let len: usize = chunks.iter().map(Chunk::header_len).sum();
        out.extend_from_slice(&u16::try_from(len).expect("chunks fit a segment").to_be_bytes());
        chunks.iter().for_each(|chunk| chunk.emit(out));
    }
}

/// Length of the chunk section, bytes; 0 for a segment without chunks.
pub(super) fn section_len(chunks: &[Chunk]) -> usize {
    if chunks.is_empty() {
        return 0;
    }
    size_of::<u16>() + chunks.iter().map(Chunk::header_len).sum::<usize>()
}

/// Parses a number of variable length (RFC 9000, section 16): the upper two bits of the first byte are the length.
fn varint(reader: &mut Reader<'_>) -> Result<u64, ParseError> {
    let first = reader.u8()?;
    let rest = reader.take((1 << (first >> 6)) - 1)?;
    Ok(rest.iter().fold(u64::from(first & 0x3f), |number, &byte| number << 8 | u64::from(byte)))
}

/// Appends a number of at most [`Chunk::MAX_NUMBER`] in its shortest form.
fn put(number: u64, out: &mut Vec<u8>) {
    let number = number.min(Chunk::MAX_NUMBER);
    let len = len_of(number);
    let marked = number | u64::from(len.ilog2()) << (8 * len - 2);
    out.extend_from_slice(&marked.to_be_bytes()[size_of::<u64>() - len..]);
}

/// Bytes of a number in its shortest form.
const fn len_of(number: u64) -> usize {
    match number {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

const OPEN: u8 = 0x00;
/// The bit of a channel whose messages are delivered in order.
const ORDERED: u8 = 0x01;
const GAP: u8 = 0x10;
const CREDIT: u8 = 0x20;
const SKIP: u8 = 0x30;
const DATA: u8 = 0x40;
/// The bit of the last bytes of a message.
const LAST: u8 = 0x01;
/// The bit of data with a slack.
const SLACK: u8 = 0x02;
/// The bit of data that does not begin its message.
const OFFSET: u8 = 0x04;

#[cfg(test)]
mod tests;
