//! The calls of [`Connection`](super::Connection) that the ends of TCP and TPA implement in the same way.

/// Expands to the methods that an `impl Connection` for TCP and one for TPA share. `$Segment` is the variant
/// of [`Segment`](super::Segment), `$protocol` the module of the protocol.
macro_rules! endpoint_calls {
    ($Segment:ident, $protocol:ident) => {
        fn listen(&mut self) {
            self.listen();
        }

        fn connect(&mut self) {
            self.connect();
        }

        fn send(&mut self, _now: Instant, data: Data) -> Result<(), SendError> {
            self.send(data)
        }

        fn read(&mut self, max: u32) -> Payload {
            self.read(max)
        }

        fn abort(&mut self) {
            self.abort();
        }

        fn handle_timeout(&mut self, now: Instant) {
            Machine::handle_timeout(self, now);
        }

        fn poll_output(&mut self, now: Instant) -> Option<Output> {
            Some(match Machine::poll_output(self, now)? {
                $protocol::Output::Segment(segment) => Output::Segment(Segment::$Segment(segment)),
                $protocol::Output::Event(event) => Output::Event(event),
            })
        }

        fn poll_timeout(&self) -> Option<Instant> {
            Machine::poll_timeout(self)
        }

        fn is_closed(&self) -> bool {
            self.state() == State::Closed
        }

        fn counters(&self) -> Counters {
            let counters = self.counters();
            Counters {
                sent: counters.data_sent,
                retransmitted: counters.retransmitted,
                timeouts: counters.timeouts,
                delivered: counters.delivered,
                out_of_order: counters.out_of_order,
            }
        }

        fn round_trip(&self) -> Option<RoundTrip> {
            Some(RoundTrip { latest: self.rtt().latest()?, samples: self.rtt().samples() })
        }
    };
}

pub(super) use endpoint_calls;
