//! The messages of a measurement, as docs/net-programs.md specifies them.

use std::time::Duration;

use super::{Amount, EndTotals};

/// The request of the connecting end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct PerfRequest {
    pub(super) reverse: bool,
    pub(super) amount: Amount,
}

impl PerfRequest {
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let (&[reverse, kind], amount) = body.strip_prefix(MAGIC)?.split_first_chunk()?;
        let amount = u64::from_be_bytes(amount.try_into().ok()?);
        let amount = match kind {
            0 => Amount::Time(Duration::from_millis(amount)),
            1 => Amount::Bytes(amount),
            _ => return None,
        };
        (reverse <= 1).then_some(Self { reverse: reverse == 1, amount })
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let (kind, amount) = match self.amount {
            Amount::Time(time) => (0, u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            Amount::Bytes(bytes) => (1, bytes),
        };
        [MAGIC, &[u8::from(self.reverse), kind], &amount.to_be_bytes()].concat()
    }
}

pub(super) fn emit(tally: &EndTotals) -> Vec<u8> {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let fields = [
        tally.bytes,
        nanoseconds(tally.time),
        nanoseconds(tally.cpu),
        tally.data_sent,
        tally.retransmitted,
        tally.delivered,
        tally.timeouts,
        tally.freezes,
        tally.datagrams_sent,
        tally.datagrams_received,
    ];
    fields.iter().flat_map(|field| field.to_be_bytes()).collect()
}

pub(super) fn parse(body: &[u8]) -> Option<EndTotals> {
    let (fields, rest) = body.as_chunks::<8>();
    let fields: &[[u8; 8]; 10] = fields.try_into().ok().filter(|_| rest.is_empty())?;
    let [bytes, time, cpu, data_sent, retransmitted, delivered, timeouts, freezes, out, back] =
        fields.map(u64::from_be_bytes);
    Some(EndTotals {
        bytes,
        time: Duration::from_nanos(time),
        cpu: Duration::from_nanos(cpu),
        data_sent,
        retransmitted,
        delivered,
        timeouts,
        freezes,
        datagrams_sent: out,
        datagrams_received: back,
    })
}

/// A parsed message emits the same bytes.
#[cfg(fuzzing)]
pub(crate) fn check(body: &[u8]) {
    if let Some(request) = PerfRequest::parse(body) {
        assert_eq!(request.emit(), body);
    }
    if let Some(tally) = parse(body) {
        assert_eq!(emit(&tally), body);
    }
}

pub(super) const REQUEST: u8 = 1;
pub(super) const DATA: u8 = 2;
pub(super) const END: u8 = 3;
pub(super) const TALLY: u8 = 4;
/// Ends with the version.
const MAGIC: &[u8] = b"multihop perf\x01";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_survive_a_round_trip() {
        for amount in [Amount::Time(Duration::from_millis(1500)), Amount::Bytes(u64::MAX)] {
            for reverse in [false, true] {
                let request = PerfRequest { reverse, amount };
                assert_eq!(PerfRequest::parse(&request.emit()), Some(request));
            }
        }
        let tally = EndTotals {
            bytes: 1,
            time: Duration::from_nanos(2),
            cpu: Duration::from_nanos(3),
            data_sent: 4,
            retransmitted: 5,
            delivered: 6,
            timeouts: 7,
            freezes: 8,
            datagrams_sent: 9,
            datagrams_received: 10,
        };
        assert_eq!(parse(&emit(&tally)), Some(tally));
    }

    proptest! {
        #[test]
        fn noise_is_refused_or_understood(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = (parse(&body), PerfRequest::parse(&body));
        }
    }
}
