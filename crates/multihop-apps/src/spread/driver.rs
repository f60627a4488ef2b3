//! Moves a node on: time, datagrams and files.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use multihop_core::Instant;
use multihop_net::PublicKey;
use multihop_spread::{Body, Config, Event, Header, Input, Node, Packet, TransferId};
use tokio::time::Instant as Clock;
use tokio::time::sleep;

use super::disk::{Disk, Job, Outcome};
use super::envelope::{Envelope, Refused};
use super::sockets::Sockets;
use super::worker::Worker;
use super::{Error, Member, Progress, Received, signed};

/// A node with its sockets and files.
pub(super) struct Driver {
    node: Node,
    envelope: Envelope,
    sockets: Sockets,
    worker: Worker,
    accepts: Box<dyn Fn(PublicKey) -> bool + Send>,
    begin: Clock,
    /// Headers whose signatures are valid, so that each is verified once.
    verified: Vec<Vec<u8>>,
}

/// Files that have arrived in a while, and whether all receivers have the file.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) received: Vec<Result<Received, String>>,
    pub(super) is_done: bool,
}

impl Driver {
    pub(super) fn new(
        member: &Member,
        config: Config,
        disk: Disk,
        accepts: Box<dyn Fn(PublicKey) -> bool + Send>,
    ) -> Result<Self, Error> {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(io::Error::from)?;
        Ok(Self {
            node: Node::new(config, u64::from_be_bytes(seed)),
            envelope: Envelope::new(&member.shared)?,
            sockets: Sockets::open(member.group, &member.interfaces)?,
            worker: Worker::new(disk),
            accepts,
            begin: Clock::now(),
            verified: Vec::new(),
        })
    }

    pub(super) fn offer(&mut self, header: Header, signature: [u8; 64], manifest: Vec<u8>) {
        let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let start = u64::try_from(start).unwrap_or(u64::MAX);
        self.node.offer(self.now(), header, signature, manifest, start);
    }

    /// Runs for this time, or until something has happened.
    pub(super) async fn run(&mut self, time: Duration) -> Result<News, Error> {
        let end = Clock::now() + time;
        let mut news = News::default();
        while Clock::now() < end && news.received.is_empty() && !news.is_done {
            for _ in 0..BATCH {
                let Some(datagram) = self.sockets.try_receive() else { break };
                self.receive(&datagram);
            }
            let now = self.now();
            self.node.handle_timeout(now);
            self.work(&mut news).await?;
            if self.node.wants_transmit(now) {
                if let Some(packet) = self.node.poll_transmit(now) {
                    let datagram = self.envelope.seal(&packet)?;
                    self.sockets.send(&datagram).await;
                }
                self.work(&mut news).await?;
                tokio::task::yield_now().await;
                continue;
            }
            let wait = self.node.poll_timeout(now).map_or(time, |at| at.saturating_since(now).into());
            let wait = wait.min(end.saturating_duration_since(Clock::now()));
            tokio::select! {
                datagram = self.sockets.receive() => {
                    let datagram = datagram.ok_or_else(|| io::Error::other("the sockets are closed"))?;
                    self.receive(&datagram);
                }
                outcome = self.worker.outcome() => self.handle(outcome?, &mut news),
                () = sleep(wait) => {}
            }
        }
        Ok(news)
    }

    /// Progress of the receivers of a transfer.
    pub(super) fn progress(&self, transfer: TransferId) -> Vec<Progress> {
        let of = self.node.header(transfer).map_or(0, Header::blocks);
        let receivers = self.node.receivers(transfer).map(|(_, receiver)| Progress {
            name: receiver.name.clone(),
            blocks: receiver.blocks.min(of),
            of,
            is_complete: receiver.blocks == of + 1,
            has_refused: receiver.has_refused(),
        });
        receivers.collect()
    }

    pub(super) fn refused(&self) -> Refused {
        self.envelope.refused()
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.begin.elapsed().into()
    }

    fn receive(&mut self, datagram: &[u8]) {
        let Some((from, packet)) = self.envelope.open(datagram) else { return };
        if self.is_authorized(&packet) {
            self.node.handle(self.now(), Input::Packet { from, packet });
        } else {
            self.envelope.refuse_offer();
        }
    }

    /// Whether a packet is no offer, or one with a valid signature of a sender that this host accepts.
    fn is_authorized(&mut self, packet: &Packet) -> bool {
        let Body::Offer(offer) = &packet.body else { return true };
        let Ok(header) = Header::parse(&offer.header) else { return false };
        // An offer of this node that comes back through a relay changes nothing.
        if self.node.rate(header.id()).is_some() || self.verified.contains(&offer.header) {
            return true;
        }
        let key = PublicKey::from_bytes(header.source);
        if !(self.accepts)(key) || !key.has_signed(&signed(&offer.header), &offer.signature) {
            return false;
        }
        if self.verified.len() >= MAX_VERIFIED {
            self.verified.remove(0);
        }
        self.verified.push(offer.header.clone());
        true
    }

    /// Hands the work on files that the node requests to the thread for it.
    async fn work(&mut self, news: &mut News) -> io::Result<()> {
        while let Some(outcome) = self.worker.try_outcome() {
            self.handle(outcome, news);
        }
        while let Some(event) = self.node.poll_output() {
            let manifest = match &event {
                Event::Progress(_) => continue,
                Event::Done(_) => {
                    news.is_done = true;
                    continue;
                }
                Event::Survey { transfer } | Event::Read { transfer, .. } => {
                    self.node.manifest(*transfer).to_vec()
                }
                _ => Vec::new(),
            };
            self.worker.submit(Job { event, manifest }).await?;
        }
        Ok(())
    }

    /// Handles the outcome of work on files.
    fn handle(&mut self, outcome: Outcome, news: &mut News) {
        let answer = match outcome {
            Outcome::Answer(answer) => answer,
            Outcome::Received(transfer, received) => {
                news.received.push(Ok(received));
                Input::Stored(transfer)
            }
            Outcome::Failed(transfer, error) => {
                news.received.push(Err(error.to_string()));
                Input::Refuse(transfer)
            }
        };
        self.node.handle(self.now(), answer);
    }
}

/// Datagrams that are handled before the next one is sent.
const BATCH: usize = 64;
/// Largest number of headers whose valid signature is remembered.
const MAX_VERIFIED: usize = 16;
