//! Datagrams of a group: sealed packets, and which of them are new.
//!
//! # Bytes
//!
//! | bytes of a datagram | field | meaning |
//! |---|---|---|
//! | 1 | version | 1; additional data of the encryption |
//! | 8 | index | random number that a node draws at its start |
//! | 4 | counter | counts the datagrams of the index, from 1 |
//! | the rest | packet | encrypted by ChaCha20-Poly1305; the tag (16) follows |
//!
//! The nonce is index and counter. The key is BLAKE2s-256 of `multihop group 1` and the shared key.

use std::collections::BTreeMap;
use std::io;

use multihop_net::{GroupKey, SharedKey};
use multihop_spread::Packet;

/// Seals packets of this node and opens those of other members.
pub(super) struct Envelope {
    key: GroupKey,
    /// Random number that this node draws at its start.
    index: u64,
    /// Counts the datagrams of this node.
    counter: u32,
    /// Counters that have arrived, by the index of the sender.
    windows: BTreeMap<u64, Window>,
    /// Datagrams so far, for the order of windows.
    opened: u64,
    refused: Refused,
}

/// Counts of datagrams that were dropped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Refused {
    /// Datagrams that no member of the group has sealed.
    pub forged: u64,
    /// Datagrams that have arrived before, or are too old to decide.
    pub replayed: u64,
    /// Sealed datagrams that are no packets.
    pub invalid: u64,
    /// Offers without a valid signature of an authorised sender.
    pub unauthorized: u64,
}

/// The counters that have arrived: the greatest, and which of the 1024 up to it.
struct Window {
    greatest: u32,
    arrived: [u64; WORDS],
    /// When the last datagram arrived, in opened datagrams.
    used: u64,
}

impl Envelope {
    /// An envelope with a new index.
    pub(super) fn new(shared: &SharedKey) -> io::Result<Self> {
        let mut index = [0; 8];
        getrandom::fill(&mut index)?;
        Ok(Self {
            key: GroupKey::new(shared),
            index: u64::from_be_bytes(index),
            counter: 0,
            windows: BTreeMap::new(),
            opened: 0,
            refused: Refused::default(),
        })
    }

    /// Encrypts a packet into a datagram. When the counter of the sender's index has reached its largest value, a new random index
    /// replaces the index.
    pub(super) fn seal(&mut self, packet: &Packet) -> io::Result<Vec<u8>> {
        if self.counter == u32::MAX {
            let mut index = [0; 8];
            getrandom::fill(&mut index)?;
            (self.index, self.counter) = (u64::from_be_bytes(index), 0);
        }
        self.counter += 1;
        let nonce = nonce(self.index, self.counter);
        let mut text = packet.emit();
        self.key.seal(nonce, &[VERSION], &mut text);
        let mut datagram = vec![VERSION];
        datagram.extend(nonce);
        datagram.extend(text);
        Ok(datagram)
    }

    /// Decrypts a datagram into its packet and the index of its sender. Returns `None` for a datagram that is forged, replayed
    /// or malformed, and counts it; also for this node's own datagrams, which multicast returns, without counting them.
    pub(super) fn open(&mut self, datagram: &[u8]) -> Option<(u64, Packet)> {
        let Some((header, sealed)) =
            datagram.split_first_chunk::<13>().filter(|(header, _)| header[0] == VERSION)
        else {
            self.refused.forged += 1;
            return None;
        };
        let index = u64::from_be_bytes(*header[1..].first_chunk().expect("8 bytes"));
        let counter = u32::from_be_bytes(*header[9..].first_chunk().expect("4 bytes"));
        if index == self.index {
            return None;
        }
        let Some(text) = self.key.open(nonce(index, counter), &[VERSION], sealed) else {
            self.refused.forged += 1;
            return None;
        };
        if !self.is_new(index, counter) {
            self.refused.replayed += 1;
            return None;
        }
        let packet = Packet::parse(&text);
        self.refused.invalid += u64::from(packet.is_err());
        packet.ok().map(|packet| (index, packet))
    }

    pub(super) fn refused(&self) -> Refused {
        self.refused
    }

    /// Counts an offer that is not from an authorised sender.
    pub(super) fn refuse_offer(&mut self) {
        self.refused.unauthorized += 1;
    }

    fn is_new(&mut self, index: u64, counter: u32) -> bool {
        self.opened += 1;
        if self.windows.len() >= MAX_WINDOWS && !self.windows.contains_key(&index) {
            let oldest = self.windows.iter().min_by_key(|(_, window)| window.used).map(|(index, _)| *index);
            oldest.map(|oldest| self.windows.remove(&oldest));
        }
        let window = self.windows.entry(index);
        let window = window.or_insert(Window { greatest: counter, arrived: [0; WORDS], used: 0 });
        window.used = self.opened;
        window.is_new(counter)
    }
}

impl Window {
    fn is_new(&mut self, counter: u32) -> bool {
        if counter > self.greatest {
            let passed = (u64::from(self.greatest) + 1..=u64::from(counter)).take(WORDS * 64);
            // All places from the greatest counter to this one begin anew.
            passed.for_each(|passed| {
                let (word, bit) = place(u32::try_from(passed).unwrap_or(u32::MAX));
                self.arrived[word] &= !bit;
            });
            self.greatest = counter;
        } else if u64::from(self.greatest - counter) >= WORDS as u64 * 64 {
            return false;
        }
        let (word, bit) = place(counter);
        let is_new = self.arrived[word] & bit == 0;
        self.arrived[word] |= bit;
        is_new
    }
}

