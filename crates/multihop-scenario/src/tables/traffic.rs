//! `[[flow]]` and `[traffic]`.

use core::ops::RangeInclusive;

use multihop_core::settings::{Allowed, Given, Settings, Value, Visitor};
use multihop_core::{BitRate, Duration, FlowId};

use multihop_radio::frame::Category;

use super::{KILOBITS_PER_SECOND, NodeRef, SECONDS, TIME_SPAN, bit_rate};
use crate::model::{App, Codec, Transport, VideoParams, VoiceParams, WebParams};
use crate::read::settings::Keyed;
use crate::read::{Both, table};

/// `[[flow]]`.
pub(crate) type FlowTable = Both<Keyed<FlowEnds>, Both<FlowTransport, Keyed<App>>>;

/// `[traffic]`.
pub(crate) type TrafficTable = Both<Keyed<Transfers>, TrafficTransport>;

/// What holds for every application.
#[derive(Default)]
pub(crate) struct FlowEnds {
    pub(crate) from: Option<NodeRef>,
    pub(crate) to: Option<NodeRef>,
    /// s.
    pub(crate) start: f64,
    /// s.
    pub(crate) start_jitter: f64,
    /// s.
    pub(crate) stop: Option<f64>,
    pub(crate) category: Category,
}

impl Settings for FlowEnds {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Sender. A flow that gives neither from nor to takes the next pair of the layout.";
        self.from = keys.about(about).value("from", Allowed::Node, None).map(NodeRef::from);
        self.to = keys.about("Receiver.").value("to", Allowed::Node, None).map(NodeRef::from);
        keys.about("When the application begins, s.").number("start", &mut self.start, SECONDS);
        let about = "The application begins up to this much later than start, s: a time drawn uniformly for each flow and \
                     seed. It keeps flows of constant rate from transmitting at the same instants for the whole run.";
        keys.about(about).number("start_jitter", &mut self.start_jitter, SECONDS);
        let about = "When the application ends, s; by default at the end of the run.";
        keys.about(about).number_if_set("stop", &mut self.stop, TIME_SPAN);
        let about = "Access category of its packets, if mac.edca is on.";
        let categories = Category::ALL.map(|category| (category.name(), category));
        keys.about(about).word("category", &mut self.category, &categories);
    }
}

table! {
    /// How the data of a flow travels.
    FlowTransport {
        /// How the data travels: a short name, or a table of parameters. Only cbr, poisson, paced and
        /// voice have a default, which is udp.
        transport: Option<Transport>,
    }
}

table! {
    /// How the data of transfers travels.
    TrafficTransport {
        /// How the data travels: a short name, or a table of parameters.
        transport: Transport,
    }
}

impl Settings for App {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let kinds = [
            ("ftp", "An unlimited amount of data."),
            ("file", "A fixed amount of data."),
            ("pareto", "Files of Pareto size with exponential pauses between them."),
            ("cbr", "Datagrams at a constant rate."),
            (
                "poisson",
                "Datagrams at random intervals, a Poisson process: the intervals are independent and exponentially distributed.",
            ),
            ("paced", "Datagrams at the best constant rate, which the run searches for."),
            ("voice", "Speech between two people, in datagrams."),
            ("web", "Web pages, one after another, with time to read each."),
            ("video", "A video that is fetched in segments and played from a buffer."),
            ("relay", "The data that another flow delivers to this flow's sender."),
        ];
        keys.kinds("app", Some(0), &kinds, &mut |kind, keys| {
            *self = match kind {
                0 => Self::Ftp,
                1 => file(keys),
                2 => pareto(keys),
                3 => cbr(keys),
                4 => poisson(keys),
                5 => Self::Paced { size: datagram(1460, keys) },
                6 => voice(keys),
                7 => web(keys),
                8 => video(keys),
                _ => relay(keys),
            }
        });
    }
}

fn file(keys: &mut dyn Visitor) -> App {
    let mut bytes = 1;
    keys.about("Application bytes.").required().whole("bytes", &mut bytes, BYTES);
    App::File { bytes }
}

