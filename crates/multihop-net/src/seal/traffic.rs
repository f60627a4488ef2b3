//! The keys of a connection that stands: a counter for each datagram, a new key now and then.
//!
//! Each direction has a chain of keys, of which each makes the next and cannot be made from it
//! (Noise, section 4.2, `REKEY`). A datagram says which key it used. The sender takes the next one only
//! after the peer has shown that it has this one, so that a receiver never has to look for a key.

use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use multihop_core::{Duration, Instant};
use zeroize::Zeroizing;

use super::message::{Data, data_header};
use super::window::Window;

/// One key of a chain.
#[derive(Clone)]
pub(crate) struct Key(Zeroizing<[u8; 32]>);

/// When a sender takes its next key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    /// After this many datagrams.
    pub(crate) datagrams: u64,
    /// After this time.
    pub(crate) age: Duration,
}

/// What leaves.
pub(crate) struct Sealer {
    key: Key,
    /// Number of the key in its chain.
    number: u64,
    /// The peer has shown that it has this key.
    is_seen: bool,
    since: Option<Instant>,
    /// The counter of the first datagram under this key.
    first: u64,
    /// The counter of the next datagram.
    counter: u64,
    rotation: Rotation,
}

/// What arrives.
pub(crate) struct Opener {
    key: Key,
    /// Number of the key in its chain.
    number: u64,
    /// The key before, for what is late, and until when.
    before: Option<(Key, Instant)>,
    window: Window,
}

/// Where a genuine datagram stands among all of its sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Freshness {
    /// None that was sent later has arrived.
    Newest,
    /// Later ones have.
    Late,
    /// It has arrived before.
    Again,
}

impl Key {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }

    /// `REKEY(k)`: the ciphertext of 32 zeros under the highest nonce, without its tag.
    fn next(&self) -> Self {
        let mut next = Zeroizing::new([0; 32]);
        self.cipher()
            .encrypt_in_place_detached(&nonce(u64::MAX), &[], &mut next[..])
            .expect("32 bytes are not too long");
        Self(next)
    }

    #[cfg(test)]
    pub(super) fn reveal(&self) -> [u8; 32] {
        *self.0
    }

    fn cipher(&self) -> ChaCha20Poly1305 {
        ChaCha20Poly1305::new((&*self.0).into())
    }
}

impl Rotation {
    /// About 1.5 GB, or two minutes.
    pub(crate) const DEFAULT: Self = Self { datagrams: 1 << 20, age: Duration::from_secs(120) };
}

impl Sealer {
    pub(crate) fn new(key: Key, rotation: Rotation) -> Self {
        Self { key, number: 0, is_seen: false, since: None, first: 0, counter: 0, rotation }
    }

    /// Appends the datagram around `segment` to `out`; `seen` is the number of the newest key that
    /// has arrived. `None` once counters have run out.
    pub(crate) fn seal(
        &mut self,
        now: Instant,
        receiver: u32,
        seen: u64,
        segment: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Option<()> {
        self.rotate(now);
        // The highest nonce makes keys.
        let counter = Some(self.counter).filter(|counter| *counter < u64::MAX)?;
        self.counter += 1;
        let header = data_header(low(self.number), low(seen), receiver, counter);
        out.extend_from_slice(&header);
        let start = out.len();
        segment(out);
        let cipher = self.key.cipher();
        let tag = cipher.encrypt_in_place_detached(&nonce(counter), &header, &mut out[start..]).ok()?;
        out.extend_from_slice(&tag);
        Some(())
    }

    /// The peer says which of our keys it has seen last.
    pub(crate) fn on_seen(&mut self, seen: u8) {
        self.is_seen |= seen == low(self.number);
    }

    fn rotate(&mut self, now: Instant) {
        let since = *self.since.get_or_insert(now);
        let is_worn =
            self.counter - self.first >= self.rotation.datagrams || now >= since + self.rotation.age;
        if is_worn && self.is_seen {
            self.key = self.key.next();
            self.number += 1;
            (self.is_seen, self.since, self.first) = (false, Some(now), self.counter);
        }
    }
}

impl Opener {
    pub(crate) fn new(key: Key) -> Self {
        Self { key, number: 0, before: None, window: Window::new() }
    }

