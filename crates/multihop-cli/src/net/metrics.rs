//! Implements `--metrics`: a page in the format of OpenMetrics, which Prometheus reads.
//!
//! `recv` and `tunnel` count the events of the [log](super::log); `route` translates the status of its daemon.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context;
use multihop_sandbox::{Needs, Sandbox};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{self, Layer};

use super::args::MetricsArgs;
use crate::http::{self, Clients, Limits, Reply, Request};
use crate::terminal::note;

/// Type of a metric.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Type {
    Counter,
    Gauge,
}

/// Name, unit and meaning of a metric. The name ends with the unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    pub(super) kind: Type,
    /// Name without the prefix `multihop_`.
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
}

/// Text of a page with metrics.
#[derive(Default)]
pub(super) struct Page(String);

impl Page {
    /// Writes a metric with its values, each with labels.
    pub(super) fn metric<'a, L: AsRef<[(&'a str, String)]>>(
        &mut self,
        metric: &Metric,
        values: impl IntoIterator<Item = (L, f64)>,
    ) {
        let Metric { kind, name, unit, help } = metric;
        let (kind, suffix) = match kind {
            Type::Counter => ("counter", "_total"),
            Type::Gauge => ("gauge", ""),
        };
        let text = &mut self.0;
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# TYPE multihop_{name} {kind}\n# UNIT multihop_{name} {unit}\n# HELP multihop_{name} {help}\n"
        );
        for (labels, value) in values {
            let label = |(key, value): &(&str, String)| format!("{key}=\"{}\"", escaped(value));
            let labels: Vec<_> = labels.as_ref().iter().map(label).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(text, "multihop_{name}{suffix}{labels} {value}");
        }
    }

    fn finish(mut self) -> String {
        self.0 += "# EOF\n";
        self.0
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Serves a page of metrics, if an address is given, on threads without rights. `read` makes the page; `None`: there is
/// nothing to report.
pub(super) fn serve(
    args: &MetricsArgs,
    needs: Needs,
    read: impl Fn() -> Option<Page> + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let Some(address) = args.metrics else { return Ok(()) };
    let listener =
        TcpListener::bind(address).with_context(|| format!("cannot serve metrics at {address}"))?;
    let address = listener.local_addr().unwrap_or(address);
    if !address.ip().is_loopback() {
        note(format_args!(
            "{address}: not a loopback address, so every host that reaches it reads the metrics"
        ));
    }
    note(format_args!("metrics: http://{address}/metrics"));
    let sandbox = Sandbox::prepare(needs).context("cannot prepare the sandbox of the metrics")?;
    let clients = Arc::new(Clients::new(Limits::default()));
    let work = move || {
        if let Err(error) = sandbox.enter() {
            tracing::error!(%error, "no metrics: cannot drop rights");
            return;
        }
        http::serve(&listener, &clients, move |request, reply| answer(request, reply, &read));
    };
    std::thread::Builder::new().spawn(work).context("cannot start the thread of the metrics")?;
    Ok(())
}

fn answer(request: &Request, reply: &mut Reply<'_>, read: &dyn Fn() -> Option<Page>) -> std::io::Result<()> {
    if request.path.as_deref() != Some("/metrics") {
        return reply.begin("404 Not Found", "text/plain");
    }
    match read() {
        Some(page) => {
            reply.begin("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8")?;
            reply.write_all(page.finish().as_bytes())
        }
        None => reply.begin("503 Service Unavailable", "text/plain"),
    }
}

/// Counter that the events of the log increase.
struct Rule {
    /// Message of the event.
    message: &'static str,
    metric: Metric,
    /// Field whose value is added; `None`: each event adds one.
    field: Option<&'static str>,
    /// Label, and the field with its value.
    label: Option<&'static str>,
}

const fn rule(message: &'static str, name: &'static str, unit: &'static str, help: &'static str) -> Rule {
    Rule { message, metric: Metric { kind: Type::Counter, name, unit, help }, field: None, label: None }
}

const fn sum(field: &'static str, rule: Rule) -> Rule {
    Rule { field: Some(field), ..rule }
}

/// Counters that the events of transfers increase, for `recv`.
static TRANSFERS: [Rule; 8] = [
    rule("transfer began", "recv_started_transfers", "transfers", "Transfers that have begun."),
    rule("transfer ended", "recv_ended_transfers", "transfers", "Complete transfers."),
    rule("transfer failed", "recv_failed_transfers", "transfers", "Transfers that have failed."),
    sum("files", rule("transfer ended", "recv_files", "files", "Files of complete transfers.")),
    sum(
        "moved",
        rule("transfer ended", "recv_moved_bytes", "bytes", "Bytes that complete transfers transferred."),
    ),
    sum(
        "had",
        rule(
            "transfer ended",
            "recv_present_bytes",
            "bytes",
            "Bytes of complete transfers that were present before.",
        ),
    ),
    sum("seconds", rule("transfer ended", "recv_seconds", "seconds", "Duration of complete transfers.")),
    REFUSED,
];

/// Counters that the events of forwarded connections increase, for `tunnel`.
static CONNECTIONS: [Rule; 5] = [
    rule(
        "connection ended",
        "tunnel_ended_connections",
        "connections",
        "Forwarded connections that have ended.",
    ),
    rule("connection failed", "tunnel_failed_connections", "connections", "Connections that have failed."),
    sum(
        "up",
        rule("connection ended", "tunnel_up_bytes", "bytes", "Bytes of ended connections to the targets."),
    ),
    sum(
        "down",
        rule(
            "connection ended",
            "tunnel_down_bytes",
            "bytes",
            "Bytes of ended connections from the targets.",
        ),
    ),
    REFUSED,
];

const REFUSED: Rule = Rule {
    label: Some("reason"),
    ..rule("peer refused", "refused_peers", "peers", "Refused attempts of peers to connect, by reason.")
};

/// Counters of this process, if it counts events.
static COUNTS: OnceLock<Counts> = OnceLock::new();

struct Counts {
    rules: &'static [Rule],
    /// Values by the position of the rule and the label.
    values: Mutex<BTreeMap<(usize, String), f64>>,
}

/// Counts the events of `recv` from now on, and serves the counters, if an address is given.
pub(super) fn of_transfers(args: &MetricsArgs) -> anyhow::Result<()> {
    of_events(args, &TRANSFERS)
}

/// Counts the events of `tunnel` from now on, and serves the counters, if an address is given.
pub(super) fn of_connections(args: &MetricsArgs) -> anyhow::Result<()> {
    of_events(args, &CONNECTIONS)
}

fn of_events(args: &MetricsArgs, rules: &'static [Rule]) -> anyhow::Result<()> {
    if args.metrics.is_none() {
        return Ok(());
    }
    let unlabelled = rules.iter().enumerate().filter(|(_, rule)| rule.label.is_none());
    let values = Mutex::new(unlabelled.map(|(at, _)| ((at, String::new()), 0.0)).collect());
    let counts = COUNTS.get_or_init(|| Counts { rules, values });
    serve(args, Needs::default(), || Some(counts.page()))
}

/// The layer that counts events; `None` if nobody wants counters.
pub(super) fn layer<S: Subscriber>() -> Option<impl Layer<S>> {
    COUNTS.get().map(Counting)
}

impl Counts {
    fn page(&self) -> Page {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut page = Page::default();
        for (at, rule) in self.rules.iter().enumerate() {
            let of = values.iter().filter(|((rule, _), _)| *rule == at);
            let labelled = of.map(|((_, label), value)| {
                let label = rule.label.map(|name| (name, label.clone()));
                (label.into_iter().collect::<Vec<_>>(), *value)
            });
            page.metric(&rule.metric, labelled);
        }
        page
    }
}

struct Counting(&'static Counts);

impl<S: Subscriber> Layer<S> for Counting {
    fn on_event(&self, event: &Event<'_>, _context: layer::Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut values = self.0.values.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, rule) in self.0.rules.iter().enumerate().filter(|(_, rule)| rule.message == fields.message) {
            let added = rule.field.map_or(Some(1.0), |field| fields.numbers.get(field).copied());
            let label = rule.label.map_or(Some(String::new()), |label| fields.texts.get(label).cloned());
            let (Some(added), Some(label)) = (added, label) else { continue };
            *values.entry((at, label)).or_default() += added;
        }
    }
}

/// Message and fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    numbers: BTreeMap<&'static str, f64>,
    texts: BTreeMap<&'static str, String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            self.texts.insert(field.name(), text);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.texts.insert(field.name(), value.to_owned());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.numbers.insert(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.numbers.insert(field.name(), value as f64);
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn events_are_counted_with_name_unit_and_help() {
        let values = Mutex::new(BTreeMap::new());
        let counts: &'static Counts = Box::leak(Box::new(Counts { rules: &TRANSFERS, values }));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(Counting(counts)), || {
            for moved in [1000_u64, 24] {
                tracing::info!(
                    peer = "a",
                    files = 2_u32,
                    moved,
                    had = 0_u64,
                    seconds = 0.5,
                    "transfer ended"
                );
            }
            tracing::info!(limit = 1_u64, reason = "wrong_\"token\"", "peer refused");
            tracing::info!("another event");
        });
        let text = counts.page().finish();
        for line in [
            "# TYPE multihop_recv_moved_bytes counter",
            "# UNIT multihop_recv_moved_bytes bytes",
            "# HELP multihop_recv_moved_bytes Bytes that complete transfers transferred.",
            "multihop_recv_moved_bytes_total 1024",
            "multihop_recv_files_total 4",
            "multihop_recv_seconds_total 1",
            "multihop_recv_ended_transfers_total 2",
            "multihop_refused_peers_total{reason=\"wrong_\\\"token\\\"\"} 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn names_end_with_their_units() {
        for rule in TRANSFERS.iter().chain(&CONNECTIONS) {
            assert!(rule.metric.name.ends_with(rule.metric.unit), "{}", rule.metric.name);
        }
    }
}