fn pareto(keys: &mut dyn Visitor) -> App {
    let (mut mean_bytes, mut shape, mut mean_pause) = (1.0, 2.0, Duration::ZERO);
    keys.about("Mean size, bytes.").required().number("mean_bytes", &mut mean_bytes, MEAN_BYTES);
    let about = "Shape of the distribution; values near 1 give a heavy tail.";
    keys.about(about).required().number("shape", &mut shape, SHAPE);
    keys.about("Mean pause, s.").required().seconds("mean_pause", &mut mean_pause, SECONDS);
    App::Pareto { mean_bytes, shape, mean_pause }
}

fn cbr(keys: &mut dyn Visitor) -> App {
    let mut rate_kbps = 1.0;
    keys.about("Payload, kb/s.").required().number("rate_kbps", &mut rate_kbps, KILOBITS_PER_SECOND);
    let rate: BitRate = bit_rate(rate_kbps);
    App::Cbr { rate, size: datagram(512, keys) }
}

fn poisson(keys: &mut dyn Visitor) -> App {
    let mut rate_kbps = 1.0;
    let about = "Mean payload, kb/s.";
    keys.about(about).required().number("rate_kbps", &mut rate_kbps, KILOBITS_PER_SECOND);
    App::Poisson { rate: bit_rate(rate_kbps), size: datagram(512, keys) }
}

fn datagram(usual: u32, keys: &mut dyn Visitor) -> u32 {
    let mut size = usual;
    keys.about("Payload bytes of each datagram.").whole("size", &mut size, 1..=2200);
    size
}

fn voice(keys: &mut dyn Visitor) -> App {
    let (mut codec, mut with_pauses) = (Codec::G711, true);
    let (mut packet, mut playout_delay) = (Duration::from_millis(20), Duration::from_millis(60));
    let about = "Codec: G.711 with 64 kb/s, or G.729 with 8 kb/s.";
    keys.about(about).word("codec", &mut codec, &[("g711", Codec::G711), ("g729", Codec::G729)]);
    keys.about("Speech in each packet, s.").seconds("packet", &mut packet, 0.01..=0.2);
    let about = "From the departure of a packet to the instant at which its speech is played, s. Packets that arrive later are \
                 lost.";
    keys.about(about).seconds("playout_delay", &mut playout_delay, 0.001..=10.0);
    let about = "When the talker speaks: talk spurts and pauses of exponential length with the means of ITU-T P.59, 1.004 s and \
                 1.587 s, or all the time.";
    keys.about(about).word("speech", &mut with_pauses, &[("spurts", true), ("continuous", false)]);
    let spurts = with_pauses.then_some((Duration::from_millis(1004), Duration::from_millis(1587)));
    App::Voice(VoiceParams { codec, packet, playout_delay, spurts })
}

fn web(keys: &mut dyn Visitor) -> App {
    let mut reading = Duration::from_secs(30);
    let about = "Mean time from a complete page to the next one, s; times are exponential.";
    keys.about(about).seconds("reading", &mut reading, TIME_SPAN);
    App::Web(WebParams { reading })
}

fn video(keys: &mut dyn Visitor) -> App {
    let (mut rate_kbps, [mut segment, mut startup, mut buffer]) = (1.0, [2, 4, 30].map(Duration::from_secs));
    keys.about("Bit rate of the video, kb/s.").required().number(
        "rate_kbps",
        &mut rate_kbps,
        KILOBITS_PER_SECOND,
    );
    keys.about("Length of a segment, s.").seconds("segment", &mut segment, 0.1..=60.0);
    let about = "Video in the buffer with which playing begins, and goes on after a stall, s.";
    keys.about(about).seconds("startup", &mut startup, 0.0..=600.0);
    let about = "Longest video in the buffer, s. No segment is fetched that does not fit.";
    keys.about(about).seconds("buffer_time", &mut buffer, 0.1..=3600.0);
    let whole = segment * buffer.whole(segment);
    if whole == Duration::ZERO {
        let message =
            format!("found {}, allowed: at least segment, {}", buffer.as_secs_f64(), segment.as_secs_f64());
        keys.refuse("buffer_time", message);
    } else if startup > whole {
        let (found, most) = (startup.as_secs_f64(), whole.as_secs_f64());
        let message =
            format!("found {found}, allowed: at most {most}, the whole segments that fit into the buffer");
        keys.refuse("startup", message);
    }
    App::Video(VideoParams { rate: bit_rate(rate_kbps), segment, startup, buffer })
}

