//! Implements `multihop perf`, which measures goodput and delay between two hosts.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use multihop_apps::dial;
use multihop_apps::perf::{self, Amount, Direction, EndTotals, FlowOutcome, FlowSample, Plan, Sample};
use multihop_net::{Config, Stream};
use multihop_sandbox::Needs;
use multihop_scenario::Extensions;

use super::args::{PERF, PerfArgs};
use super::confinement::{Confinement, folders_of_keys};
use super::perf_document::{
    IntervalResult, PerfDocument, direction, lost_percent, milliseconds, protocol, rate, sum,
};
use super::{Kind, advise, commands, listen, print, run, settings, signals};
use crate::terminal::Verbosity;
use crate::{CommandError, output};

/// Measures the goodput to a listening end, or runs the listening end.
pub(crate) fn perf(
    args: &PerfArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    match (&args.listen, &args.server) {
        (Some(address), _) => {
            let needs = Needs { internet: true, read: folders_of_keys(&args.net), ..Needs::default() };
            let confinement = Confinement::new(args.sandbox, needs)?;
            run(Kind::Service, &confinement, verbosity, &args.net.log, async {
                let (listener, token) = listen(address, &args.net, &[], extensions, |_| ()).await?;
                confinement.enter()?;
                if !verbosity.quiet {
                    let perf = |host: &str, secret: &str| format!("multihop perf {host} {secret}");
                    advise(commands((listener.local_addr(), PERF), &args.net, token.as_ref(), perf), print)?;
                }
                let work = async {
                    Ok(perf::serve(&listener, served).await.context("cannot accept connections any more")?)
                };
                signals::serving(&listener, &args.net, &[], extensions, work).await
            })
        }
        (None, Some(server)) => {
            let config = settings::connecting(&args.net, &[], extensions)?;
            let plan = plan(args);
            run(Kind::Task, &Confinement::none(), verbosity, &args.net.log, async {
                let mut streams = Vec::new();
                for _ in plan.connections() {
                    let stream = dial(server, &config).await;
                    streams.push(stream.with_context(|| format!("cannot connect to {server}"))?);
                }
                measure(args, verbosity, plan, &config, streams).await
            })
        }
        (None, None) => unreachable!("clap requires one of them"),
    }
}

fn plan(args: &PerfArgs) -> Plan {
    let direction = match (args.bidir, args.reverse) {
        (true, _) => Direction::Both,
        (false, true) => Direction::Reverse,
        (false, false) => Direction::Forward,
    };
    let amount = match (args.bytes, args.time) {
        (Some(bytes), _) => Amount::Bytes(bytes),
        (None, time) => Amount::Time(time.unwrap_or(USUAL)),
    };
    let udp = args.udp.then(|| args.bitrate.unwrap_or(USUAL_RATE));
    Plan { direction, flows: args.parallel.into(), amount, interval: args.interval, udp }
}

async fn measure(
    args: &PerfArgs,
    verbosity: Verbosity,
    plan: Plan,
    config: &Config,
    streams: Vec<Stream>,
) -> Result<(), CommandError> {
    let mut samples = Vec::new();
    let mut broken = Ok(());
    let outcome = perf::measure(streams, plan, |sample| {
        if args.json {
            samples.push(IntervalResult::new(&sample));
        } else if broken.is_ok() && !verbosity.quiet {
            broken = rows(&sample).iter().try_for_each(|row| output::line(format_args!("{row}")));
        }
    });
    let flows = outcome.await.context("the measurement did not finish")?;
    broken?;
    if args.json {
        output::json(&PerfDocument::new(&plan, config, &flows, samples), true)?;
    } else {
        let mut lines = table(&plan, &flows);
        lines.push(format!("protocol: {}", protocol(&plan, &flows)));
        output::line(format_args!("\n{}", lines.join("\n")))?;
    }
    Ok(())
}

/// Prints the result of a flow at the listening end.
fn served(from: SocketAddr, result: io::Result<EndTotals>) {
    match result {
        Ok(tally) => {
            let rate = mbps(8.0 * tally.bytes as f64 / tally.time.as_secs_f64().max(1e-9));
            let line =
                format!("{from}: {} bytes in {:.2} s, {rate} Mb/s", tally.bytes, tally.time.as_secs_f64());
            let (bytes, seconds) = (tally.bytes, tally.time.as_secs_f64());
            tracing::info!(peer = %from, bytes, seconds, "measurement ended");
            // A measurement is valid even if its line cannot be printed.
            let _ = output::line(format_args!("{line}"));
        }
        Err(error) => tracing::error!(peer = %from, %error, "measurement failed"),
    }
}

