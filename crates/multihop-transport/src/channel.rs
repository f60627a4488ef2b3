//! Channels: messages of several classes over one connection. `mesh` is the only built-in transport with
//! channels.

use alloc::string::String;
use core::{error, fmt};

use multihop_core::{Duration, Instant, Payload};
use multihop_wire::mesh::ChannelOptions;

use crate::event::Data;

/// Number of a channel at one end: even if this end has opened the channel, otherwise odd. The numbers that
/// the two ends use for a channel differ in the lowest bit only. Names of channels are equal at both ends.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ChannelId(pub u16);

impl ChannelId {
    /// Number of the channel at the other end.
    #[must_use]
    pub const fn at_peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Whether this end has opened the channel.
    pub const fn is_own(self) -> bool {
        self.0 & 1 == 0
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Options of a channel, which its opener chooses for both directions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Options {
    /// Class of the channel, 0 to 7. Messages of class 0 leave first. Messages of classes 0 to 3 leave before
    /// data of the stream, messages of classes 4 to 7 after it.
    pub priority: u8,
    /// Whether messages are delivered in the order in which they were sent.
    pub is_ordered: bool,
    /// Time after which a message is worthless, 1 ms to 1 day; `None` for reliable messages.
    pub deadline: Option<Duration>,
    /// Name of the channel: at most 32 visible ASCII characters.
    pub name: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { priority: 3, is_ordered: true, deadline: None, name: String::new() }
    }
}

impl Options {
    /// Encodes the options for the peer.
    pub(crate) fn to_wire(&self) -> Result<ChannelOptions, ChannelError> {
        let units = self.deadline.map_or(0, |deadline| deadline.as_micros() / UNIT.as_micros());
        let is_allowed = self.deadline.is_none_or(|deadline| deadline >= MIN_DEADLINE);
        let Some(deadline) = u32::try_from(units).ok().filter(|_| is_allowed) else {
            return Err(ChannelError::Deadline);
        };
        let options = ChannelOptions {
            priority: self.priority,
            is_ordered: self.is_ordered,
            deadline,
            name: self.name.clone(),
        };
        match options.is_valid() {
            true => Ok(options),
            false if options.priority > ChannelOptions::MAX_PRIORITY => {
                Err(ChannelError::Priority(options.priority))
            }
            false if options.deadline > ChannelOptions::MAX_DEADLINE => Err(ChannelError::Deadline),
            false => Err(ChannelError::Name),
        }
    }

    /// Decodes the options that a peer has sent.
    pub(crate) fn of_wire(options: ChannelOptions) -> Self {
        let ChannelOptions { priority, is_ordered, deadline, name } = options;
        let deadline = (deadline > 0).then(|| UNIT * u64::from(deadline));
        Self { priority, is_ordered, deadline, name }
    }
}

/// One delivery of a channel to its application.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Received {
    /// Channel of the message.
    pub channel: ChannelId,
    /// Number of the message, from 0 in each direction of a channel. Of a gap, the number of its first message.
    pub message: u64,
    /// The message, a part of it, or a gap.
    pub content: Content,
    /// Whether the deadline of the message has passed, as far as the receiver can judge: see docs/models/mesh.md.
    pub is_late: bool,
}

/// Content of one delivery: a message, a part of one, or a gap.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    /// All bytes of a message. Long messages are always delivered in parts.
    Whole(Payload),
    /// A part of a long message. The parts of one message arrive in order. A gap may take the place of later parts.
    Part {
        /// Place of the first byte in the message.
        offset: u64,
        /// Bytes of the part.
        data: Payload,
        /// Whether the message ends with the part.
        is_last: bool,
    },
    /// Number of consecutive messages that the peer has given up, beginning with the message of this
    /// delivery.
    Gap(u64),
}

/// Counters of a channel at one end.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ChannelCounters {
    /// Messages that the application has sent or begun to send.
    pub sent: u64,
    /// Messages sent that were given up because of their deadline.
    pub given_up: u64,
    /// Messages received and passed to the application as a whole, or to their last part.
    pub delivered: u64,
    /// Delivered messages whose deadline had passed.
    pub late: u64,
    /// Messages of the peer that were given up.
    pub missed: u64,
}