    /// The number of the newest key that has arrived.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Appends the segment to `out`, if the datagram is from the peer. One that has arrived before is told
    /// from one that nobody has sent, and appends nothing.
    pub(crate) fn open(&mut self, now: Instant, data: &Data<'_>, out: &mut Vec<u8>) -> Option<Freshness> {
        self.forget_before(now);
        if self.window.is_too_old(data.counter) || data.counter == u64::MAX {
            return None;
        }
        let start = out.len();
        // Four bits say which key: this one, the next one, or the one before.
        match data.key {
            key if key == low(self.number) => decrypt(&self.key, data, out)?,
            key if key == low(self.number + 1) => {
                let next = self.key.next();
                decrypt(&next, data, out)?;
                let before = std::mem::replace(&mut self.key, next);
                self.before = Some((before, now + LATE));
                self.number += 1;
            }
            key if self.number > 0 && key == low(self.number - 1) => {
                decrypt(&self.before.as_ref()?.0, data, out)?;
            }
            _ => return None,
        }
        let freshness = match self.window.is_new(data.counter) {
            true if self.window.is_newest(data.counter) => Freshness::Newest,
            true => Freshness::Late,
            false => Freshness::Again,
        };
        if freshness == Freshness::Again {
            out.truncate(start);
        }
        self.window.mark(data.counter);
        Some(freshness)
    }

    /// What is late by now stays unread, and could not be read by a thief of keys either.
    pub(crate) fn forget_before(&mut self, now: Instant) {
        if self.before.as_ref().is_some_and(|(_, until)| now >= *until) {
            self.before = None;
        }
    }
}

fn decrypt(key: &Key, data: &Data<'_>, out: &mut Vec<u8>) -> Option<()> {
    let (text, tag) = data.sealed.split_at_checked(data.sealed.len().checked_sub(TAG)?)?;
    let start = out.len();
    out.extend_from_slice(text);
    let opened = key.cipher().decrypt_in_place_detached(
        &nonce(data.counter),
        data.header,
        &mut out[start..],
        Tag::from_slice(tag),
    );
    if opened.is_err() {
        out.truncate(start);
    }
    opened.ok()
}

/// As Noise has it for `ChaChaPoly`: 32 zero bits, then the counter, little-endian.
fn nonce(counter: u64) -> Nonce {
    let mut nonce = Nonce::default();
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}

/// What a datagram says of the number of a key.
fn low(number: u64) -> u8 {
    u8::try_from(number & 0xf).expect("four bits")
}

/// Bytes of a tag.
const TAG: usize = 16;
/// Bytes that sealing adds to a segment: header and tag.
pub(crate) const OVERHEAD: u16 = 16 + 16;
/// How long after a key the one before opens what is late.
const LATE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::Message;
    use super::Freshness::{Again, Late, Newest};
    use super::*;

    const ROTATION: Rotation = Rotation { datagrams: 4, age: Duration::from_secs(60) };

    /// Both ends of one connection.
    struct Ends {
        now: Instant,
        sealers: [Sealer; 2],
        openers: [Opener; 2],
    }

    impl Ends {
        fn new() -> Self {
            let (one, two) = (Key::new([1; 32]), Key::new([2; 32]));
            let sealers = [Sealer::new(one.clone(), ROTATION), Sealer::new(two.clone(), ROTATION)];
            Self { now: Instant::ZERO, sealers, openers: [Opener::new(two), Opener::new(one)] }
        }

        /// A datagram from one end.
        fn seal(&mut self, end: usize, text: &[u8]) -> Vec<u8> {
            let (mut out, seen) = (Vec::new(), self.openers[end].number());
            self.sealers[end].seal(self.now, 7, seen, |out| out.extend_from_slice(text), &mut out).unwrap();
            assert_eq!(out.len(), text.len() + usize::from(OVERHEAD));
            out
        }

        /// What the end that it is for makes of it.
        fn open(&mut self, end: usize, datagram: &[u8]) -> Option<(Vec<u8>, Freshness)> {
            let Some(Message::Data(data)) = Message::parse(datagram) else { return None };
            let mut out = Vec::new();
            let freshness = self.openers[end].open(self.now, &data, &mut out)?;
            self.sealers[end].on_seen(data.seen);
            Some((out, freshness))
        }

        fn exchange(&mut self) {
            for end in [0, 1] {
                let datagram = self.seal(end, b"text");
                assert_eq!(self.open(1 - end, &datagram), Some((b"text".to_vec(), Newest)));
            }
        }
    }

    #[test]
    fn a_datagram_opens_once() {
        let mut ends = Ends::new();
        let (one, two) = (ends.seal(0, b"one"), ends.seal(0, b""));
        assert_eq!(ends.open(1, &two), Some((vec![], Newest)));
        assert_eq!(ends.open(1, &two), Some((vec![], Again)));
        assert_eq!(ends.open(1, &one), Some((b"one".to_vec(), Late)));
        assert_eq!(ends.open(1, &one), Some((vec![], Again)));
        assert_eq!(ends.open(0, &one), None, "its own, sent back");
    }