fn relay(keys: &mut dyn Visitor) -> App {
    let (mut of, mut buffer) = (0, 65_536);
    let about = "The other flow, by its place in the file from 0 on. It ends where this one begins, and is no \
                 relay itself.";
    keys.about(about).required().whole("of", &mut of, 0..=100_000);
    let about = "Bytes taken from the other flow that have not been acknowledged here, at most. While it is \
                 full nothing more is read there.";
    keys.about(about).whole("buffer", &mut buffer, 1..=1_000_000_000);
    App::Relay { of: FlowId(of), buffer }
}

/// Transfers between nodes drawn at random: a fixed number at a time; each is followed by another.
pub(crate) struct Transfers {
    pub(crate) count: usize,
    pub(crate) bytes: Bytes,
    /// s.
    pub(crate) first: f64,
    /// Shortest and longest, s.
    pub(crate) gap: [f64; 2],
    pub(crate) restart: Duration,
}

/// A number of bytes, or what they are drawn from.
pub(crate) enum Bytes {
    /// The same for every transfer.
    Fixed(u64),
    /// From a Pareto distribution.
    Pareto { mean: f64, shape: f64 },
}

impl Default for Transfers {
    fn default() -> Self {
        let restart = Duration::from_secs(240);
        Self { count: 1, bytes: Bytes::Fixed(1), first: 0.0, gap: [0.0; 2], restart }
    }
}

impl Settings for Transfers {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Number of concurrent transfers.").required().whole("count", &mut self.count, 1..=1000);
        keys.about("Application of each transfer.").word("app", &mut (), &[("file", ())]);
        self.byte_keys(keys);
        keys.about("Start of the first transfers, s.").number("first", &mut self.first, SECONDS);
        let about = "Time from the beginning of one of the first transfers to that of the next, s: uniform \
                     between these.";
        keys.about(about).numbers("gap", &mut self.gap, SECONDS);
        let about = "Time from the end of a transfer to the start of the next, s; by default 2 MSL.";
        keys.about(about).seconds("restart", &mut self.restart, TIME_SPAN);
    }
}

impl Transfers {
    fn byte_keys(&mut self, keys: &mut dyn Visitor) {
        let (mut mean, mut shape) = (1.0, 2.0);
        let about =
            "Application bytes of each transfer: a number, or { pareto = { mean = ..., shape = ... } }.";
        let allowed = Allowed::Whole(*BYTES.start(), *BYTES.end());
        let given = keys.about(about).required().value_or_table("bytes", allowed, None, &mut |keys| {
            keys.about("Pareto.").required().table("pareto", &mut |keys| {
                keys.about("Mean size, bytes.").required().number("mean", &mut mean, MEAN_BYTES);
                let about = "Shape of the distribution; values near 1 give a heavy tail.";
                keys.about(about).required().number("shape", &mut shape, SHAPE);
            });
        });
        match given {
            Some(Given::Value(Value::Whole(bytes))) => self.bytes = Bytes::Fixed(bytes),
            Some(_) => self.bytes = Bytes::Pareto { mean, shape },
            None => {}
        }
    }
}

const BYTES: RangeInclusive<u64> = 1..=1_000_000_000_000_000;
const MEAN_BYTES: RangeInclusive<f64> = 1.0..=1e15;
const SHAPE: RangeInclusive<f64> = 1.001..=1000.0;
