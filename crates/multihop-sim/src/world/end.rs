//! One end of a flow, whatever its transport.

use multihop_core::{Duration, FlowId, Instant, Machine, Notice};
use multihop_transport::pacing::Pacer;
use multihop_transport::tcp::{self, Event};
use multihop_transport::tpa;
use multihop_wire::tcp::NetworkState;

use super::flow::{Arrival, Counts};
use crate::extension::{Transport, TransportInput, TransportOutput};
use crate::packet::Body;

/// One end of a flow.
pub(super) enum End {
    Tcp(Box<tcp::Endpoint>),
    Tpa(Box<tpa::Endpoint>),
    /// Datagrams are sent by the application itself.
    UdpSender(Counts),
    UdpReceiver {
        expected: u64,
        counts: Counts,
    },
    Custom {
        machine: Box<dyn Transport>,
        counts: Counts,
        /// Whether a message has come since something was delivered.
        heard: bool,
    },
}

/// What an end says, in one vocabulary.
pub(super) enum Said {
    Send(Body),
    /// So many more bytes have arrived in order.
    Delivered(u64),
    /// The other end has so many more bytes.
    Acked(u64),
    /// Nothing more comes from the other end.
    PeerClosed,
    /// The connection is gone before its time.
    Broken,
    /// A round trip took so long.
    RoundTrip(Duration),
}

/// What a sender shows of itself over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Congestion window, in segments.
    pub(crate) cwnd: f64,
    /// The newest round-trip time, and how many there were.
    pub(crate) rtt: Option<Duration>,
    pub(crate) rtt_samples: u64,
    /// Where congestion control is.
    pub(crate) state: &'static str,
    /// If it is paced.
    pub(crate) pace: Option<Pace>,
}

/// What an ADTCP receiver measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) metrics: tcp::Values,
    pub(crate) network: NetworkState,
}

/// What a pacer shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Payload that it lets out at most.
    pub(crate) rate_kbps: f64,
    /// Coefficient of variation of the round trips.
    pub(crate) cov: f64,
}

impl Pace {
    /// Nothing before the first round trip.
    fn of(pacer: &Pacer, payload: u32) -> Option<Self> {
        let rate_kbps = pacer.rate()? * f64::from(payload) * 8e-3;
        Some(Self { rate_kbps, cov: pacer.cov() })
    }
}

impl End {
    pub(super) fn custom(machine: Box<dyn Transport>) -> Self {
        Self::Custom { machine, counts: Counts::default(), heard: false }
    }

    /// The TCP endpoint, if it is one.
    pub(super) fn tcp(&self) -> Option<&tcp::Endpoint> {
        match self {
            Self::Tcp(endpoint) => Some(endpoint),
            _ => None,
        }
    }

    /// The other end may begin.
    pub(super) fn listen(&mut self) {
        match self {
            Self::Tcp(endpoint) => endpoint.listen(),
            Self::Tpa(endpoint) => endpoint.listen(),
            Self::UdpSender(_) | Self::UdpReceiver { .. } | Self::Custom { .. } => {}
        }
    }

    /// The application has so much to send, or data without end; says whether the end took it.
    pub(super) fn send(&mut self, now: Instant, amount: Option<u64>, first: bool) -> bool {
        match self {
            Self::Tcp(endpoint) => {
                if first {
                    endpoint.connect();
                }
                let sent = match amount {
                    None => endpoint.send_forever(),
                    Some(bytes) => endpoint.send_virtual(bytes),
                };
                sent.is_ok()
            }
            Self::Tpa(endpoint) => {
                if first {
                    endpoint.connect();
                }
                let sent = match amount {
                    None => endpoint.send_forever(),
                    Some(bytes) => endpoint.send_virtual(bytes),
                };
                sent.is_ok()
            }
            Self::Custom { machine, .. } => {
                machine.handle(now, TransportInput::Data(amount));
                true
            }
            Self::UdpSender(_) | Self::UdpReceiver { .. } => true,
        }
    }

