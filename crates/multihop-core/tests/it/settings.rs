//! Keys that derives make from fields.

use std::collections::BTreeMap;

use multihop_core::Duration;
use multihop_core::settings::{Field, Given, Key, Settings, Table, Value, Visitor};

/// Parameters of a protocol.
#[derive(Clone, Debug, PartialEq, Settings)]
#[settings(check = Self::check)]
struct Config {
    /// Mean interval of `HELLO`
    /// messages, s.
    ///
    /// Not part of the help text.
    #[key(0.1..=1000.0, default = Duration::from_secs(2), then = Self::follow_interval)]
    interval: Duration,
    /// Validity of a node's HELLO, s.
    #[key(0.1..=1000.0, default = Duration::from_secs(6))]
    hold: Duration,
    /// Number of retries.
    #[key(1..=9, off)]
    retries: Option<u8>,
    /// Share of losses.
    #[key(0.0..=0.5, thousandths, name = "loss")]
    loss_thousandths: u16,
    /// Rule of repairs.
    #[key]
    repair: Repair,
    /// Buffer, with its own keys.
    #[key(switch)]
    buffer: Option<Buffer>,
    /// Places, m.
    #[key(-10.0..=10.0, when = self.repair == Repair::FromSource)]
    places: Vec<[f64; 2]>,
    /// Kind of routes.
    #[key(flatten)]
    routes: Routes,
    plain: u8,
}

#[derive(Clone, Copy, Debug, Default, Field, PartialEq)]
enum Repair {
    #[default]
    Off,
    FromSource,
    #[word("by-neighbour-2")]
    ByNeighbour,
    #[word(skip)]
    Internal,
}

#[derive(Clone, Debug, PartialEq, Settings)]
struct Buffer {
    /// Number of packets.
    #[key(1..=100, default = 10)]
    packets: usize,
}

/// A choice of tables.
#[derive(Clone, Debug, Default, PartialEq, Settings)]
#[settings(tag = "kind")]
enum Routes {
    /// No routes.
    #[default]
    None,
    /// Routes by a buffer.
    Buffered(Buffer),
    /// Routes of some length.
    ByLength {
        /// Longest route, hops.
        #[key(1..=64, default = 8)]
        hops: u8,
        /// Name of the metric.
        #[key(20, required)]
        metric: String,
    },
}

impl Config {
    fn follow_interval(&mut self, _: &mut dyn Visitor) {
        self.hold = self.interval * 3;
    }

    fn check(&self, keys: &mut dyn Visitor) {
        if self.hold <= self.interval {
            keys.refuse("hold", "too short".into());
        }
    }
}

/// Gives values to keys, and notes each key with its help text, allowed values and default.
#[derive(Default)]
struct Script {
    values: BTreeMap<&'static str, Value>,
    kind: usize,
    seen: Vec<String>,
}

impl Script {
    fn of<const N: usize>(values: [(&'static str, Value); N]) -> Self {
        Self { values: values.into(), ..Self::default() }
    }

    fn read(&mut self) -> Config {
        let mut config = Config::default();
        config.keys(self);
        config
    }
}

impl Visitor for Script {
    fn name(&self) -> &str {
        ""
    }

    fn key(&mut self, key: &Key<'_>) -> Option<Value> {
        let required = if key.required { ", required" } else { "" };
        self.seen.push(format!("{}: {} {key} {:?}{required}", key.name, key.help, key.value));
        self.values.get(key.name).cloned()
    }

    fn key_or_table(&mut self, key: &Key<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> Option<Given> {
        let given = self.key(key);
        if given.is_none() && self.values.contains_key("packets") {
            keys(self);
            return Some(Given::Table);
        }
        given.map(Given::Value)
    }

    fn table(&mut self, _: &Table<'_>, keys: &mut dyn FnMut(&mut dyn Visitor)) -> bool {
        keys(self);
        true
    }

    fn kinds(
        &mut self,
        name: &'static str,
        default: Option<usize>,
        kinds: &[(&'static str, &str)],
        keys: &mut dyn FnMut(usize, &mut dyn Visitor),
    ) {
        self.seen.push(format!("{name}: {kinds:?} {default:?}"));
        keys(self.kind, self);
    }

    fn unavailable(&mut self, _: &str, _: &mut dyn FnMut(&mut dyn Visitor)) {}

    fn refuse(&mut self, name: &'static str, message: String) {
        self.seen.push(format!("{name} refused: {message}"));
    }
}

#[test]
fn keys_have_name_help_bounds_and_default_of_their_fields() {
    let mut script = Script::default();
    assert_eq!(script.read(), Config::default());
    let expected = [
        "interval: Mean interval of HELLO messages, s. a number from 0.1 to 1000.0 Some(Number(2.0))",
        "hold: Validity of a node's HELLO, s. a number from 0.1 to 1000.0 Some(Number(6.0))",
        "retries: Number of retries. a whole number from 1 to 9, or \"off\" Some(Word(\"off\"))",
        "loss: Share of losses. a number from 0.0 to 0.5 Some(Number(0.0))",
        "repair: Rule of repairs. \"off\", \"from-source\", \"by-neighbour-2\" Some(Word(\"off\"))",
        "buffer: Buffer, with its own keys. true, false Some(Switch(false))",
        "kind: [(\"none\", \"No routes.\"), (\"buffered\", \"Routes by a buffer.\"), (\"by-length\", \"Routes of some length.\")] \
         Some(0)",
    ];
    assert_eq!(script.seen, expected);
}

#[test]
fn keys_set_their_fields() {
    let number = Value::Number;
    let mut script = Script::of([
        ("interval", number(1.5)),
        ("retries", Value::Whole(3)),
        ("loss", number(0.25)),
        ("repair", Value::Word("from-source")),
        ("packets", Value::Whole(7)),
        ("places", Value::List(vec![Value::List(vec![number(1.0), number(2.0)])])),
    ]);
    script.kind = 1;
    let expected = Config {
        interval: Duration::from_millis(1500),
        hold: Duration::from_millis(4500),
        retries: Some(3),
        loss_thousandths: 250,
        repair: Repair::FromSource,
        buffer: Some(Buffer { packets: 7 }),
        places: vec![[1.0, 2.0]],
        routes: Routes::Buffered(Buffer { packets: 7 }),
        plain: 0,
    };
    assert_eq!(script.read(), expected);
}

#[test]
fn a_variant_with_fields_has_their_keys() {
    let mut script = Script::of([("metric", Value::Text("delay".into()))]);
    script.kind = 2;
    assert_eq!(script.read().routes, Routes::ByLength { hops: 8, metric: "delay".into() });
    let last = "metric: Name of the metric. text of 1 to 20 characters None, required";
    assert_eq!(script.seen.last().map(String::as_str), Some(last));
}

#[test]
fn off_and_false_are_none() {
    let mut config = Config { retries: Some(1), buffer: Some(Buffer::default()), ..Config::default() };
    let mut script = Script::of([("retries", Value::Word("off")), ("buffer", Value::Switch(false))]);
    config.keys(&mut script);
    assert_eq!((config.retries, config.buffer), (None, None));
}

#[test]
fn keys_are_compared_after_the_last_one() {
    let mut script = Script::of([("hold", Value::Number(1.0))]);
    script.read();
    assert_eq!(script.seen.last().map(String::as_str), Some("hold refused: too short"));
}

#[test]
fn a_variant_that_users_cannot_choose_has_no_word() {
    assert_eq!(Repair::Internal.value(), None);
    assert_eq!(Repair::of_value(Value::Word("by-neighbour-2")), Repair::ByNeighbour);
}
