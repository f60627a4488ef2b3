//! Which signed packets are new: index, counter and challenges, as in RFC 8967 (MAC Authentication for Babel).
//!
//! A host numbers its packets with a counter under a random index, which it draws at its start, so that it
//! needs no clock and no memory of an earlier start. A neighbour that has proved its index is heard if its
//! counter has grown. Any other neighbour gets a challenge: a nonce, which it must return in a packet with
//! its index.

use std::collections::BTreeMap;
use std::net::IpAddr;

use multihop_core::{Duration, Instant};
use multihop_wire::olsr::Packet;

use super::names::OfFamily;
use super::refusals::Reason;
use super::signature::{Key, MAX_NONCES, Nonce, Signature};

/// Signs the packets of this host, and tells new packets of neighbours from replays.
#[derive(Debug)]
pub(super) struct Signing {
    key: Key,
    /// Number that distinguishes the nonces of this instance from those of other instances with the same key.
    salt: u64,
    /// Number of nonces drawn so far.
    drawn: u64,
    index: u64,
    /// The counter of the last packet that was signed.
    counter: u64,
    /// Senders of packets with a valid tag, by the number of this host's interface and their address.
    senders: BTreeMap<(u32, IpAddr), Sender>,
    /// Answers to send: interface, neighbour, nonce. The oldest come first.
    answers: Vec<(u32, IpAddr, u64)>,
    /// Instants at which packets with challenges and answers alone leave, by the number of the interface.
    turns: BTreeMap<u32, Turn>,
}

#[derive(Clone, Copy, Debug)]
struct Sender {
    /// Index and counter of the last new packet; `None` if the sender has not answered a challenge.
    proved: Option<(u64, u64)>,
    /// Arrival of the last new packet, or of the first packet of a sender without a proof.
    heard: Instant,
    challenge: Option<Challenge>,
}

#[derive(Clone, Copy, Debug)]
struct Challenge {
    nonce: u64,
    made: Instant,
    /// Whether the next packet includes the challenge.
    is_due: bool,
}

/// Schedule of packets with challenges and answers alone over one interface.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    due: Option<Instant>,
    last: Option<Instant>,
}

impl Signing {
    /// Creates the signing state for a key. `salt` must differ from the salt of every earlier instance with
    /// this key.
    pub(super) fn new(key: Key, salt: u64) -> Self {
        let mut signing = Self {
            key,
            salt,
            drawn: 0,
            index: 0,
            counter: 0,
            senders: BTreeMap::new(),
            answers: Vec::new(),
            turns: BTreeMap::new(),
        };
        signing.index = signing.draw();
        signing
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.key.draw(self.salt, self.drawn)
    }

    /// Removes the signature from a packet that has arrived at an interface with this number and address. The error says why the
    /// packet is not used.
    pub(super) fn check<A: OfFamily>(
        &mut self,
        now: Instant,
        (interface, own): (u32, A),
        from: A,
        packet: &mut Packet<A>,
        bytes: &[u8],
    ) -> Result<(), Reason> {
        let signature = self.key.verify(packet, from, bytes)?;
        let place = (interface, from.into());
        let known = self.senders.get(&place).and_then(|sender| sender.proved);
        let is_same = known.is_some_and(|(index, _)| index == signature.index);
        if is_same && known.is_some_and(|(_, counter)| signature.counter <= counter) {
            return Err(Reason::Replayed);
        }
        let to_this = |nonces: &[Nonce<A>]| {
            nonces.iter().filter(|nonce| nonce.to == own).map(|nonce| nonce.value).collect::<Vec<_>>()
        };
        // A neighbour that does not know this host yet must be able to learn the index of this host.
        for nonce in to_this(&signature.challenges) {
            self.answer_later(now, place, nonce);
        }
        let has_answered = self.has_answered(now, place, &to_this(&signature.answers));
        if is_same || has_answered {
            let proved = Some((signature.index, signature.counter));
            let challenge =
                self.senders.get(&place).and_then(|sender| sender.challenge).filter(|_| !has_answered);
            self.senders.insert(place, Sender { proved, heard: now, challenge });
            return Ok(());
        }
        self.challenge_later(now, place);
        Err(Reason::Unproven)
    }

    /// Whether a packet has a signature with this key and is no known replay. The packet is not recorded
    /// before it is [checked](Self::check).
    pub(super) fn admits<A: OfFamily>(
        &self,
        interface: u32,
        from: A,
        packet: &mut Packet<A>,
        bytes: &[u8],
    ) -> Result<(), Reason> {
        let signature = self.key.verify(packet, from, bytes)?;
        let known = self.senders.get(&(interface, from.into())).and_then(|sender| sender.proved);
        let is_used = |(index, counter)| index == signature.index && signature.counter <= counter;
        if known.is_some_and(is_used) { Err(Reason::Replayed) } else { Ok(()) }
    }

    fn has_answered(&self, now: Instant, place: (u32, IpAddr), answers: &[u64]) -> bool {
        let challenge = self.senders.get(&place).and_then(|sender| sender.challenge);
        challenge.is_some_and(|challenge| challenge.is_valid(now) && answers.contains(&challenge.nonce))
    }

    fn answer_later(&mut self, now: Instant, (interface, to): (u32, IpAddr), nonce: u64) {
        let answer = (interface, to, nonce);
        if self.answers.len() < MAX_ANSWERS && !self.answers.contains(&answer) {
            self.answers.push(answer);
        }
        self.send_soon(now, interface);
    }

