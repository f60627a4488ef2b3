//! Keys of the tables `[[flow]]` and `[traffic]`.

use multihop_core::Duration;
use multihop_core::settings::{Field, Given, Settings, Value, Visitor};
use multihop_radio::frame::Category;
use serde_json::json;

use super::{NodeRef, SECONDS, TIME_SPAN};
use crate::application::{App, BYTES, MEAN_BYTES, MessageChannel, SHAPE};
use crate::model::Transport;
use crate::read::settings::Keyed;
use crate::read::{Both, table};

/// Table `[[flow]]`: its ends, its transport and its application.
pub(crate) type FlowTable = Both<Keyed<FlowEnds>, Both<FlowTransport, Keyed<App>>>;

/// Table `[traffic]`: random transfers and their transport.
pub(crate) type TrafficTable = Both<Keyed<Transfers>, TrafficTransport>;

/// Keys that hold for every application: ends, start and stop.
#[derive(Default, Settings)]
pub(crate) struct FlowEnds {
    /// Sender of the flow. A flow that gives neither from nor to takes the next pair of the layout.
    #[key]
    pub(crate) from: Option<NodeRef>,
    /// Receiver of the flow.
    #[key]
    pub(crate) to: Option<NodeRef>,
    /// Instant at which the application begins, s.
    #[key(SECONDS)]
    pub(crate) start: f64,
    /// Largest delay of the application after start, s: a time drawn uniformly for each flow and seed. It keeps flows of constant rate
    /// from transmitting at the same instants for the whole run.
    #[key(SECONDS)]
    pub(crate) start_jitter: f64,
    /// Instant at which the application ends, s; by default the end of the run.
    #[key(TIME_SPAN)]
    pub(crate) stop: Option<f64>,
    /// Access category of the flow's packets, if mac.edca is on.
    #[key]
    pub(crate) category: Category,
    /// Whether packets of an application "messages" over mesh have the DSCP of the priority of their channel: 0 EF, 1 and 2 AF41,
    /// 5 to 7 CS1. If mac.edca is on, the DSCP decides the access category of each packet, instead of category.
    #[key]
    pub(crate) dscp: bool,
}

table! {
    /// How the data of a flow travels.
    FlowTransport {
        /// How the data travels: a short name, or a table of parameters. Only cbr, poisson, paced,
        /// voice and spread have a default, which is udp.
        transport: Option<Transport>,
        /// Messages of an application "messages".
        channel: Vec<Keyed<MessageChannel>> = json!([]),
    }
}

table! {
    /// How the data of transfers travels.
    TrafficTransport {
        /// How the data travels: a short name, or a table of parameters.
        transport: Transport,
    }
}

/// Transfers between nodes drawn at random: a fixed number at a time; each is followed by another.
#[derive(Settings)]
pub(crate) struct Transfers {
    /// Number of concurrent transfers.
    #[key(1..=1000, required)]
    pub(crate) count: usize,
    /// Application of each transfer.
    #[key]
    pub(crate) app: TransferApp,
    /// Application bytes of each transfer: a number, or { pareto = { mean = ..., shape = ... } }.
    #[key(with = Self::bytes_key, default = Bytes::Fixed(1))]
    pub(crate) bytes: Bytes,
    /// Start of the first transfers, s.
    #[key(SECONDS)]
    pub(crate) first: f64,
    /// Time from the beginning of one of the first transfers to that of the next, s: uniform between these.
    #[key(SECONDS)]
    pub(crate) gap: [f64; 2],
    /// Time from the end of a transfer to the start of the next, s; by default 2 MSL.
    #[key(TIME_SPAN, default = Duration::from_secs(240))]
    pub(crate) restart: Duration,
}

/// Application of transfers between nodes drawn at random.
#[derive(Clone, Copy, Default, Field)]
pub(crate) enum TransferApp {
    /// A fixed amount of data, or one drawn for each transfer.
    #[default]
    File,
}

/// A number of bytes, or the distribution from which it is drawn.
pub(crate) enum Bytes {
    /// Equal size for every transfer.
    Fixed(u64),
    /// Sizes drawn from a Pareto distribution.
    Pareto(ParetoBytes),
}

/// Sizes of Pareto distribution.
#[derive(Clone, Copy, Default, Settings)]
pub(crate) struct ParetoBytes {
    /// Mean size of a transfer, bytes.
    #[key(MEAN_BYTES, required)]
    pub(crate) mean: f64,
    /// Shape of the distribution; values near 1 give a heavy tail.
    #[key(SHAPE, required)]
    pub(crate) shape: f64,
}

impl Transfers {
    fn bytes_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let mut pareto = ParetoBytes::default();
        let given = keys.about(help).required().value_or_table(name, BYTES.into(), None, &mut |keys| {
            keys.about("Pareto distribution of the sizes.").required().settings("pareto", &mut pareto);
        });
        match given {
            Some(Given::Value(Value::Whole(bytes))) => self.bytes = Bytes::Fixed(bytes),
            Some(_) => self.bytes = Bytes::Pareto(pareto),
            None => {}
        }
    }
}
