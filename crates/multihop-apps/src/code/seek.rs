//! Discovery of the sender of a code in the local network: the receiver broadcasts a question with the public word of
//! the code. An answer is only an address to try; the exchange of proofs shows whether the host at this address has
//! the code.
//!
//! # Bytes
//!
//! A number in parentheses is a length in bytes; numbers are big-endian.
//!
//! A caller without an address sends a question to the broadcast address of each IPv4 network, UDP port 7454, every
//! 0.5 s, up to 6 times. The end with the code answers to the source of the question.
//!
//! | message | bytes |
//! |---|---|
//! | question | `multihop seek`, version (1): 1, number of the first word (2), random number (8), zeros (8) |
//! | answer | `multihop here`, version (1): 1, port to connect to (2), the random number (8), random number of the offer (8) |
//!
//! The caller connects to the source of an answer, and tries at most three places. After a refusal the caller tries
//! no other address of the same offer. An answer proves nothing.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use super::words::{Code, Label};
use crate::interfaces;

/// Question of a receiver that searches the local network for a sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Question {
    label: Label,
    number: Number,
}

/// Answer of a sender to a search: the address at which it listens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Answer {
    port: u16,
    /// Number of the question that is answered.
    number: Number,
    offer: OfferId,
}

/// Random identifier of one offer, which shows that several addresses belong to one sender.
pub(super) type OfferId = [u8; 8];

/// Address at which a sender may listen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) addr: SocketAddr,
    /// Offer that was found; `None` if the user gave the address.
    pub(super) offer: Option<OfferId>,
}

/// Random number of a question. An answer repeats it, which proves that its sender received the question.
type Number = [u8; 8];

impl Question {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (label, number, padding) = parse(QUESTION, bytes)?;
        (padding == PADDING).then_some(Self { label: Label(label), number })
    }

    fn emit(&self) -> Vec<u8> {
        emit(QUESTION, self.label.0, self.number, PADDING)
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (port, number, offer) = parse(ANSWER, bytes)?;
        Some(Self { port, number, offer })
    }

    fn emit(&self) -> Vec<u8> {
        emit(ANSWER, self.port, self.number, self.offer)
    }
}

fn parse(magic: &[u8], bytes: &[u8]) -> Option<(u16, Number, OfferId)> {
    let (value, rest) = bytes.strip_prefix(magic)?.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    Some((u16::from_be_bytes(*value), *number, rest.try_into().ok()?))
}

fn emit(magic: &[u8], value: u16, number: Number, offer: OfferId) -> Vec<u8> {
    [magic, &value.to_be_bytes(), &number, &offer].concat()
}

/// Task that answers broadcast searches for the sender of one code. Dropping it ends the task.
#[derive(Debug)]
pub(super) struct Beacon(JoinHandle<()>);

impl Beacon {
    /// Starts to answer questions for the code of `label`, with this port and the addresses of this host.
    pub(super) fn start(label: Label, port: u16) -> io::Result<Self> {
        let socket = shared_socket()?;
        let mut offer = OfferId::default();
        getrandom::fill(&mut offer)?;
        Ok(Self(tokio::spawn(answer(socket, label, port, offer))))
    }
}

impl Drop for Beacon {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Answers questions for the code. An answer is never longer than its question, to prevent amplification.
async fn answer(socket: UdpSocket, label: Label, port: u16, offer: OfferId) {
    let mut buffer = [0; 64];
    loop {
        let (length, from) = match socket.recv_from(&mut buffer).await {
            Ok(received) => received,
            Err(error) => {
                tracing::debug!("cannot receive searches for a code: {error}");
                sleep(PAUSE).await;
                continue;
            }
        };
        if let Some(question) = Question::parse(&buffer[..length]).filter(|question| question.label == label)
        {
            // A lost answer is no problem, because the question is repeated.
            let _ = socket.try_send_to(&Answer { port, number: question.number, offer }.emit(), from);
        }
    }
}

/// Opens the port of questions, which all senders on this host share.
fn shared_socket() -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
    UdpSocket::from_std(socket.into())
}

/// The broadcast addresses of all networks of this host, the loopback included.
pub(super) fn local_networks() -> Vec<Ipv4Addr> {
    interfaces::broadcast_addresses()
}

