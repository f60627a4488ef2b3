//! Flows of UDP datagrams at a given rate, which measure losses, order and jitter. The datagrams are
//! unprotected, contain zeros, and use another port than the listener.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::UdpSocket;
use tokio::time::{Instant, interval, sleep_until, timeout, timeout_at};

use super::clock::Clock;
use super::gauge::Gauge;
use super::message::{self, HELLO, Head, PerfRequest, UdpFlow};
use super::turns::{Turns, theirs};
use super::{Amount, EndTotals, PATIENCE, nonsense};

/// Runs the flow at the end that requested it; returns the totals of both ends.
pub(super) async fn ask(
    turns: &mut Turns,
    request: &PerfRequest,
    rate: u64,
    gauge: &Gauge,
) -> io::Result<(EndTotals, EndTotals)> {
    turns.be_patient_for(PATIENCE + length(request.amount, rate));
    let flow = UdpFlow::parse(&turns.expect(message::UDP).await?).ok_or_else(nonsense)?;
    let mut to = turns.stream().peer_addr();
    to.set_port(flow.port);
    let socket = open(to.is_ipv4()).await?;
    socket.connect(to).await?;
    let mut clock = Clock::start();
    let ours = if request.reverse {
        let received = receive(turns, &socket, flow.number, &mut clock, Some(gauge)).await?;
        turns.send(message::END, &[]).await?;
        received.tally(&clock, rate)
    } else {
        let sent = send(&socket, flow.number, request.amount, rate, &mut clock, Some(gauge)).await?;
        turns.send(message::END, &sent.datagrams_sent.to_be_bytes()).await?;
        sent
    };
    Ok((ours, theirs(turns).await?))
}

/// Runs the flow at the listening end.
pub(super) async fn answer(turns: &mut Turns, request: &PerfRequest, rate: u64) -> io::Result<EndTotals> {
    turns.be_patient_for(PATIENCE + length(request.amount, rate));
    let mut number = [0; 8];
    getrandom::fill(&mut number)?;
    let number = u64::from_be_bytes(number);
    let peer = turns.stream().peer_addr();
    let socket = open(peer.is_ipv4()).await?;
    let port = socket.local_addr()?.port();
    turns.send(message::UDP, &UdpFlow { port, number }.emit()).await?;
    let mut clock = Clock::start();
    if !request.reverse {
        let received = receive(turns, &socket, number, &mut clock, None).await?;
        return Ok(received.tally(&clock, rate));
    }
    let found = timeout(HELLO_LIMIT, find(&socket, number, peer.ip())).await;
    socket.connect(found.map_err(|_| unheard())??).await?;
    let sent = send(&socket, number, request.amount, rate, &mut clock, None).await?;
    turns.send(message::END, &sent.datagrams_sent.to_be_bytes()).await?;
    turns.expect(message::END).await?;
    Ok(sent)
}

async fn open(four: bool) -> io::Result<UdpSocket> {
    let any: IpAddr = if four { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    // The kernel may grant a smaller buffer.
    let _ = SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER);
    Ok(socket)
}

/// Waits for a datagram that shows the UDP address of the other end. Datagrams from other hosts than the
/// connection's are ignored, so that the flow cannot be directed at a third host.
async fn find(socket: &UdpSocket, flow: u64, host: IpAddr) -> io::Result<SocketAddr> {
    let mut buffer = [0; Head::LEN];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await?;
        let head = Head::parse(&buffer[..length]);
        let is_hello = head.is_some_and(|head| (head.flow, head.number) == (flow, HELLO));
        if is_hello && from.ip().to_canonical() == host.to_canonical() {
            return Ok(from);
        }
    }
}

/// Sends datagrams at even intervals until the amount is sent.
async fn send(
    socket: &UdpSocket,
    flow: u64,
    amount: Amount,
    rate: u64,
    clock: &mut Clock,
    gauge: Option<&Gauge>,
) -> io::Result<EndTotals> {
    let mut datagram = [0; LENGTH as usize];
    let (begin, end) = (Instant::now(), length(amount, rate));
    clock.begin();
    let mut sent = EndTotals::default();
    loop {
        let due = time_of(sent.bytes, rate);
        if due >= end {
            break;
        }
        sleep_until(begin + due).await;
        let now = clock.elapsed();
        if matches!(amount, Amount::Time(_)) && now >= end + LATENESS {
            break; // This host is too slow for the rate.
        }
        let head = Head { flow, number: sent.datagrams_sent, sent: nanoseconds(now) };
        datagram[..Head::LEN].copy_from_slice(&head.emit());
        match socket.send(&datagram).await {
            // The error reports an earlier datagram.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            sent => drop(sent?),
        }
        sent.datagrams_sent += 1;
        sent.bytes += u64::from(LENGTH);
        gauge.inspect(|gauge| gauge.set_bytes(sent.bytes));
    }
    clock.stop();
    Ok(EndTotals { time: clock.time(), cpu: clock.cpu(), ..sent })
}