fn place(counter: u32) -> (usize, u64) {
    let at = counter as usize % (WORDS * 64);
    (at / 64, 1 << (at % 64))
}

fn nonce(index: u64, counter: u32) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&index.to_be_bytes());
    nonce[8..].copy_from_slice(&counter.to_be_bytes());
    nonce
}

const VERSION: u8 = 1;
/// Words of a window: 1024 counters.
const WORDS: usize = 16;
/// Largest number of indices that a node remembers: 40 kB.
const MAX_WINDOWS: usize = 256;

/// Fuzzes a member of a group with datagrams of other members, of which some are modified, cut or repeated. A simple
/// list of the counters that have arrived decides which datagrams the member must accept.
#[cfg(fuzzing)]
pub(crate) fn check(bytes: &[u8]) {
    let mut member = Envelope::new(&SharedKey::from_bytes([1; 32])).expect("a random number");
    // Too far from the indices of other members for a single modified byte.
    member.index = u64::MAX;
    let mut expected = Refused::default();
    let mut arrived = Arrived::default();
    let (mut counter, mut rest) = (1_u32, bytes);
    while let Some((&[operation, sender, high, low, length], after)) = rest.split_first_chunk() {
        let (chunk, after) = after.split_at(after.len().min(length.into()));
        rest = after;
        let step = i32::from(i16::from_be_bytes([high, low]));
        // With the greatest steps, a few datagrams pass all counters of an index.
        let step = if operation & 8 == 0 { step } else { step.saturating_mul(65_536) };
        counter = counter.saturating_add_signed(step).max(1);
        let index = u64::from(operation >> 4) * 256 + u64::from(sender);
        let mut text = chunk.to_vec();
        member.key.seal(nonce(index, counter), &[VERSION], &mut text);
        let mut datagram = [&[VERSION][..], &nonce(index, counter), &text].concat();
        let packet = Packet::parse(chunk);
        let is_sealed = match operation % 8 {
            0..=3 => true,
            4 => {
                let at = usize::from(high) % datagram.len();
                datagram[at] ^= low;
                low == 0
            }
            5 => {
                datagram.truncate(usize::from(low));
                usize::from(low) >= 13 + chunk.len() + 16
            }
            6 => {
                datagram = chunk.to_vec();
                false
            }
            _ => {
                if let Ok(packet) = &packet {
                    let own = member.seal(packet).expect("a random number");
                    assert_eq!(own.len(), datagram.len());
                    assert_eq!(member.open(&own), None, "an own datagram that multicast returns");
                }
                continue;
            }
        };
        let opened = member.open(&datagram);
        let is_new = is_sealed && arrived.is_new(index, counter);
        let is_own =
            datagram.len() >= 13 && datagram.starts_with(&[VERSION, 255, 255, 255, 255, 255, 255, 255, 255]);
        expected.forged += u64::from(!is_sealed && !is_own);
        expected.replayed += u64::from(is_sealed && !is_new);
        expected.invalid += u64::from(is_new && packet.is_err());
        assert_eq!(opened, packet.ok().filter(|_| is_new).map(|packet| (index, packet)));
        assert_eq!(member.refused(), expected);
    }
}

/// All counters that have arrived from each index, the index of the latest datagram last.
#[cfg(fuzzing)]
#[derive(Default)]
struct Arrived(Vec<(u64, std::collections::BTreeSet<u32>)>);

#[cfg(fuzzing)]
impl Arrived {
    /// Whether a member must accept the counter of an index, which arrives now.
    fn is_new(&mut self, index: u64, counter: u32) -> bool {
        let known = self.0.iter().position(|(one, _)| *one == index).map(|at| self.0.remove(at).1);
        if known.is_none() && self.0.len() == MAX_WINDOWS {
            self.0.remove(0);
        }
        let mut counters = known.unwrap_or_default();
        let is_recent = counters.last().is_none_or(|greatest| greatest.saturating_sub(counter) < 1024);
        let is_new = is_recent && counters.insert(counter);
        self.0.push((index, counters));
        is_new
    }
}

#[cfg(test)]
mod tests {
    use multihop_spread::{Body, UNKNOWN};

    use super::*;

    fn envelope(key: u8) -> Envelope {
        Envelope::new(&SharedKey::from_bytes([key; 32])).unwrap()
    }

    #[test]
    fn a_datagram_counts_once_and_only_from_members() {
        let [mut one, mut other, mut stranger] = [1, 1, 2].map(envelope);
        let packet = Packet { distance: UNKNOWN, backlog: 0, body: Body::Seek };
        let sealed: Vec<_> = (0..3000).map(|_| one.seal(&packet).unwrap()).collect();
        assert_eq!(other.open(&sealed[5]), Some((one.index, packet.clone())));
        assert_eq!(other.open(&sealed[5]), None);
        assert!(other.open(&sealed[3]).is_some(), "late, and new");
        assert_eq!(other.refused(), Refused { replayed: 1, ..Refused::default() });
        for datagram in &sealed[6..] {
            assert!(other.open(datagram).is_some());
        }
        assert!(sealed.iter().all(|datagram| other.open(datagram).is_none()));
        assert_eq!(other.refused().replayed, 3001);
        let mut forged = sealed[0].clone();
        forged[20] ^= 1;
        for datagram in [&forged[..], &[], &[1; 13], &stranger.seal(&packet).unwrap()] {
            assert_eq!(other.open(datagram), None);
        }
        assert_eq!(other.refused().forged, 4);
        assert_eq!(one.open(&sealed[0]), None, "an own datagram that multicast brings back");
        assert_eq!(one.refused(), Refused::default());
    }
}