    /// The application begins, with nothing to send yet.
    pub(super) fn connect(&mut self) {
        match self {
            Self::Tcp(endpoint) => endpoint.connect(),
            Self::Tpa(endpoint) => endpoint.connect(),
            Self::UdpSender(_) | Self::UdpReceiver { .. } | Self::Custom { .. } => {}
        }
    }

    /// The application takes so much of what has arrived.
    pub(super) fn read(&mut self, bytes: u32) {
        match self {
            Self::Tcp(endpoint) => drop(endpoint.read(bytes)),
            Self::Tpa(endpoint) => drop(endpoint.read(bytes)),
            Self::UdpSender(_) | Self::UdpReceiver { .. } | Self::Custom { .. } => {}
        }
    }

    /// The application has nothing more to send.
    pub(super) fn close(&mut self, now: Instant) {
        match self {
            Self::Tcp(endpoint) => endpoint.close(),
            Self::Tpa(endpoint) => endpoint.shutdown(),
            Self::Custom { machine, .. } => machine.handle(now, TransportInput::Stop),
            Self::UdpSender(_) | Self::UdpReceiver { .. } => {}
        }
    }

    /// Takes what a packet carries. What a datagram brings is said at once.
    pub(super) fn receive(&mut self, now: Instant, arrival: Arrival, body: Body) -> Option<Said> {
        match (self, body) {
            (Self::Tcp(endpoint), Body::Tcp(segment)) => {
                let input = match arrival.trip(now) {
                    Some(trip) => tcp::Input::Timed(segment, trip),
                    None => tcp::Input::Segment(segment),
                };
                endpoint.handle(now, input);
            }
            (Self::Tpa(endpoint), Body::Tpa(segment)) => endpoint.handle(now, tpa::Input::Segment(segment)),
            (Self::Custom { machine, heard, .. }, Body::Custom { message, .. }) => {
                *heard = true;
                machine.handle(now, TransportInput::Message(message));
            }
            (Self::UdpReceiver { expected, counts }, Body::Udp(datagram)) => {
                counts.out_of_order += u64::from(datagram.serial > *expected);
                counts.delivered += 1;
                *expected = (*expected).max(datagram.serial + 1);
                return Some(Said::Delivered(u64::from(datagram.size)));
            }
            _ => {}
        }
        None
    }

    /// Whether it makes use of notices.
    pub(super) fn takes_notices(&self) -> bool {
        match self {
            Self::Custom { .. } => true,
            Self::Tcp(endpoint) => endpoint.config().elfn.is_some(),
            Self::Tpa(endpoint) => endpoint.config().notices,
            Self::UdpSender(_) | Self::UdpReceiver { .. } => false,
        }
    }

    pub(super) fn notice(&mut self, now: Instant, notice: Notice) {
        match self {
            Self::Tcp(endpoint) => endpoint.handle(now, tcp::Input::Notice(notice)),
            Self::Tpa(endpoint) => endpoint.handle(now, tpa::Input::Notice(notice)),
            Self::Custom { machine, .. } => machine.handle(now, TransportInput::Notice(notice)),
            Self::UdpSender(_) | Self::UdpReceiver { .. } => {}
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Tcp(endpoint) => endpoint.handle_timeout(now),
            Self::Tpa(endpoint) => endpoint.handle_timeout(now),
            Self::Custom { machine, .. } => machine.handle_timeout(now),
            Self::UdpSender(_) | Self::UdpReceiver { .. } => {}
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Tcp(endpoint) => endpoint.poll_timeout(),
            Self::Tpa(endpoint) => endpoint.poll_timeout(),
            Self::Custom { machine, .. } => machine.poll_timeout(),
            Self::UdpSender(_) | Self::UdpReceiver { .. } => None,
        }
    }

