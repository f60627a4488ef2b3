//! Counters, gauges and states that a protocol declares to be observed.
//!
//! A protocol has one static table beside its machine, with a [`Row`] for each quantity: name, unit, description, kind, side,
//! and how to read it. Results, recorded series, the viewer and summaries of real connections read the table; none of them
//! names a protocol. Reading copies one value and changes nothing, and a machine that nobody observes does no work for it.
//!
//! ```
//! use multihop_transport::observe::{Row, Side};
//!
//! /// The machine; a real one implements `Connection`.
//! struct End {
//!     skipped: u64,
//! }
//!
//! static OBSERVED: [Row<End>; 1] =
//!     [Row::counter("skipped", "Segments that were not sent.", Side::Sender, |end| end.skipped)];
//!
//! assert_eq!(OBSERVED[0].quantity().key(), "skipped");
//! assert_eq!(OBSERVED[0].value(&End { skipped: 2 }).unwrap().number(), Some(2.0));
//! ```

use alloc::format;
use alloc::string::{String, ToString};

use multihop_core::Duration;

/// A quantity that a protocol declares.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quantity {
    /// Name of the quantity in scenarios: lower-case letters, digits and underscores.
    pub name: &'static str,
    /// Unit of the quantity, which follows the name in series and results; empty for plain numbers.
    pub unit: &'static str,
    /// Description of the quantity, one sentence.
    pub about: &'static str,
    /// Kind of the values: a counter, a number, a time or a state.
    pub kind: Kind,
    /// End of a flow at which the quantity is observed.
    pub side: Side,
    /// Whether results show the quantity. Counters are shown by default.
    pub in_results: bool,
}

/// Kind of the values of a quantity, by which results and plots treat them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A number of events since the connection began. Results have the number after the warm-up.
    Counter,
    /// A number that rises and falls.
    Gauge,
    /// The newest round-trip time. Each sample counts, even if it equals the previous one.
    RoundTrip,
    /// A state of this list of names.
    State(&'static [&'static str]),
}

/// The end of a flow at which a quantity is observed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// The end that sends the data of the flow.
    Sender,
    /// The end of the flow that receives the data.
    Receiver,
}

/// A value of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Value of a counter.
    Count(u64),
    /// Value of a gauge, in the quantity's unit.
    Number(f64),
    /// Value of a round-trip time.
    RoundTrip(RoundTrip),
    /// Name of a state.
    State(&'static str),
}

/// Newest round-trip sample, and the number of samples.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RoundTrip {
    /// Newest sample of the round-trip time.
    pub latest: Duration,
    /// Number of samples so far.
    pub samples: u64,
}

impl RoundTrip {
    /// Round trip with its newest sample; `None` before the first sample.
    pub fn newest(latest: Option<Duration>, samples: u64) -> Option<Self> {
        latest.map(|latest| Self { latest, samples })
    }
}

/// A quantity of the machine `E`, with a function that reads it.
#[derive(Debug)]
pub struct Row<E> {
    quantity: Quantity,
    read: Read<E>,
}

#[derive(Debug)]
enum Read<E> {
    Counter(fn(&E) -> u64),
    Gauge(fn(&E) -> Option<f64>),
    RoundTrip(fn(&E) -> Option<RoundTrip>),
    State(fn(&E) -> &'static str),
}

/// Phases of the built-in transports' senders. Time series contain the index in this list.
pub const PHASES: [&str; 7] =
    ["normal", "slow-start", "congestion-avoidance", "fast-recovery", "congested", "freeze", "stand-by"];

/// Name of the congestion window in segments.
pub const CWND: &str = "cwnd";
/// Name of the quantity that contains the newest round-trip time.
pub const RTT: &str = "rtt";
/// Name of the sender's state.
pub const STATE: &str = "state";
/// Name of the pacing rate.
pub const RATE: &str = "rate";

impl Quantity {
    /// Name with unit, as in the keys of time series and results.
    pub fn key(&self) -> String {
        key(self.name, self.unit)
    }

    /// Converts a value into the number for time series; `None` for an undeclared state.
    pub fn number(&self, value: Value) -> Option<f64> {
        match (self.kind, value) {
            (Kind::State(names), Value::State(name)) => {
                names.iter().position(|known| *known == name).map(|position| position as f64)
            }
            (_, value) => value.number(),
        }
    }
}

/// Name with unit, as in the keys of time series and results.
pub fn key(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_string() } else { format!("{name}_{unit}") }
}

impl Value {
    /// The value as a number; `None` for a state. Round-trip times are in ms.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(count as f64),
            Self::Number(number) => Some(number),
            Self::RoundTrip(round_trip) => Some(1e3 * round_trip.latest.as_secs_f64()),
            Self::State(_) => None,
        }
    }
}

