//! Measurements on this host.

use std::time::Duration;

use multihop_net::perf::{Amount, Plan, measure, serve};
use multihop_net::{Config, Security, TpaListener, TpaStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::run;

#[test]
fn both_ends_count_the_data_of_both_directions() {
    run(async {
        let config = Config::new(Security::Plain);
        let listener = TpaListener::bind("127.0.0.1:0".parse().unwrap(), config.clone()).await.unwrap();
        let addr = listener.local_addr();
        let (told, mut served) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move { serve(&listener, |_, result| told.send(result.unwrap()).unwrap()).await });
        for reverse in [false, true] {
            let stream = TpaStream::connect(addr, &config).await.unwrap();
            let amount = Amount::Bytes(1_000_000);
            let plan = Plan { reverse, amount, interval: Duration::from_millis(1) };
            let mut parts = Vec::new();
            let outcome = measure(stream, plan, |part| parts.push(part)).await.unwrap();
            assert_eq!((outcome.sender.bytes, outcome.receiver.bytes), (1_000_000, 1_000_000));
            assert!(outcome.goodput() > 0.0);
            // 1460 bytes to a segment, and frames around them.
            assert!((685..=1100).contains(&outcome.receiver.delivered), "{outcome:?}");
            assert!(outcome.sender.data_sent >= outcome.receiver.delivered);
            assert!(outcome.retransmission_index().unwrap() < 1.0);
            assert!(parts.windows(2).all(|pair| pair[0].to == pair[1].from && pair[1].to > pair[1].from));
            assert!(parts.iter().all(|part| part.retransmitted.is_some() != reverse));
            assert!(parts.iter().map(|part| part.bytes).sum::<u64>() <= 1_010_000);
            assert_eq!(served.recv().await.unwrap().bytes, 1_000_000);
        }
    });
}

#[test]
fn time_ends_a_measurement_and_random_bytes_do_not_end_the_server() {
    run(async {
        let config = Config::new(Security::Plain);
        let listener = TpaListener::bind("127.0.0.1:0".parse().unwrap(), config.clone()).await.unwrap();
        let addr = listener.local_addr();
        tokio::spawn(async move { serve(&listener, |_, _| ()).await });
        let mut stream = TpaStream::connect(addr, &config).await.unwrap();
        stream.write_all(b"\x01\0\0\0\x04noise").await.unwrap();
        // The server drops the connection.
        let _ = stream.read_to_end(&mut Vec::new()).await;
        let stream = TpaStream::connect(addr, &config).await.unwrap();
        let amount = Amount::Time(Duration::from_millis(200));
        let plan = Plan { reverse: false, amount, interval: Duration::from_secs(9) };
        let outcome = measure(stream, plan, |_| panic!("it is shorter than that")).await.unwrap();
        assert!(outcome.sender.time >= Duration::from_millis(200));
        assert!(outcome.receiver.bytes > 0 && outcome.sender.bytes == outcome.receiver.bytes);
    });
}

#[test]
fn a_caller_without_a_request_does_not_keep_others_waiting() {
    run(async {
        let config = Config::new(Security::Plain);
        let listener = TpaListener::bind("127.0.0.1:0".parse().unwrap(), config.clone()).await.unwrap();
        let addr = listener.local_addr();
        tokio::spawn(async move { serve(&listener, |_, _| ()).await });
        let mut silent = TpaStream::connect(addr, &config).await.unwrap();
        let stream = TpaStream::connect(addr, &config).await.unwrap();
        let amount = Amount::Bytes(1000);
        let plan = Plan { reverse: false, amount, interval: Duration::from_secs(9) };
        assert_eq!(measure(stream, plan, |_| ()).await.unwrap().receiver.bytes, 1000);
        // It is dropped after a while, which the time limit of the test includes.
        let _ = silent.read_to_end(&mut Vec::new()).await;
    });
}
