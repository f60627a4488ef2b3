//! `[[flow]]` and `[traffic]`.

use core::ops::RangeInclusive;

use multihop_core::settings::{Allowed, Given, Settings, Value, Visitor};
use multihop_core::{BitRate, Duration, FlowId};

use multihop_radio::frame::Category;

use super::{KILOBITS_PER_SECOND, NodeRef, SECONDS, TIME_SPAN, bit_rate};
use crate::model::{App, Transport};
use crate::read::settings::Keyed;
use crate::read::{Both, table};

/// `[[flow]]`.
pub(crate) type FlowTable = Both<Keyed<Ends>, Both<FlowTransport, Keyed<App>>>;

/// `[traffic]`.
pub(crate) type TrafficTable = Both<Keyed<Transfers>, TrafficTransport>;

/// What holds for every application.
#[derive(Default)]
pub(crate) struct Ends {
    pub(crate) from: Option<NodeRef>,
    pub(crate) to: Option<NodeRef>,
    /// s.
    pub(crate) start: f64,
    /// s.
    pub(crate) stop: Option<f64>,
    pub(crate) category: Category,
}

impl Settings for Ends {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Sender. A flow that gives neither from nor to takes the next pair of the layout.";
        self.from = keys.about(about).value("from", Allowed::Node, None).map(NodeRef::from);
        self.to = keys.about("Receiver.").value("to", Allowed::Node, None).map(NodeRef::from);
        keys.about("When the application begins, s.").number("start", &mut self.start, SECONDS);
        let about = "When the application ends, s; by default at the end of the run.";
        keys.about(about).number_if_set("stop", &mut self.stop, TIME_SPAN);
        let about = "Access category of its packets, if mac.edca is on.";
        let categories = [
            ("background", Category::Background),
            ("best-effort", Category::BestEffort),
            ("video", Category::Video),
            ("voice", Category::Voice),
        ];
        keys.about(about).word("category", &mut self.category, &categories);
    }
}

table! {
    /// How the data of a flow travels.
    FlowTransport {
        /// How the data travels: a short name, or a table of parameters. Only cbr and paced have a
        /// default, which is udp.
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
            ("paced", "Datagrams at the best constant rate, which the run searches for."),
            ("relay", "The data that another flow delivers to this flow's sender."),
        ];
        keys.kinds("app", Some(0), &kinds, &mut |kind, keys| {
            *self = match kind {
                0 => Self::Ftp,
                1 => file(keys),
                2 => pareto(keys),
                3 => cbr(keys),
                4 => Self::Paced { size: datagram(1460, keys) },
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

fn datagram(usual: u32, keys: &mut dyn Visitor) -> u32 {
    let mut size = usual;
    keys.about("Payload bytes of each datagram.").whole("size", &mut size, 1..=2200);
    size
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