impl<E> Row<E> {
    /// Declares a counter at one side of a flow, read from the end by `read`.
    pub const fn counter(name: &'static str, about: &'static str, side: Side, read: fn(&E) -> u64) -> Self {
        let (unit, kind) = ("", Kind::Counter);
        let quantity = Quantity { name, unit, about, kind, side, in_results: true };
        Self { quantity, read: Read::Counter(read) }
    }

    /// A counter that series have, but results have not: results of built-in transports keep the keys that every transport has.
    pub const fn recorded_counter(
        name: &'static str,
        about: &'static str,
        side: Side,
        read: fn(&E) -> u64,
    ) -> Self {
        let mut row = Self::counter(name, about, side, read);
        row.quantity.in_results = false;
        row
    }

    /// Row of a gauge with its unit; `None` while the gauge has no value.
    pub const fn gauge(
        [name, unit]: [&'static str; 2],
        about: &'static str,
        side: Side,
        read: fn(&E) -> Option<f64>,
    ) -> Self {
        let quantity = Quantity { name, unit, about, kind: Kind::Gauge, side, in_results: false };
        Self { quantity, read: Read::Gauge(read) }
    }

    /// Declares a state, one of `names`.
    pub const fn states(
        name: &'static str,
        about: &'static str,
        side: Side,
        names: &'static [&'static str],
        read: fn(&E) -> &'static str,
    ) -> Self {
        let (unit, kind) = ("", Kind::State(names));
        Self {
            quantity: Quantity { name, unit, about, kind, side, in_results: false },
            read: Read::State(read),
        }
    }

    /// Declares the congestion window, in segments.
    pub const fn cwnd(read: fn(&E) -> Option<f64>) -> Self {
        Self::gauge([CWND, ""], "Congestion window, segments.", Side::Sender, read)
    }

    /// Declares the newest round-trip time of the sender.
    pub const fn round_trip(read: fn(&E) -> Option<RoundTrip>) -> Self {
        let (unit, kind) = ("ms", Kind::RoundTrip);
        let about = "Newest round-trip time.";
        let quantity = Quantity { name: RTT, unit, about, kind, side: Side::Sender, in_results: false };
        Self { quantity, read: Read::RoundTrip(read) }
    }

    /// Declares the phase of the sender, one of [`PHASES`].
    pub const fn phase(read: fn(&E) -> &'static str) -> Self {
        Self::states(STATE, "State of the sender.", Side::Sender, &PHASES, read)
    }

    /// Declares the pacing rate, in kb/s.
    pub const fn rate(read: fn(&E) -> Option<f64>) -> Self {
        Self::gauge([RATE, "kbps"], "Largest payload rate of a sender that paces.", Side::Sender, read)
    }

    /// Declares the coefficient of variation of a paced sender's round trips.
    pub const fn cov(read: fn(&E) -> Option<f64>) -> Self {
        let about = "Coefficient of variation of the round trips of a sender that paces.";
        Self::gauge(["cov", ""], about, Side::Sender, read)
    }

    /// The number of times that the sender froze.
    pub const fn freezes(read: fn(&E) -> u64) -> Self {
        Self::recorded_counter("freezes", "Times that the sender froze.", Side::Sender, read)
    }

    /// The number of link-failure notices that had an effect.
    pub const fn notices(read: fn(&E) -> u64) -> Self {
        let about = "Link-failure notices that concerned a segment in flight.";
        Self::recorded_counter("notices", about, Side::Sender, read)
    }

    /// The number of probes sent.
    pub const fn probes(read: fn(&E) -> u64) -> Self {
        Self::recorded_counter("probes", "Probes sent.", Side::Sender, read)
    }

    /// Declares the counter of segments that arrived twice.
    pub const fn duplicates(read: fn(&E) -> u64) -> Self {
        let about = "Segments with data that had arrived before.";
        Self::recorded_counter("duplicates", about, Side::Receiver, read)
    }

    /// Name, unit and description of the observed quantity.
    pub const fn quantity(&self) -> &Quantity {
        &self.quantity
    }

    /// The current value; `None` if there is no value yet.
    pub fn value(&self, end: &E) -> Option<Value> {
        match self.read {
            Read::Counter(read) => Some(Value::Count(read(end))),
            Read::Gauge(read) => read(end).map(Value::Number),
            Read::RoundTrip(read) => read(end).map(Value::RoundTrip),
            Read::State(read) => Some(Value::State(read(end))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_numbered_as_they_are_declared() {
        let row: Row<()> = Row::phase(|()| "freeze");
        let value = row.value(&()).expect("a state always has a value");
        assert_eq!((row.quantity().number(value), value.number()), (Some(5.0), None));
        assert_eq!(row.quantity().number(Value::State("unheard-of")), None);
    }
}