    #[test]
    fn no_bit_can_be_changed() {
        let mut ends = Ends::new();
        let datagram = ends.seal(0, b"text");
        for bit in 0..datagram.len() * 8 {
            let mut other = datagram.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(ends.open(1, &other), None, "bit {bit}");
        }
        assert_eq!(ends.open(1, &datagram[..datagram.len() - 1]), None);
        assert!(ends.open(1, &datagram).is_some());
    }

    #[test]
    fn a_key_gives_way_by_count_once_the_peer_has_it() {
        let mut ends = Ends::new();
        for _ in 0..10 {
            ends.seal(0, b"unheard");
        }
        assert_eq!(ends.sealers[0].number, 0, "nobody has shown that it has this key");
        ends.exchange();
        ends.exchange();
        assert_eq!(ends.sealers[0].number, 1);
        (0..40).for_each(|_| ends.exchange());
        // One has sent 52 in all, 42 of them since it was first heard; the other 42.
        assert_eq!((ends.sealers[0].number, ends.sealers[1].number), (11, 10));
        assert_eq!((ends.openers[1].number, ends.openers[0].number), (11, 10));
    }

    #[test]
    fn a_key_gives_way_by_time() {
        let mut ends = Ends::new();
        ends.exchange();
        ends.now += Duration::from_secs(59);
        ends.exchange();
        assert_eq!(ends.sealers[0].number, 0);
        ends.now += Duration::from_secs(1);
        ends.exchange();
        assert_eq!((ends.sealers[0].number, ends.sealers[1].number), (1, 1));
    }

    #[test]
    fn what_is_late_opens_for_a_while() {
        let mut ends = Ends::new();
        ends.exchange();
        let late = [ends.seal(0, b"a"), ends.seal(0, b"b")];
        ends.now += Duration::from_secs(60);
        ends.exchange();
        assert_eq!(ends.openers[1].number, 1);
        ends.now += Duration::from_millis(9_999);
        assert_eq!(ends.open(1, &late[0]), Some((b"a".to_vec(), Late)));
        ends.now += Duration::from_millis(1);
        assert_eq!(ends.open(1, &late[1]), None);
        assert!(ends.openers[1].before.is_none(), "the old key is gone");
    }

    #[test]
    fn a_forged_datagram_does_not_turn_the_key() {
        let mut ends = Ends::new();
        ends.exchange();
        let mut forged = ends.seal(0, b"text");
        forged[1] = 0x10;
        assert_eq!(ends.open(1, &forged), None);
        assert_eq!(ends.openers[1].number, 0);
        ends.exchange();
    }

    #[test]
    fn keys_follow_noise() {
        // The second block of ChaCha20 (RFC 8439, section 2.3) under the highest nonce, reckoned apart.
        let next = Key::new([1; 32]).next();
        assert_eq!(next.0[..8], NEXT);
        assert_ne!(next.next().0[..8], NEXT);
    }

    proptest! {
        #[test]
        fn any_order_and_any_loss_and_every_datagram_at_most_once(
            steps in prop::collection::vec((0_usize..2, 0_u8..8, any::<prop::sample::Index>()), 1..200)
        ) {
            let mut ends = Ends::new();
            let mut under_way: [Vec<Vec<u8>>; 2] = [vec![], vec![]];
            let mut delivered = std::collections::BTreeSet::new();
            let mut n = 0_u32;
            for (end, action, which) in steps {
                match action {
                    0..4 => {
                        n += 1;
                        let datagram = ends.seal(end, &n.to_be_bytes());
                        under_way[1 - end].push(datagram);
                    }
                    4..7 if !under_way[end].is_empty() => {
                        let at = which.index(under_way[end].len());
                        let datagram = under_way[end][at].clone();
                        if let Some((text, Newest | Late)) = ends.open(end, &datagram) {
                            prop_assert!(delivered.insert(text), "twice");
                        }
                    }
                    _ => ends.now += Duration::from_secs(7),
                }
            }
            // Whatever was lost, the newest always gets through: neither end has lost the other's key.
            for _ in 0..3 {
                for end in [0, 1] {
                    let datagram = ends.seal(end, b"end");
                    prop_assert_eq!(ends.open(1 - end, &datagram), Some((b"end".to_vec(), Newest)));
                }
            }
        }
    }

    const NEXT: [u8; 8] = [0x6c, 0xfb, 0x2b, 0x96, 0x4e, 0xd4, 0x04, 0xce];
}