/// Receives datagrams until the other end reports how many it sent, and slightly longer if some are missing.
async fn receive(
    turns: &mut Turns,
    socket: &UdpSocket,
    flow: u64,
    clock: &mut Clock,
    gauge: Option<&Gauge>,
) -> io::Result<Received> {
    let mut received = Received::default();
    let mut buffer = [0; 2048];
    let mut hello = interval(HELLO_EVERY);
    let mut end = pin!(turns.expect(message::END));
    let take = |datagram: &[u8], received: &mut Received, clock: &mut Clock| {
        let Some(head) = Head::parse(datagram).filter(|head| head.flow == flow && head.number != HELLO)
        else {
            return;
        };
        clock.begin();
        received.take(head, datagram.len(), clock.elapsed());
        clock.stop();
        gauge.inspect(|gauge| {
            gauge.set_bytes(received.bytes);
            gauge.set_losses(received.lost(), Duration::from_nanos(received.jitter));
        });
    };
    let all = loop {
        tokio::select! {
            end = &mut end => break message::parse_count(&end?).ok_or_else(nonsense)?,
            length = socket.recv(&mut buffer) => {
                // An error reports a datagram that this end sent.
                if let Ok(length) = length {
                    take(&buffer[..length], &mut received, clock);
                }
            }
            // The requesting end announces its address until the other end has found it.
            _ = hello.tick(), if gauge.is_some() && received.datagrams == 0 => {
                let _ = socket.try_send(&Head { flow, number: HELLO, sent: 0 }.emit());
            }
        }
    };
    let until = Instant::now() + STRAGGLERS;
    while received.datagrams < all {
        match timeout_at(until, socket.recv(&mut buffer)).await {
            Ok(Ok(length)) => take(&buffer[..length], &mut received, clock),
            Ok(Err(_)) => {}
            Err(_) => break,
        }
    }
    Ok(received)
}

/// Totals of the datagrams that have arrived.
#[derive(Debug, Default)]
struct Received {
    datagrams: u64,
    bytes: u64,
    out_of_order: u64,
    /// Number after the highest one that has arrived.
    next: u64,
    /// Smoothed jitter of the travel times, nanoseconds.
    jitter: u64,
    /// Transit time of the last datagram in nanoseconds, by two clocks with an unknown offset.
    transit: Option<i64>,
}

impl Received {
    /// Counts a datagram that arrived at this time.
    fn take(&mut self, head: Head, length: usize, now: Duration) {
        self.datagrams += 1;
        self.bytes += length as u64;
        if head.number < self.next {
            self.out_of_order += 1;
        }
        self.next = self.next.max(head.number.saturating_add(1));
        let transit = nanoseconds(now).wrapping_sub(head.sent).cast_signed();
        if let Some(last) = self.transit.replace(transit) {
            let difference = transit.wrapping_sub(last).unsigned_abs();
            // RFC 3550, section 6.4.1: J += (|D| - J) / 16.
            self.jitter = (self.jitter - self.jitter / 16).saturating_add(difference / 16);
        }
    }

    fn lost(&self) -> u64 {
        self.next.saturating_sub(self.datagrams)
    }

    /// Totals of the flow. The time between datagrams is added once for the last datagram, so that the rate is not
    /// overestimated.
    fn tally(&self, clock: &Clock, rate: u64) -> EndTotals {
        EndTotals {
            bytes: self.bytes,
            time: clock.time() + time_of(u64::from(LENGTH), rate),
            cpu: clock.cpu(),
            datagrams_received: self.datagrams,
            out_of_order: self.out_of_order,
            jitter: Duration::from_nanos(self.jitter),
            ..EndTotals::default()
        }
    }
}

/// The duration of a flow.
fn length(amount: Amount, rate: u64) -> Duration {
    match amount {
        Amount::Time(time) => time.min(LONGEST),
        Amount::Bytes(bytes) => time_of(bytes, rate),
    }
}

/// Time that this many bytes take at a rate.
fn time_of(bytes: u64, rate: u64) -> Duration {
    let nanoseconds = u128::from(bytes) * 8_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)).min(LONGEST)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn unheard() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no UDP datagram from the other end arrived")
}

/// Payload of a datagram, bytes. With IPv6 and UDP headers it fits into the path MTU of most paths.
pub(super) const LENGTH: u32 = 1400;
/// Interval of datagrams that announce the receiver's address.
const HELLO_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for an answer to a HELLO.
const HELLO_LIMIT: Duration = Duration::from_secs(10);
/// Time for which the receiver waits for datagrams that are still in transit after the end of the flow.
const STRAGGLERS: Duration = Duration::from_secs(1);
/// Longest measurement: a year.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);
/// Lateness at the end of a measurement from which on the sender drops its remaining datagrams.
const LATENESS: Duration = Duration::from_millis(250);
const RECEIVE_BUFFER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn take(received: &mut Received, number: u64, sent: u64, arrived: u64) {
        received.take(Head { flow: 0, number, sent }, 1400, Duration::from_nanos(arrived));
    }

    #[test]
    fn losses_and_late_datagrams_are_counted() {
        let mut received = Received::default();
        for number in [0, 1, 4, 3, 7] {
            take(&mut received, number, 0, 0);
        }
        assert_eq!((received.datagrams, received.lost(), received.out_of_order), (5, 3, 1));
        // A peer may send any numbers.
        take(&mut received, u64::MAX - 1, u64::MAX, 1);
        assert_eq!(received.lost(), u64::MAX - 6);
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut even = Received::default();
        (0..100).for_each(|n| take(&mut even, n, 1000 * n, 5_000_000 + 1000 * n));
        assert_eq!(even.jitter, 0, "a constant transit time, whatever the offset of the clocks");
        let mut uneven = Received::default();
        (0..2).for_each(|n| take(&mut uneven, n, 0, 1600 * n));
        assert_eq!(uneven.jitter, 100, "a sixteenth of the first difference");
        // The differences are 1600 ns for a long time.
        (2..1000).for_each(|n| take(&mut uneven, n, 0, 1600 * (n % 2)));
        assert!((1500..=1600).contains(&uneven.jitter), "{}", uneven.jitter);
    }

    #[test]
    fn times_do_not_overflow() {
        assert_eq!(time_of(125, 1000), Duration::from_secs(1));
        assert_eq!(time_of(u64::MAX, 1), LONGEST);
        assert_eq!(length(Amount::Time(Duration::MAX), 1), LONGEST);
    }
}
