//! The applications of flows, with their keys.

use core::ops::RangeInclusive;

use multihop_core::settings::{Field, Settings, Visitor};
use multihop_core::{BitRate, Duration, FlowId};

use crate::bounds::{KILOBITS_PER_SECOND, SECONDS, TIME_SPAN};

/// Application of a flow, with its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Settings)]
#[settings(tag = "app")]
pub enum App {
    /// An unlimited amount of data.
    #[default]
    Ftp,
    /// A fixed amount of data.
    File {
        /// Number of application bytes.
        #[key(BYTES, required)]
        bytes: u64,
    },
    /// Files of Pareto size with exponential pauses between them.
    Pareto {
        /// Mean size of a file, bytes.
        #[key(MEAN_BYTES, required)]
        mean_bytes: f64,
        /// Shape of the distribution; values near 1 give a heavy tail.
        ///
        /// The mean of a Pareto distribution exists only if its shape is more than 1.
        #[key(SHAPE, required)]
        shape: f64,
        /// Mean pause between two files, s.
        #[key(SECONDS, required)]
        mean_pause: Duration,
    },
    /// Datagrams at a constant rate.
    Cbr {
        /// Bit rate of the payload, kb/s.
        #[key(KILOBITS_PER_SECOND, name = "rate_kbps", required, default = SLOWEST)]
        rate: BitRate,
        /// Payload of each datagram, bytes.
        #[key(DATAGRAM, default = 512)]
        size: u32,
    },
    /// Datagrams at random intervals, a Poisson process: the intervals are independent and exponentially distributed.
    Poisson {
        /// Mean bit rate of the payload, kb/s.
        #[key(KILOBITS_PER_SECOND, name = "rate_kbps", required, default = SLOWEST)]
        rate: BitRate,
        /// Payload of each datagram, bytes.
        #[key(DATAGRAM, default = 512)]
        size: u32,
    },
    /// Datagrams at the best constant rate, which the run searches for.
    Paced {
        /// Payload of each datagram, bytes.
        #[key(DATAGRAM, default = 1460)]
        size: u32,
    },
    /// Speech between two people, in datagrams.
    Voice(VoiceParams),
    /// Web pages, one after another, with time to read each.
    Web(WebParams),
    /// A video that is fetched in segments and played from a buffer.
    Video(VideoParams),
    /// Messages of several channels, each with an entry `[[flow.channel]]`.
    Messages,
    /// One file to every node by broadcasts, without routes. Common results of the flow are those of the node `to`.
    Spread {
        /// Size of the file, bytes.
        #[key(SPREAD_BYTES, required, default = 1)]
        bytes: u64,
        /// Number of receivers for which the source waits before it begins.
        #[key(1..=1024, default = 1)]
        expect: usize,
    },
    /// The data that another flow delivers to this flow's sender.
    Relay {
        /// Other flow, by its place in the file from 0 on. It ends where this one begins, and is no relay itself.
        #[key(0..=100_000, required, default = FlowId(0))]
        of: FlowId,
        /// Largest number of bytes that have been read from the other flow and are not yet acknowledged in this flow. At this limit nothing
        /// more is read from the other flow.
        #[key(1..=1_000_000_000, default = 65_536)]
        buffer: u64,
    },
}

/// A talker and a listener.
#[derive(Clone, Copy, Debug, PartialEq, Settings)]
pub struct VoiceParams {
    /// Codec of the speech: G.711 with 64 kb/s, or G.729 with 8 kb/s.
    #[key]
    pub codec: Codec,
    /// Length of the speech in each packet, s.
    #[key(0.01..=0.2, default = Duration::from_millis(20))]
    pub packet: Duration,
    /// Time from the departure of a packet to the instant at which its speech is played, s. Packets that arrive later are lost.
    #[key(0.001..=10.0, default = Duration::from_millis(60))]
    pub playout_delay: Duration,
    /// Mean lengths of talk spurts and of the pauses between them; `None`: speech without pauses.
    #[key(
        name = "speech",
        help = "Times at which the talker speaks: talk spurts and pauses of exponential length with the means of ITU-T P.59, 1.004 s and \
                1.587 s (spurts), or all the time (continuous).",
        with = Self::speech_key,
        default = Some(TALK_SPURTS)
    )]
    pub spurts: Option<(Duration, Duration)>,
}

/// Speech codec, which sets the size and interval of packets.
#[derive(Clone, Copy, Debug, Default, Eq, Field, PartialEq)]
pub enum Codec {
    /// ITU-T G.711, 64 kb/s.
    #[default]
    G711,
    /// ITU-T G.729 with annex A, 8 kb/s.
    G729,
}