    /// Whether it has no connection, now that its application has ended.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Tcp(endpoint) => endpoint.state() == tcp::State::Closed,
            Self::Tpa(endpoint) => endpoint.state() == tpa::State::Closed,
            Self::UdpSender(_) | Self::UdpReceiver { .. } | Self::Custom { .. } => false,
        }
    }

    /// The next thing it has to say.
    pub(super) fn poll(&mut self, now: Instant, flow: FlowId) -> Option<Said> {
        match self {
            Self::Tcp(endpoint) => loop {
                match endpoint.poll_output(now)? {
                    tcp::Output::Segment(segment) => return Some(Said::Send(Body::Tcp(segment))),
                    tcp::Output::Event(event) => {
                        if let Some(said) = of_event(event) {
                            return Some(said);
                        }
                    }
                }
            },
            Self::Tpa(endpoint) => loop {
                match endpoint.poll_output(now)? {
                    tpa::Output::Segment(segment) => return Some(Said::Send(Body::Tpa(segment))),
                    tpa::Output::Event(event) => {
                        if let Some(said) = of_event(event) {
                            return Some(said);
                        }
                    }
                }
            },
            Self::Custom { machine, counts, heard } => loop {
                match machine.poll_output(now)? {
                    TransportOutput::Send(message) => {
                        counts.sent += u64::from(message.data > 0);
                        counts.retransmitted += u64::from(message.data > 0 && message.again);
                        return Some(Said::Send(Body::Custom { flow, message }));
                    }
                    TransportOutput::Delivered(bytes) => {
                        counts.delivered += u64::from(std::mem::take(heard));
                        return Some(Said::Delivered(bytes));
                    }
                    TransportOutput::Acked(bytes) => return Some(Said::Acked(bytes)),
                    TransportOutput::RoundTrip(time) => return Some(Said::RoundTrip(time)),
                    TransportOutput::TimedOut => counts.timeouts += 1,
                }
            },
            Self::UdpSender(_) | Self::UdpReceiver { .. } => None,
        }
    }

    /// What it has counted.
    pub(super) fn counts(&self) -> Counts {
        match self {
            Self::Tcp(endpoint) => Counts::from(endpoint.counters()),
            Self::Tpa(endpoint) => Counts::from(endpoint.counters()),
            Self::UdpSender(counts) | Self::UdpReceiver { counts, .. } | Self::Custom { counts, .. } => {
                *counts
            }
        }
    }

    /// The newest round-trip time, and how many there were, where the end measures them itself.
    pub(super) fn round_trip(&self) -> Option<(Duration, u64)> {
        match self {
            Self::Tcp(endpoint) => Some((endpoint.rtt().latest()?, endpoint.rtt().samples())),
            Self::Tpa(endpoint) => Some((endpoint.rtt().latest()?, endpoint.rtt().samples())),
            Self::UdpSender(_) | Self::UdpReceiver { .. } | Self::Custom { .. } => None,
        }
    }

    /// What the recorded series show of it as a receiver.
    pub(super) fn measured(&self) -> Option<Measured> {
        let endpoint = self.tcp()?;
        Some(Measured { metrics: *endpoint.metrics()?, network: endpoint.network_state()? })
    }

    /// What the recorded series show of it as a sender.
    pub(super) fn progress(&self) -> Option<Progress> {
        match self {
            Self::Tcp(endpoint) => Some(Progress {
                cwnd: f64::from(endpoint.cwnd()) / f64::from(endpoint.mss()),
                rtt: endpoint.rtt().latest(),
                rtt_samples: endpoint.rtt().samples(),
                state: endpoint.phase().name(),
                pace: endpoint.pacer().and_then(|pacer| Pace::of(pacer, endpoint.mss())),
            }),
            Self::Tpa(endpoint) => Some(Progress {
                cwnd: f64::from(endpoint.cwnd()),
                rtt: endpoint.rtt().latest(),
                rtt_samples: endpoint.rtt().samples(),
                state: endpoint.phase().name(),
                pace: endpoint.pacer().and_then(|pacer| Pace::of(pacer, endpoint.mss())),
            }),
            Self::UdpSender(_) | Self::UdpReceiver { .. } | Self::Custom { .. } => None,
        }
    }
}

fn of_event(event: Event) -> Option<Said> {
    match event {
        Event::Delivered(bytes) => Some(Said::Delivered(bytes)),
        Event::Acked(bytes) => Some(Said::Acked(bytes)),
        Event::PeerClosed => Some(Said::PeerClosed),
        Event::Reset | Event::TimedOut => Some(Said::Broken),
        Event::Connected | Event::Closed => None,
    }
}