/// Asks in these networks for the sender of a code; returns the first few addresses that answer.
pub(super) async fn seek(code: &Code, networks: &[Ipv4Addr]) -> io::Result<Vec<Place>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
    socket.set_broadcast(true)?;
    let mut number = Number::default();
    getrandom::fill(&mut number)?;
    let question = Question { label: code.label(), number }.emit();
    let mut found = Vec::new();
    for _ in 0..QUESTIONS {
        for network in networks {
            // One network may be down while another one contains the sender.
            if let Err(error) = socket.send_to(&question, (*network, PORT)).await {
                tracing::debug!("cannot search the network {network} for a code: {error}");
            }
        }
        hear(&socket, number, &mut found, Instant::now() + WAIT).await;
        if !found.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Collects answers to a question until its time is over.
async fn hear(socket: &UdpSocket, number: Number, found: &mut Vec<Place>, until: Instant) {
    let mut buffer = [0; 64];
    while let Ok(received) = timeout_at(until, socket.recv_from(&mut buffer)).await {
        let Ok((length, from)) = received else { continue };
        let Some(answer) = Answer::parse(&buffer[..length]).filter(|answer| answer.number == number) else {
            continue;
        };
        let place = Place { addr: SocketAddr::new(from.ip(), answer.port), offer: Some(answer.offer) };
        if found.len() < PLACES && !found.contains(&place) {
            found.push(place);
        }
    }
}

/// Checks that a parsed message emits the same bytes.
#[cfg(fuzzing)]
pub(super) fn check(bytes: &[u8]) {
    let question = Question::parse(bytes).map(|question| question.emit());
    let answer = Answer::parse(bytes).map(|answer| answer.emit());
    assert!(question.or(answer).is_none_or(|emitted| emitted == bytes));
}

/// UDP port to which questions are sent.
const PORT: u16 = 7454;
/// First bytes of a question. Questions and answers end with the version and have equal lengths.
const QUESTION: &[u8; 14] = b"multihop seek\x01";
const ANSWER: &[u8; 14] = b"multihop here\x01";
/// Zeros that make a question as long as its answer.
const PADDING: OfferId = [0; 8];
/// Number of times that a question is sent.
const QUESTIONS: usize = 6;
/// Time for which answers to one question are awaited.
const WAIT: Duration = Duration::from_millis(500);
/// Largest number of addresses that are tried: each of them can test one guess.
const PLACES: usize = 3;
/// Pause after an error of the socket.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_survive_a_round_trip_and_are_equally_long() {
        let question = Question { label: Label(2047), number: [7; 8] };
        let answer = Answer { port: 7453, number: [9; 8], offer: [8; 8] };
        assert_eq!(Question::parse(&question.emit()), Some(question));
        assert_eq!(Answer::parse(&answer.emit()), Some(answer));
        assert_eq!(question.emit().len(), answer.emit().len());
        assert_eq!(Answer::parse(&question.emit()), None);
        assert_eq!(Question::parse(&[question.emit(), vec![0]].concat()), None);
    }

    #[test]
    fn only_the_sender_with_the_public_word_answers() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let [wanted, other] = ["kitten-river-amazing-zoo", "zebra-river-amazing-zoo"]
                .map(|text| text.parse::<Code>().unwrap());
            let _beacons = [(&wanted, 1001), (&other, 1002)]
                .map(|(code, port)| Beacon::start(code.label(), port).unwrap());
            let found = seek(&wanted, &[LOOPBACK]).await.unwrap();
            let found: Vec<_> = found.iter().map(|place| place.addr).collect();
            assert_eq!(found, [SocketAddr::from(([127, 0, 0, 1], 1001))]);
            let absent = "zone-river-amazing-zoo".parse().unwrap();
            assert_eq!(seek(&absent, &[LOOPBACK]).await.unwrap(), []);
        });
    }

    /// The broadcast address of the loopback network.
    const LOOPBACK: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 255);

    proptest! {
        #[test]
        fn noise_is_refused_or_understood(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = (Question::parse(&bytes), Answer::parse(&bytes));
        }
    }
}
