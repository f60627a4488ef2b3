//! The keys of an established connection: a counter for each datagram, and a new key from time to time.
//!
//! Each direction has a chain of keys. Each key is derived from the one before, and does not reveal it
//! (Noise, section 4.2, `REKEY`). A datagram names its key. The sender takes the next key only after the
//! peer has shown that it has the current one, so a receiver never has to search for a key.

use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use multihop_core::{Duration, Instant};
use zeroize::Zeroizing;

use super::message::{Content, EncryptedSegment, data_header};
use super::window::ReplayWindow;

/// One key of a chain.
#[derive(Clone)]
pub(crate) struct TrafficKey(Zeroizing<[u8; 32]>);

/// When a sender changes to its next key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    /// After this many datagrams.
    pub(crate) datagrams: u64,
    /// After this time.
    pub(crate) age: Duration,
}

/// Encrypts what this end sends.
pub(crate) struct Encryptor {
    key: TrafficKey,
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

/// Decrypts what the peer sends.
pub(crate) struct Decryptor {
    key: TrafficKey,
    /// Number of the key in its chain.
    number: u64,
    /// The key before, for datagrams that are late, and when it is deleted.
    previous: Option<(TrafficKey, Instant)>,
    window: ReplayWindow,
}

/// The order of an authentic datagram among those of its sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Freshness {
    /// No later one has arrived.
    Newest,
    /// A later one has arrived.
    Late,
    /// It has arrived before.
    Duplicate,
}

impl TrafficKey {
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

impl Encryptor {
    pub(crate) fn new(key: TrafficKey, rotation: Rotation) -> Self {
        Self { key, number: 0, is_seen: false, since: None, first: 0, counter: 0, rotation }
    }