/// The lines of an interval: one for each flow, and a sum for each direction with several flows.
fn rows(sample: &Sample) -> Vec<String> {
    let flows = &sample.flows;
    let is_both = [false, true].iter().all(|way| flows.iter().any(|flow| flow.reverse == *way));
    let label = |name: &str, reverse: bool| match (flows.len(), is_both) {
        (1, _) => String::new(),
        (_, false) => format!("[{name:>3}] "),
        (_, true) => format!("[{name:>3} {:<3}] ", if reverse { "in" } else { "out" }),
    };
    let mut rows: Vec<_> = (1..)
        .zip(flows)
        .map(|(n, flow): (u32, _)| row(&label(&n.to_string(), flow.reverse), sample, flow))
        .collect();
    for way in [false, true] {
        let part: Vec<_> = flows.iter().filter(|flow| flow.reverse == way).copied().collect();
        if let (Some(sum), true) = (sum(&part), part.len() > 1) {
            rows.push(row(&label("SUM", way), sample, &sum));
        }
    }
    rows
}

fn row(label: &str, sample: &Sample, flow: &FlowSample) -> String {
    let [from, to] = [sample.from, sample.to].map(|time| time.as_secs_f64());
    let mut row = format!("{label}{from:7.2} to {to:7.2} s  {:>9} Mb/s", mbps(rate(sample, flow)));
    if let Some(n) = flow.retransmitted {
        row += &format!("  retransmitted {n:>5}");
    }
    if let Some(rtt) = flow.rtt {
        row += &format!("  rtt {:>7.1} ms", milliseconds(rtt));
    }
    if let Some(cwnd) = flow.cwnd {
        row += &format!("  cwnd {cwnd}");
    }
    if let (Some(lost), Some(jitter)) = (flow.lost, flow.jitter) {
        row += &format!("  lost {lost:>5}  jitter {:>7.3} ms", milliseconds(jitter));
    }
    row
}

/// The result: a line for each flow if there are several, then a line for each direction.
fn table(plan: &Plan, flows: &[FlowOutcome]) -> Vec<String> {
    let mut lines = Vec::new();
    for reverse in [false, true] {
        let (part, sum) = direction(flows, reverse);
        let Some(sum) = sum else { continue };
        let title = match (plan.direction, reverse) {
            (Direction::Both, false) => "out: ",
            (Direction::Both, true) => "in: ",
            _ => "",
        };
        if part.len() > 1 {
            lines.extend(
                (1..).zip(&part).map(|(n, flow): (u32, _)| format!("{title}[{n:>3}] {}", line(flow))),
            );
        }
        lines.push(format!("{title}{}", line(&sum)));
        lines.extend(details(plan, &sum));
    }
    lines
}

fn line(flow: &FlowOutcome) -> String {
    let FlowOutcome { receiver, .. } = flow;
    let (bytes, seconds) = (receiver.bytes, receiver.time.as_secs_f64());
    format!("{bytes} bytes in {seconds:.2} s: {} Mb/s", mbps(flow.goodput()))
}

fn details(plan: &Plan, flow: &FlowOutcome) -> Vec<String> {
    let FlowOutcome { sender, receiver, .. } = flow;
    let hops = flow.hops.map_or_else(|| "unknown".to_owned(), |hops| hops.to_string());
    let what = if plan.udp.is_some() {
        format!(
            "lost: {} of {} datagrams ({}%); {} out of order; jitter {:.3} ms",
            flow.lost(),
            sender.datagrams_sent,
            number(lost_percent(flow), 2),
            receiver.out_of_order,
            milliseconds(receiver.jitter),
        )
    } else {
        format!(
            "retransmitted: {} of {} segments, {} per segment delivered; {} timeouts, {} freezes",
            sender.retransmitted,
            sender.data_sent,
            number(flow.retransmission_index(), 4),
            sender.timeouts,
            sender.freezes,
        )
    };
    let [send, receive] = [sender, receiver].map(|end| number(end.cpu_per_gb(), 2));
    let cpu =
        format!("CPU seconds per GB: {send} to send, {receive} to receive; hops: {hops}, mss {}", flow.mss);
    vec![what, cpu]
}

fn mbps(bits_per_second: f64) -> String {
    format!("{:.3}", bits_per_second / 1e6)
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// Default duration of a measurement, equal to iperf3's.
const USUAL: Duration = Duration::from_secs(10);
const USUAL_RATE: u64 = 1_000_000;