/// Reason for which a channel cannot be opened or used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChannelError {
    /// The connection is not established, or closed for sending.
    NotOpen,
    /// The configuration of this end excludes channels.
    Disabled,
    /// The peer does not support channels.
    Unsupported,
    /// The peer accepts no more than this number of channels.
    TooMany(u16),
    /// The memory that the connections of a socket share (`limits.memory`) has no room for another channel.
    Memory,
    /// The priority is above 7.
    Priority(u8),
    /// The deadline is below 1 ms or above 1 day.
    Deadline,
    /// The name is too long, or has other characters than visible ASCII.
    Name,
    /// There is no channel with this number.
    Unknown(ChannelId),
    /// The channel has no room for another message now.
    Full,
    /// The peer accepts no message longer than this number of bytes.
    TooLong(u64),
    /// The previous message has not been sent to its end.
    Unfinished,
    /// The data is an endless source, which fits into no message.
    Endless,
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen => f.write_str("connection is not open for sending"),
            Self::Disabled => f.write_str("channels are disabled in the configuration of this end"),
            Self::Unsupported => f.write_str("the peer does not support channels"),
            Self::TooMany(limit) => write!(f, "too many channels, the peer accepts {limit}"),
            Self::Memory => f.write_str("no memory for another channel, limits.memory is reached"),
            Self::Priority(priority) => write!(f, "priority is {priority}, allowed: 0 to 7"),
            Self::Deadline => f.write_str("deadline is out of its range, allowed: 1 ms to 1 day"),
            Self::Name => f.write_str("name of a channel, allowed: up to 32 visible ASCII characters"),
            Self::Unknown(channel) => write!(f, "no channel has the number {channel}"),
            Self::Full => f.write_str("the channel has no room for another message now"),
            Self::TooLong(limit) => write!(f, "message is too long, the peer accepts {limit} bytes"),
            Self::Unfinished => f.write_str("the message before has not been sent to its end"),
            Self::Endless => f.write_str("a message has an end, the data has none"),
        }
    }
}

impl error::Error for ChannelError {}

/// The channels of a connection.
///
/// As after every call of a connection, the driver drains `poll_output`. [`Event::Channels`](crate::connection::Event)
/// reports that messages have arrived, or that channels have room again.
pub trait Channels {
    /// Opens a channel, in which both ends can send messages.
    fn open_channel(&mut self, options: Options) -> Result<ChannelId, ChannelError>;

    /// Queues a whole message and returns its number. A channel with any room takes a message of any length.
    fn send_message(&mut self, now: Instant, channel: ChannelId, data: Data) -> Result<u64, ChannelError>;

    /// Queues a part of a message and returns the message's number. The first part begins a message and
    /// starts its deadline.
    fn send_part(
        &mut self,
        now: Instant,
        channel: ChannelId,
        data: Data,
        is_last: bool,
    ) -> Result<u64, ChannelError>;

    /// Bytes that a channel takes before it is full; 0 for an unknown channel.
    fn writable(&self, channel: ChannelId) -> u64;

    /// Takes what has arrived in the first class that has something.
    fn poll_message(&mut self, now: Instant) -> Option<Received>;

    /// Takes the next delivery of one channel; `None` if there is none.
    fn poll_message_of(&mut self, now: Instant, channel: ChannelId) -> Option<Received>;

    /// Options of a channel; `None` if neither end has opened it.
    fn channel_options(&self, channel: ChannelId) -> Option<&Options>;

    /// Counters of a channel; `None` if neither end has opened it.
    fn channel_counters(&self, channel: ChannelId) -> Option<ChannelCounters>;
}

/// Unit of deadlines and of slack in segments.
pub(crate) const UNIT: Duration = Duration::from_micros(100);
const MIN_DEADLINE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_their_bounds_are_refused_with_a_reason() {
        let of = |deadline, priority, name: &str| {
            Options { deadline, priority, name: name.into(), ..Options::default() }.to_wire()
        };
        let deadline = |micros| of(Some(Duration::from_micros(micros)), 3, "");
        assert_eq!(deadline(1000).map(|options| options.deadline), Ok(10));
        assert_eq!(deadline(86_400_000_000).map(|options| options.deadline), Ok(864_000_000));
        for micros in [0, 999, 86_400_000_100, u64::MAX / 1000] {
            assert_eq!(deadline(micros), Err(ChannelError::Deadline), "{micros} us");
        }
        assert_eq!(of(None, 8, ""), Err(ChannelError::Priority(8)));
        assert_eq!(of(None, 7, "two words"), Err(ChannelError::Name));
        assert_eq!(of(None, 7, &"a".repeat(33)), Err(ChannelError::Name));
        let options = Options { name: "gps".into(), ..Options::default() };
        assert_eq!(Options::of_wire(options.to_wire().expect("in bounds")), options);
    }
}