    /// Appends the datagram around `content` to `out`, which `emit` writes; `seen` is the number of the newest key that
    /// has arrived. `None` once the counters are used up.
    pub(crate) fn encrypt(
        &mut self,
        now: Instant,
        content: Content,
        receiver: u32,
        seen: u64,
        emit: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Option<()> {
        self.rotate(now);
        // The highest nonce is reserved for REKEY.
        let counter = Some(self.counter).filter(|counter| *counter < u64::MAX)?;
        self.counter += 1;
        let header = data_header(content, low(self.number), low(seen), receiver, counter);
        out.extend_from_slice(&header);
        let start = out.len();
        emit(out);
        let cipher = self.key.cipher();
        let tag = cipher.encrypt_in_place_detached(&nonce(counter), &header, &mut out[start..]).ok()?;
        out.extend_from_slice(&tag);
        Some(())
    }

    /// The peer reports the newest of our keys that it has seen.
    pub(crate) fn on_key_seen(&mut self, seen: u8) {
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

impl Decryptor {
    pub(crate) fn new(key: TrafficKey) -> Self {
        Self { key, number: 0, previous: None, window: ReplayWindow::new() }
    }

    /// The number of the newest key that has arrived.
    pub(crate) fn key_number(&self) -> u64 {
        self.number
    }

    /// Appends the segment to `out` if the datagram is authentic and new. An authentic duplicate appends
    /// nothing.
    pub(crate) fn decrypt(
        &mut self,
        now: Instant,
        data: &EncryptedSegment<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Freshness> {
        self.forget_previous_key(now);
        if self.window.is_too_old(data.counter) || data.counter == u64::MAX {
            return None;
        }
        let start = out.len();
        // Four bits name the key: the current, the next or the previous one.
        match data.key {
            key if key == low(self.number) => open_with(&self.key, data, out)?,
            key if key == low(self.number + 1) => {
                let next = self.key.next();
                open_with(&next, data, out)?;
                let previous = std::mem::replace(&mut self.key, next);
                self.previous = Some((previous, now + LATE));
                self.number += 1;
            }
            key if self.number > 0 && key == low(self.number - 1) => {
                open_with(&self.previous.as_ref()?.0, data, out)?;
            }
            _ => return None,
        }
        let freshness = match self.window.is_new(data.counter) {
            true if self.window.is_newest(data.counter) => Freshness::Newest,
            true => Freshness::Late,
            false => Freshness::Duplicate,
        };
        if freshness == Freshness::Duplicate {
            out.truncate(start);
        }
        self.window.mark(data.counter);
        Some(freshness)
    }

    /// Deletes the previous key in time: later datagrams under it cannot be decrypted, not even with stolen keys.
    pub(crate) fn forget_previous_key(&mut self, now: Instant) {
        if self.previous.as_ref().is_some_and(|(_, until)| now >= *until) {
            self.previous = None;
        }
    }
}

fn open_with(key: &TrafficKey, data: &EncryptedSegment<'_>, out: &mut Vec<u8>) -> Option<()> {
    let (text, tag) = data.ciphertext.split_at_checked(data.ciphertext.len().checked_sub(TAG)?)?;
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

/// The nonce of `ChaChaPoly` in Noise: 32 zero bits, then the counter, little-endian.
fn nonce(counter: u64) -> Nonce {
    let mut nonce = Nonce::default();
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}

/// The part of a key's number that datagrams carry.
fn low(number: u64) -> u8 {
    u8::try_from(number & 0xf).expect("four bits")
}

/// Bytes of a tag.
const TAG: usize = 16;
/// Bytes that encryption adds to a segment: header and tag.
pub(crate) const OVERHEAD: u16 = 16 + 16;
/// How long the previous key remains valid for datagrams that are late.
const LATE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::SecureDatagram;
    use super::Freshness::{Duplicate, Late, Newest};
    use super::*;

    const ROTATION: Rotation = Rotation { datagrams: 4, age: Duration::from_secs(60) };

    /// Both ends of one connection.
    struct BothEnds {
        now: Instant,
        encryptors: [Encryptor; 2],
        decryptors: [Decryptor; 2],
    }

    impl BothEnds {
        fn new() -> Self {
            let (one, two) = (TrafficKey::new([1; 32]), TrafficKey::new([2; 32]));
            let encryptors = [Encryptor::new(one.clone(), ROTATION), Encryptor::new(two.clone(), ROTATION)];
            Self { now: Instant::ZERO, encryptors, decryptors: [Decryptor::new(two), Decryptor::new(one)] }
        }

        /// A datagram from one end.
        fn encrypt(&mut self, end: usize, text: &[u8]) -> Vec<u8> {
            let (mut out, seen) = (Vec::new(), self.decryptors[end].key_number());
            self.encryptors[end]
                .encrypt(self.now, Content::Segment, 7, seen, |out| out.extend_from_slice(text), &mut out)
                .unwrap();
            assert_eq!(out.len(), text.len() + usize::from(OVERHEAD));
            out
        }

        /// What this end, the receiver, decrypts.
        fn decrypt(&mut self, end: usize, datagram: &[u8]) -> Option<(Vec<u8>, Freshness)> {
            let Some(SecureDatagram::Data(data)) = SecureDatagram::parse(datagram) else { return None };
            let mut out = Vec::new();
            let freshness = self.decryptors[end].decrypt(self.now, &data, &mut out)?;
            self.encryptors[end].on_key_seen(data.seen);
            Some((out, freshness))
        }

        fn exchange(&mut self) {
            for end in [0, 1] {
                let datagram = self.encrypt(end, b"text");
                assert_eq!(self.decrypt(1 - end, &datagram), Some((b"text".to_vec(), Newest)));
            }
        }
    }

    #[test]
    fn a_datagram_decrypts_once() {
        let mut ends = BothEnds::new();
        let (one, two) = (ends.encrypt(0, b"one"), ends.encrypt(0, b""));
        assert_eq!(ends.decrypt(1, &two), Some((vec![], Newest)));
        assert_eq!(ends.decrypt(1, &two), Some((vec![], Duplicate)));
        assert_eq!(ends.decrypt(1, &one), Some((b"one".to_vec(), Late)));
        assert_eq!(ends.decrypt(1, &one), Some((vec![], Duplicate)));
        assert_eq!(ends.decrypt(0, &one), None, "its own datagram, reflected");
    }

    #[test]
    fn a_datagram_with_any_bit_changed_is_rejected() {
        let mut ends = BothEnds::new();
        let datagram = ends.encrypt(0, b"text");
        for bit in 0..datagram.len() * 8 {
            let mut other = datagram.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(ends.decrypt(1, &other), None, "bit {bit}");
        }
        assert_eq!(ends.decrypt(1, &datagram[..datagram.len() - 1]), None);
        assert!(ends.decrypt(1, &datagram).is_some());
    }

    #[test]
    fn a_key_is_replaced_by_count_once_the_peer_has_it() {
        let mut ends = BothEnds::new();
        for _ in 0..10 {
            ends.encrypt(0, b"lost");
        }
        assert_eq!(ends.encryptors[0].number, 0, "the peer has not shown that it has this key");
        ends.exchange();
        ends.exchange();
        assert_eq!(ends.encryptors[0].number, 1);
        (0..40).for_each(|_| ends.exchange());
        // One end has sent 52 in all, 42 of them after the first that arrived; the other 42.
        assert_eq!((ends.encryptors[0].number, ends.encryptors[1].number), (11, 10));
        assert_eq!((ends.decryptors[1].number, ends.decryptors[0].number), (11, 10));
    }

    #[test]
    fn a_key_is_replaced_by_age() {
        let mut ends = BothEnds::new();
        ends.exchange();
        ends.now += Duration::from_secs(59);
        ends.exchange();
        assert_eq!(ends.encryptors[0].number, 0);
        ends.now += Duration::from_secs(1);
        ends.exchange();
        assert_eq!((ends.encryptors[0].number, ends.encryptors[1].number), (1, 1));
    }

    #[test]
    fn a_late_datagram_decrypts_for_ten_seconds_after_a_new_key() {
        let mut ends = BothEnds::new();
        ends.exchange();
        let late = [ends.encrypt(0, b"a"), ends.encrypt(0, b"b")];
        ends.now += Duration::from_secs(60);
        ends.exchange();
        assert_eq!(ends.decryptors[1].number, 1);
        ends.now += Duration::from_millis(9_999);
        assert_eq!(ends.decrypt(1, &late[0]), Some((b"a".to_vec(), Late)));
        ends.now += Duration::from_millis(1);
        assert_eq!(ends.decrypt(1, &late[1]), None);
        assert!(ends.decryptors[1].previous.is_none(), "the old key is gone");
    }

    #[test]
    fn a_forged_datagram_does_not_advance_the_key() {
        let mut ends = BothEnds::new();
        ends.exchange();
        let mut forged = ends.encrypt(0, b"text");
        forged[1] = 0x10;
        assert_eq!(ends.decrypt(1, &forged), None);
        assert_eq!(ends.decryptors[1].number, 0);
        ends.exchange();
    }

    #[test]
    fn the_next_key_is_that_of_noise_rekey() {
        // The second block of ChaCha20 (RFC 8439, section 2.3) under the highest nonce, computed separately.
        let next = TrafficKey::new([1; 32]).next();
        assert_eq!(next.0[..8], NEXT);
        assert_ne!(next.next().0[..8], NEXT);
    }

    proptest! {
        #[test]
        fn any_order_and_any_loss_deliver_each_datagram_at_most_once(
            steps in prop::collection::vec((0_usize..2, 0_u8..8, any::<prop::sample::Index>()), 1..200)
        ) {
            let mut ends = BothEnds::new();
            let mut in_flight: [Vec<Vec<u8>>; 2] = [vec![], vec![]];
            let mut delivered = std::collections::BTreeSet::new();
            let mut n = 0_u32;
            for (end, action, which) in steps {
                match action {
                    0..4 => {
                        n += 1;
                        let datagram = ends.encrypt(end, &n.to_be_bytes());
                        in_flight[1 - end].push(datagram);
                    }
                    4..7 if !in_flight[end].is_empty() => {
                        let at = which.index(in_flight[end].len());
                        let datagram = in_flight[end][at].clone();
                        if let Some((text, Newest | Late)) = ends.decrypt(end, &datagram) {
                            prop_assert!(delivered.insert(text), "twice");
                        }
                    }
                    _ => ends.now += Duration::from_secs(7),
                }
            }
            // Regardless of losses, the newest datagram is decrypted: neither end has lost the other's key.
            for _ in 0..3 {
                for end in [0, 1] {
                    let datagram = ends.encrypt(end, b"end");
                    prop_assert_eq!(ends.decrypt(1 - end, &datagram), Some((b"end".to_vec(), Newest)));
                }
            }
        }
    }

    const NEXT: [u8; 8] = [0x6c, 0xfb, 0x2b, 0x96, 0x4e, 0xd4, 0x04, 0xce];
}
