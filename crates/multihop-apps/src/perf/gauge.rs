//! Counters of a flow that can be read during the flow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use multihop_net::{Stats, StatsReader, Stream};

use super::FlowSample;

/// Gives access to the progress of a flow at this end.
#[derive(Clone, Debug)]
pub(super) struct Gauge {
    reverse: bool,
    is_udp: bool,
    stream: StatsReader,
    progress: Arc<Progress>,
}

/// Counters that the flow itself updates.
#[derive(Debug, Default)]
struct Progress {
    bytes: AtomicU64,
    lost: AtomicU64,
    jitter: AtomicU64,
}

/// Snapshot of a flow's counters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    bytes: u64,
    lost: u64,
    jitter: Duration,
    retransmitted: u64,
    rtt: Option<Duration>,
    cwnd: u32,
}

impl Gauge {
    pub(super) fn new(stream: &Stream, reverse: bool, is_udp: bool) -> Self {
        Self { reverse, is_udp, stream: stream.stats_reader(), progress: Arc::default() }
    }

    /// Sets the number of bytes of data received, or sent by UDP, so far.
    pub(super) fn set_bytes(&self, bytes: u64) {
        self.progress.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Stores the receiver's counts of lost datagrams and of jitter.
    pub(super) fn set_losses(&self, lost: u64, jitter: Duration) {
        self.progress.lost.store(lost, Ordering::Relaxed);
        let jitter = u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX);
        self.progress.jitter.store(jitter, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Counts {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let Progress { bytes, lost, jitter } = &*self.progress;
        let own = Counts {
            bytes: read(bytes),
            lost: read(lost),
            jitter: Duration::from_nanos(read(jitter)),
            ..Counts::default()
        };
        match self.stream.stats().filter(|_| !self.is_udp) {
            Some(Stats { counters, latest_rtt, cwnd, .. }) => Counts {
                bytes: if self.reverse { own.bytes } else { counters.bytes_acked },
                retransmitted: counters.retransmitted,
                rtt: latest_rtt,
                cwnd,
                ..own
            },
            None => own,
        }
    }

    /// Differences between two counts, as one sample of the flow.
    pub(super) fn sample(&self, before: &Counts, now: &Counts) -> FlowSample {
        let receives_udp = self.is_udp && self.reverse;
        FlowSample {
            reverse: self.reverse,
            bytes: now.bytes.saturating_sub(before.bytes),
            retransmitted: (!self.is_udp && !self.reverse).then(|| now.retransmitted - before.retransmitted),
            rtt: now.rtt,
            cwnd: (!self.is_udp).then_some(now.cwnd),
            // A late datagram was previously counted as lost.
            lost: receives_udp.then(|| now.lost.saturating_sub(before.lost)),
            jitter: receives_udp.then_some(now.jitter),
        }
    }
}
