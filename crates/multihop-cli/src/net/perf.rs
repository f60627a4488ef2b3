//! `multihop perf`.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use multihop_net::perf::{self, Amount, EndTotals, Outcome, Plan, Sample};
use multihop_net::{Config, Security, TpaStream, dial};
use multihop_scenario::Extensions;
use serde_json::{Value, json};

use super::args::PerfArgs;
use super::{listen, run, settings};
use crate::terminal::Verbosity;
use crate::{CommandError, output};

/// Measures the goodput to a listening end, or is that end.
pub(crate) fn perf(
    args: &PerfArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    match (&args.listen, &args.server) {
        (Some(address), _) => run(verbosity, async {
            let say = |line: String| output::line(format_args!("{line}"));
            let listener = listen(address, &args.net, &[], extensions, say).await?;
            Ok(perf::serve(&listener, served).await.context("cannot accept connections any more")?)
        }),
        (None, Some(server)) => {
            let config = settings::connecting(&args.net, &[], extensions)?;
            run(verbosity, async {
                let stream = dial(server, &config).await;
                let stream = stream.with_context(|| format!("cannot connect to {server}"))?;
                measure(args, verbosity, &config, stream).await
            })
        }
        (None, None) => unreachable!("clap requires one of them"),
    }
}

async fn measure(
    args: &PerfArgs,
    verbosity: Verbosity,
    config: &Config,
    stream: TpaStream,
) -> Result<(), CommandError> {
    let amount = match (args.bytes, args.time) {
        (Some(bytes), _) => Amount::Bytes(bytes),
        (None, time) => Amount::Time(time.unwrap_or(USUAL)),
    };
    let plan = Plan { reverse: args.reverse, amount, interval: args.interval };
    let mut samples = Vec::new();
    let mut broken = Ok(());
    let outcome = perf::measure(stream, plan, |sample| {
        if args.json {
            samples.push(part(&sample));
        } else if broken.is_ok() && !verbosity.quiet {
            broken = output::line(format_args!("{}", row(&sample)));
        }
    });
    let outcome = outcome.await.context("the measurement did not finish")?;
    broken?;
    if args.json {
        output::json(&document(args.reverse, config, &outcome, samples), true)?;
    } else {
        output::line(format_args!("{}", table(&outcome)))?;
    }
    Ok(())
}

/// Prints the result of a measurement at the listening end.
fn served(from: SocketAddr, result: io::Result<EndTotals>) {
    match result {
        Ok(tally) => {
            let rate = mbps(8.0 * tally.bytes as f64 / tally.time.as_secs_f64().max(1e-9));
            let line =
                format!("{from}: {} bytes in {:.2} s, {rate} Mb/s", tally.bytes, tally.time.as_secs_f64());
            // A measurement is valid even if its line cannot be printed.
            let _ = output::line(format_args!("{line}"));
        }
        Err(error) => eprintln!("multihop: from {from}: {error}"),
    }
}

fn row(sample: &Sample) -> String {
    let [from, to] = [sample.from, sample.to].map(|time| time.as_secs_f64());
    let rate = mbps(8.0 * sample.bytes as f64 / (to - from).max(1e-9));
    let rtt = sample.rtt.map_or_else(|| "-".to_owned(), |rtt| format!("{:.1}", milliseconds(rtt)));
    let again = sample.retransmitted.map_or_else(|| "-".to_owned(), |n| n.to_string());
    format!(
        "{from:7.2} to {to:7.2} s  {rate:>9} Mb/s  retransmitted {again:>5}  rtt {rtt:>7} ms  cwnd {}",
        sample.cwnd
    )
}

fn table(outcome: &Outcome) -> String {
    let Outcome { sender, receiver, .. } = outcome;
    let cpu = |tally: &EndTotals| number(tally.cpu_per_gb(), 2);
    let hops = outcome.hops.map_or_else(|| "unknown".to_owned(), |hops| hops.to_string());
    format!(
        "\n{} bytes in {:.2} s: {} Mb/s\n\
         retransmitted: {} of {} segments, {} per segment delivered; {} timeouts, {} freezes\n\
         CPU seconds per GB: {} to send, {} to receive; hops: {hops}, mss {}",
        receiver.bytes,
        receiver.time.as_secs_f64(),
        mbps(outcome.goodput()),
        sender.retransmitted,
        sender.data_sent,
        number(outcome.retransmission_index(), 4),
        sender.timeouts,
        sender.freezes,
        cpu(sender),
        cpu(receiver),
        outcome.mss,
    )
}

fn document(reverse: bool, config: &Config, outcome: &Outcome, samples: Vec<Value>) -> Value {
    let end = |tally: &EndTotals| {
        json!({
            "bytes": tally.bytes,
            "seconds": tally.time.as_secs_f64(),
            "cpu_seconds": tally.cpu.as_secs_f64(),
            "cpu_seconds_per_gb": tally.cpu_per_gb(),
            "data_sent": tally.data_sent,
            "retransmitted": tally.retransmitted,
            "delivered": tally.delivered,
            "timeouts": tally.timeouts,
            "freezes": tally.freezes,
            "datagrams_sent": tally.datagrams_sent,
            "datagrams_received": tally.datagrams_received,
        })
    };
    json!({
        "direction": if reverse { "reverse" } else { "forward" },
        "security": match config.security {
            Security::Plain => "plain",
            Security::Token(_) => "token",
            Security::Keys { .. } => "keys",
        },
        "goodput_kbps": outcome.goodput() / 1e3,
        "retransmission_index": outcome.retransmission_index(),
        "hops": outcome.hops,
        "mss": outcome.mss,
        "sender": end(&outcome.sender),
        "receiver": end(&outcome.receiver),
        "intervals": samples,
    })
}

fn part(sample: &Sample) -> Value {
    let [from, to] = [sample.from, sample.to].map(|time| time.as_secs_f64());
    json!({
        "from": from,
        "to": to,
        "bytes": sample.bytes,
        "goodput_kbps": 8e-3 * sample.bytes as f64 / (to - from).max(1e-9),
        "retransmitted": sample.retransmitted,
        "rtt_ms": sample.rtt.map(milliseconds),
        "cwnd": sample.cwnd,
    })
}

fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

fn mbps(bits_per_second: f64) -> String {
    format!("{:.3}", bits_per_second / 1e6)
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// The default of iperf3.
const USUAL: Duration = Duration::from_secs(10);
