//! Measurements on this host.

use std::net::SocketAddr;
use std::time::Duration;

use multihop_apps::perf::{Amount, Direction, FlowOutcome, Plan, Sample, measure, serve};
use multihop_net::{Config, Listener, Security, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::run;

/// Starts a listening end; returns its address, and a channel of the number of bytes of each flow that it has
/// served.
async fn server() -> (SocketAddr, UnboundedReceiver<u64>) {
    let config = Config::new(Security::Plain);
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), config).await.unwrap();
    let addr = listener.local_addr();
    let (told, served) = unbounded_channel();
    let done = move |_, result: std::io::Result<multihop_apps::perf::EndTotals>| {
        // The test may have seen enough.
        let _ = told.send(result.map_or(0, |totals| totals.bytes));
    };
    tokio::spawn(async move { serve(&listener, done).await });
    (addr, served)
}

async fn connect(addr: SocketAddr) -> Stream {
    Stream::connect(addr, &Config::new(Security::Plain)).await.unwrap()
}

async fn ask(addr: SocketAddr, plan: Plan) -> (Vec<FlowOutcome>, Vec<Sample>) {
    let mut streams = Vec::new();
    for _ in plan.connections() {
        streams.push(connect(addr).await);
    }
    let mut samples = Vec::new();
    let flows = measure(streams, plan, |sample| samples.push(sample)).await.unwrap();
    (flows, samples)
}

fn plan(direction: Direction, amount: Amount) -> Plan {
    Plan { direction, flows: 1, amount, interval: Duration::from_millis(2), udp: None }
}

#[test]
fn both_ends_count_the_data_of_both_directions() {
    run(async {
        let (addr, mut served) = server().await;
        for direction in [Direction::Forward, Direction::Reverse] {
            let (flows, samples) = ask(addr, plan(direction, Amount::Bytes(1_000_000))).await;
            let [flow] = flows.as_slice() else { panic!("{flows:?}") };
            assert_eq!((flow.sender.bytes, flow.receiver.bytes), (1_000_000, 1_000_000));
            assert!(flow.goodput() > 0.0);
            // 1460 bytes to a segment, and frames around them.
            assert!((685..=1100).contains(&flow.receiver.delivered), "{flow:?}");
            assert!(flow.sender.data_sent >= flow.receiver.delivered);
            assert!(flow.retransmission_index().unwrap() < 1.0);
            assert!(samples.windows(2).all(|pair| pair[0].to == pair[1].from && pair[1].to > pair[1].from));
            let reverse = direction == Direction::Reverse;
            assert!(samples.iter().all(|sample| sample.flows[0].retransmitted.is_some() != reverse));
            // The intervals contain all data and, at the sender, the headers of the frames.
            let sum: u64 = samples.iter().map(|sample| sample.flows[0].bytes).sum();
            assert!((1_000_000..=1_010_000).contains(&sum), "{sum}");
            assert_eq!(served.recv().await.unwrap(), 1_000_000);
        }
    });
}

#[test]
fn flows_of_one_measurement_run_together_and_those_of_another_wait() {
    run(async {
        let (addr, mut served) = server().await;
        let time = Amount::Time(Duration::from_millis(300));
        let many = Plan { flows: 3, ..plan(Direction::Both, time) };
        let begin = tokio::time::Instant::now();
        let ((flows, samples), (other, _)) = tokio::join!(ask(addr, many), async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            ask(addr, plan(Direction::Forward, time)).await
        });
        assert_eq!(
            flows.iter().map(|flow| flow.reverse).collect::<Vec<_>>(),
            [false, false, false, true, true, true]
        );
        assert!(flows.iter().all(|flow| flow.receiver.bytes > 0));
        let together = samples.iter().any(|sample| sample.flows.iter().all(|flow| flow.bytes > 0));
        assert!(together, "no interval in which all six have moved data");
        assert!(other[0].receiver.bytes > 0 && begin.elapsed() >= Duration::from_millis(500));
        for _ in 0..7 {
            assert!(served.recv().await.unwrap() > 0);
        }
    });
}

#[test]
fn time_ends_a_measurement_and_random_bytes_do_not_end_the_server() {
    run(async {
        let (addr, _served) = server().await;
        let mut stream = connect(addr).await;
        stream.write_all(b"\x01\0\0\0\x04noise").await.unwrap();
        // The server drops the connection.
        let _ = stream.read_to_end(&mut Vec::new()).await;
        let plan = plan(Direction::Forward, Amount::Time(Duration::from_millis(200)));
        let (flows, samples) = ask(addr, Plan { interval: Duration::from_secs(9), ..plan }).await;
        assert_eq!(samples.len(), 1, "the last interval is shorter than the others would be");
        let flow = &flows[0];
        assert!(flow.sender.time >= Duration::from_millis(200));
        assert!(flow.receiver.bytes > 0 && flow.sender.bytes == flow.receiver.bytes);
    });
}

#[test]
fn a_caller_without_a_request_does_not_keep_others_waiting() {
    run(async {
        let (addr, _served) = server().await;
        let mut silent = connect(addr).await;
        let (flows, _) = ask(addr, plan(Direction::Forward, Amount::Bytes(1000))).await;
        assert_eq!(flows[0].receiver.bytes, 1000);
        // The receiver drops the silent connection after a while, which the time limit of the test includes.
        let _ = silent.read_to_end(&mut Vec::new()).await;
    });
}

#[test]
fn udp_counts_what_is_lost() {
    run(async {
        let (addr, _served) = server().await;
        for direction in [Direction::Forward, Direction::Reverse] {
            // All datagrams fit into a socket's buffer, in case the receiver has to wait for a processor.
            let plan = Plan { udp: Some(1_600_000), ..plan(direction, Amount::Bytes(28_000)) };
            let (flows, samples) = ask(addr, plan).await;
            let flow = &flows[0];
            assert_eq!((flow.sender.datagrams_sent, flow.receiver.datagrams_received), (20, 20));
            assert_eq!((flow.lost(), flow.receiver.out_of_order), (0, 0));
            assert_eq!(flow.receiver.bytes, 28_000);
            // The last datagram leaves seven milliseconds before the end.
            assert!(flow.sender.time >= Duration::from_millis(132), "{flow:?}");
            assert!(samples.iter().all(|sample| sample.flows[0].lost.is_some() == flow.reverse));
        }
    });
}