/// A user who reads web pages.
#[derive(Clone, Copy, Debug, PartialEq, Settings)]
pub struct WebParams {
    /// Mean time from a complete page to the next one, s; times are exponential.
    #[key(TIME_SPAN, default = Duration::from_secs(30))]
    pub reading: Duration,
}

/// A video and its player.
#[derive(Clone, Copy, Debug, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct VideoParams {
    /// Bit rate of the video, kb/s.
    #[key(KILOBITS_PER_SECOND, name = "rate_kbps", required, default = SLOWEST)]
    pub rate: BitRate,
    /// Length of a segment, s.
    #[key(0.1..=60.0, default = Duration::from_secs(2))]
    pub segment: Duration,
    /// Length of the video in the buffer with which playing begins, and goes on after a stall, s.
    #[key(0.0..=600.0, default = Duration::from_secs(4))]
    pub startup: Duration,
    /// Longest video in the buffer, s. No segment is fetched that does not fit.
    #[key(0.1..=3600.0, name = "buffer_time", default = Duration::from_secs(30))]
    pub buffer: Duration,
}

/// Messages of one kind, in a flow with `app = "messages"`.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct MessageChannel {
    /// Name of the channel in results, up to 32 visible ASCII characters; by default its place in the list.
    #[key(MAX_NAME, default = String::new())]
    pub name: String,
    /// Bytes of each message; under udp at most 2200.
    #[key(1..=1_000_000_000_000, required, default = 1)]
    pub size: u64,
    /// Time between two messages, s. 0: the next one follows as soon as there is room, which udp does not allow.
    #[key(SECONDS)]
    pub interval: Duration,
    /// Time after which a message is worthless, s. Over mesh it is then given up; other transports deliver it late.
    #[key(0.001..=86_400.0)]
    pub deadline: Option<Duration>,
    /// Class of the messages over mesh: those of class 0 leave first.
    #[key(0..=7, default = 3)]
    pub priority: u8,
    /// Whether mesh delivers the messages in order.
    #[key(default = true)]
    pub ordered: bool,
}

impl App {
    /// Whether the application sends datagrams, which need UDP.
    pub const fn sends_datagrams(&self) -> bool {
        matches!(
            self,
            Self::Cbr { .. }
                | Self::Poisson { .. }
                | Self::Paced { .. }
                | Self::Voice(_)
                | Self::Spread { .. }
        )
    }

    /// The name in scenario files and results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ftp => "ftp",
            Self::File { .. } => "file",
            Self::Pareto { .. } => "pareto",
            Self::Cbr { .. } => "cbr",
            Self::Poisson { .. } => "poisson",
            Self::Paced { .. } => "paced",
            Self::Voice(_) => "voice",
            Self::Web(_) => "web",
            Self::Video(_) => "video",
            Self::Messages => "messages",
            Self::Spread { .. } => "spread",
            Self::Relay { .. } => "relay",
        }
    }
}

impl VoiceParams {
    fn speech_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        keys.about(help).word(name, &mut self.spurts, &[("spurts", Some(TALK_SPURTS)), ("continuous", None)]);
    }
}

impl VideoParams {
    fn check(&self, keys: &mut dyn Visitor) {
        let Self { segment, startup, buffer, .. } = *self;
        let whole = segment * buffer.whole(segment);
        if whole == Duration::ZERO {
            let (found, least) = (buffer.as_secs_f64(), segment.as_secs_f64());
            keys.refuse("buffer_time", format!("found {found}, allowed: at least segment, {least}"));
        } else if startup > whole {
            let (found, most) = (startup.as_secs_f64(), whole.as_secs_f64());
            let message = format!(
                "found {found}, allowed: at most {most}, the whole segments that fit into the buffer"
            );
            keys.refuse("startup", message);
        }
    }
}

/// Mean lengths of talk spurts and pauses (ITU-T P.59).
const TALK_SPURTS: (Duration, Duration) = (Duration::from_millis(1004), Duration::from_millis(1587));
/// Placeholder bit rate, used until the required key is read.
const SLOWEST: BitRate = BitRate(1000);
/// Maximum length of a channel's name, characters.
const MAX_NAME: usize = 32;
/// Bounds of a datagram's payload, bytes.
pub(crate) const DATAGRAM: RangeInclusive<u64> = 1..=2200;
/// Bounds of an amount of data, bytes.
pub(crate) const BYTES: RangeInclusive<u64> = 1..=1_000_000_000_000_000;
/// Bounds of a file that goes to every node, bytes: the run keeps it in memory.
const SPREAD_BYTES: RangeInclusive<u64> = 1..=1_000_000_000;
/// Bounds of the mean size of files, bytes.
pub(crate) const MEAN_BYTES: RangeInclusive<f64> = 1.0..=1e15;
/// Bounds of the shape of a Pareto distribution.
pub(crate) const SHAPE: RangeInclusive<f64> = 1.001..=1000.0;