    /// A challenge that is not answered keeps its nonce for a while: replayed packets must not invalidate the genuine answer.
    fn challenge_later(&mut self, now: Instant, place: (u32, IpAddr)) {
        if !self.senders.contains_key(&place) && !self.make_room() {
            return;
        }
        let open = self.senders.get(&place).and_then(|sender| sender.challenge);
        let open = open.filter(|challenge| challenge.is_valid(now));
        let (nonce, made) = open.map_or_else(|| (self.draw(), now), |open| (open.nonce, open.made));
        let new = Sender { proved: None, heard: now, challenge: None };
        self.senders.entry(place).or_insert(new).challenge = Some(Challenge { nonce, made, is_due: true });
        self.send_soon(now, place.0);
    }

    /// Makes room for one more sender: forgets the oldest sender without a proof.
    fn make_room(&mut self) -> bool {
        if self.senders.len() < MAX_SENDERS {
            return true;
        }
        let unproved = self.senders.iter().filter(|(_, sender)| sender.proved.is_none());
        let oldest = unproved.min_by_key(|(_, sender)| sender.heard).map(|(place, _)| *place);
        oldest.is_some_and(|oldest| self.senders.remove(&oldest).is_some())
    }

    fn send_soon(&mut self, now: Instant, interface: u32) {
        if self.turns.get(&interface).is_some_and(|turn| turn.due.is_some()) {
            return;
        }
        // Neighbours that hear the same HELLO must not answer at the same instant.
        let soon = now + Duration::from_nanos(self.draw() % MAX_JITTER.as_nanos());
        let turn = self.turns.entry(interface).or_default();
        turn.due = Some(turn.last.map_or(soon, |last| soon.max(last + PACKET_INTERVAL)));
    }

    /// Deadline of the next packet with challenges and answers alone, on any interface.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.turns.values().filter_map(|turn| turn.due).min()
    }

    /// Whether a packet without other messages must leave over an interface now, because a challenge or an
    /// answer has waited too long for a packet of the protocol.
    pub(super) fn takes_turn(&mut self, now: Instant, interface: u32) -> bool {
        let Some(turn) = self.turns.get_mut(&interface) else { return false };
        let is_due = turn.due.is_some_and(|due| due <= now);
        if is_due {
            turn.last = Some(now);
        }
        is_due
    }

    /// Signs a packet that leaves over an interface with this number and address, with the challenges and answers that wait.
    pub(super) fn sign<A: OfFamily>(
        &mut self,
        now: Instant,
        (interface, own): (u32, A),
        originator: A,
        packet: &mut Packet<A>,
    ) -> Vec<u8> {
        self.counter += 1;
        let challenges = self.take_challenges(now, interface);
        let answers = self.take_answers(interface);
        let has_more =
            self.answers.iter().any(|(over, ..)| *over == interface) || challenges.len() == MAX_NONCES;
        if let Some(turn) = self.turns.get_mut(&interface) {
            turn.due = has_more.then_some(now + PACKET_INTERVAL);
        }
        let signature = Signature { index: self.index, counter: self.counter, challenges, answers };
        self.key.sign(packet, own, originator, &signature)
    }

    fn take_challenges<A: OfFamily>(&mut self, now: Instant, interface: u32) -> Vec<Nonce<A>> {
        let here = self.senders.iter_mut().filter(|((over, _), _)| *over == interface);
        let due = here.filter_map(|((_, to), sender)| {
            let challenge = sender.challenge.as_mut().filter(|one| one.is_due && one.is_valid(now))?;
            let to = A::of(*to)?;
            challenge.is_due = false;
            Some(Nonce { to, value: challenge.nonce })
        });
        due.take(MAX_NONCES).collect()
    }

    fn take_answers<A: OfFamily>(&mut self, interface: u32) -> Vec<Nonce<A>> {
        let taken = self.answers.extract_if(.., |(over, ..)| *over == interface).take(MAX_NONCES);
        taken.filter_map(|(_, to, value)| Some(Nonce { to: A::of(to)?, value })).collect()
    }

    /// Forgets silent senders, which must prove their index again.
    pub(super) fn expire(&mut self, now: Instant) {
        self.senders.retain(|_, sender| now < sender.heard + MEMORY);
    }

    /// Forgets the state of interfaces for which `counts` is false.
    pub(super) fn keep(&mut self, counts: impl Fn(u32) -> bool) {
        self.senders.retain(|(interface, _), _| counts(*interface));
        self.answers.retain(|(interface, ..)| counts(*interface));
        self.turns.retain(|interface, _| counts(*interface));
    }

    #[cfg(test)]
    pub(super) fn index(&self) -> u64 {
        self.index
    }

    /// Numbers of remembered senders and of waiting answers.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.senders.len(), self.answers.len())
    }
}

impl Challenge {
    fn is_valid(&self, now: Instant) -> bool {
        now < self.made + NONCE_LIFETIME
    }
}

/// Largest number of senders that are remembered on all interfaces: as many as neighbours.
pub(super) const MAX_SENDERS: usize = 256;
/// Largest number of waiting answers; further challenges are ignored until some have left.
pub(super) const MAX_ANSWERS: usize = 64;
/// Time for which counters of neighbours are remembered, equal to the time for which neighbours are
/// remembered.
const MEMORY: Duration = Duration::from_secs(60);
/// Time for which an answer to a challenge is accepted (RFC 8967 §4.3.1.1).
const NONCE_LIFETIME: Duration = Duration::from_secs(30);
/// Smallest interval between packets over one interface that contain challenges and answers only.
pub(super) const PACKET_INTERVAL: Duration = Duration::from_millis(500);
/// Longest random time for which challenges and answers wait for a packet with other messages.
const MAX_JITTER: Duration = Duration::from_millis(250);
