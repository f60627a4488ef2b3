//! The keys of an established connection: a counter for each datagram, and new keys from time to time.
//!
//! A datagram names its key by number. A sender takes new keys only when the receiver has them as well, so that a
//! receiver never has to search for a key, and data does not wait. How both ends agree on new keys is in
//! [`rekey`](super::rekey).
//!
//! # Bytes
//!
//! `Split()` gives two keys: the first encrypts what the caller sends, the second what the listener sends. A
//! datagram of type 5 has one segment and 32 bytes more.
//!
//! | | rule |
//! |---|---|
//! | counter | counts the datagrams of each direction under all keys, from 0, and from 2^63 on the *second path* (`docs/wire.md#second-path`). 2^64 - 1 is never used |
//! | encryption | ChaCha20-Poly1305 (RFC 8439). The nonce is 4 zero bytes and the counter, little-endian. The associated data are bytes 0 to 15 before masking. The tag (16) is last |
//! | mask | Byte 1 and bytes 8 to 15 are XORed with the first 9 bytes of a block of ChaCha20 (RFC 8439, section 2.3). The first 4 bytes of the tag, little-endian, are the block counter; the other 12 are the nonce |
//! | key of the mask | for the whole connection: BLAKE2s-256 keyed with the first key of this direction, personal `mhheader`, over the empty message |
//! | replay | A receiver accepts each counter once. It distinguishes at least the 1024 newest counters of each path, and drops older ones |

use alloc::vec::Vec;
use blake2::Blake2sMac;
use blake2::digest::FixedOutput;
use blake2::digest::consts::U32;
use multihop_core::{Duration, Instant};
use zeroize::Zeroizing;

use super::message::{Content, DATA_HEADER, EncryptedSegment, data_header};
use super::window::ReplayWindow;
use crate::primitives::{self, Aead};
use crate::protection::outcome::Freshness;

/// Mask for the header fields that would link the datagrams of a connection: key number and counter. It stays
/// the same for the whole connection (as in RFC 9001, section 5.4).
#[derive(Clone)]
pub(crate) struct TrafficKey(Zeroizing<[u8; 32]>);

/// Masks what would link the datagrams of a connection with each other: the number of the key, and the counter. It is
/// the same for the whole connection (as in RFC 9001, section 5.4).
struct HeaderMask(Zeroizing<[u8; 32]>);

/// Conditions under which a connection gets new keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    /// Number of datagrams in both directions together after which keys are replaced.
    pub(crate) datagrams: u64,
    /// Age at which keys are replaced.
    pub(crate) age: Duration,
}

/// Keys and counter with which this end encrypts datagrams.
pub(crate) struct Encryptor {
    key: TrafficKey,
    /// Number of the current key.
    number: u64,
    /// Next counters of the first and of the second path.
    counters: [u64; 2],
    mask: HeaderMask,
}

/// Keys and windows with which this end decrypts datagrams of the peer.
pub(crate) struct Decryptor {
    key: TrafficKey,
    /// Number of the current key.
    number: u64,
    /// Key after the current one, until a datagram under it arrives.
    next: Option<TrafficKey>,
    /// Key before the current one, for late datagrams, and the time at which it is deleted.
    previous: Option<(TrafficKey, Instant)>,
    /// Counters of received datagrams on the first and on the second path.
    windows: [ReplayWindow; 2],
    /// Whether the newest authentic datagram arrived on the second path.
    is_second: bool,
    mask: HeaderMask,
}

impl TrafficKey {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }

    #[cfg(test)]
    pub(super) fn reveal(&self) -> [u8; 32] {
        *self.0
    }

    fn cipher(&self) -> Aead {
        Aead::new(&self.0)
    }
}

impl HeaderMask {
    /// Derives the mask of one direction from the first key of that direction.
    fn new(first: &TrafficKey) -> Self {
        let mac = Blake2sMac::<U32>::new_with_salt_and_personal(&first.0[..], &[], b"mhheader")
            .expect("32 and 8 bytes, as BLAKE2s allows");
        Self(Zeroizing::new(mac.finalize_fixed().into()))
    }

    /// Masks or unmasks a header. The mask depends on the datagram's tag and therefore differs for each
    /// datagram.
    fn apply(&self, header: &[u8; DATA_HEADER], tag: &[u8; TAG]) -> [u8; DATA_HEADER] {
        let (block, nonce) = tag.split_first_chunk().expect("sixteen bytes");
        let mut mask = [0; 9];
        let nonce = nonce.try_into().expect("twelve bytes are left");
        primitives::chacha20(&self.0, u32::from_le_bytes(*block), nonce, &mut mask);
        let mut other = *header;
        other[1] ^= mask[0];
        other[8..].iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        other
    }
}

impl Rotation {
    /// Default: about 1.5 GB, or two minutes.
    pub(crate) const DEFAULT: Self = Self { datagrams: 1 << 20, age: Duration::from_secs(120) };
}

impl Encryptor {
    pub(crate) fn new(key: TrafficKey) -> Self {
        Self { mask: HeaderMask::new(&key), key, number: 0, counters: [0, SECOND_PATH] }
    }

    /// Appends an encrypted datagram to `out`; `emit` writes its plain text. Returns `None` once the counters of the
    /// path are used up.
    pub(crate) fn encrypt(
        &mut self,
        content: Content,
        receiver: u32,
        on_second: bool,
        emit: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Option<()> {
        // The highest nonce is reserved (Noise, section 5.1).
        let next = &mut self.counters[usize::from(on_second)];
        let counter = Some(*next).filter(|counter| counter | SECOND_PATH < u64::MAX)?;
        *next += 1;
        let header = data_header(content, low(self.number), receiver, counter);
        let begin = out.len();
        out.extend_from_slice(&header);
        let start = out.len();
        emit(out);
        let cipher = self.key.cipher();
        let tag = cipher.encrypt(nonce(counter), &header, &mut out[start..])?;
        out.extend_from_slice(&tag);
        out[begin..start].copy_from_slice(&self.mask.apply(&header, &tag));
        Some(())
    }

    /// The number of the current key.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Number of datagrams encrypted with these keys so far.
    pub(crate) const fn sent(&self) -> u64 {
        self.counters[0] + (self.counters[1] - SECOND_PATH)
    }

    #[cfg(test)]
    pub(super) fn reveal(&self) -> [u8; 32] {
        self.key.reveal()
    }

    /// Uses the next key from now on.
    pub(crate) fn replace(&mut self, key: TrafficKey) {
        self.key = key;
        self.number += 1;
    }
}

impl Decryptor {
    pub(crate) fn new(key: TrafficKey) -> Self {
        let mask = HeaderMask::new(&key);
        Self {
            key,
            number: 0,
            next: None,
            previous: None,
            windows: [const { ReplayWindow::new() }; 2],
            is_second: false,
            mask,
        }
    }

    /// The number of the newest key under which a datagram has arrived.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Number of authentic datagrams of the peer received under these keys.
    pub(crate) fn received(&self) -> u64 {
        self.windows.iter().map(ReplayWindow::end).sum()
    }

    /// Whether the newest authentic datagram arrived on the second path.
    pub(crate) const fn is_second(&self) -> bool {
        self.is_second
    }

    /// Accepts datagrams under the next key in addition.
    pub(crate) fn expect(&mut self, next: TrafficKey) {
        self.next = Some(next);
    }

    /// Whether no datagram under the next key has arrived yet.
    pub(crate) const fn awaits_next(&self) -> bool {
        self.next.is_some()
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
        let (text, tag) = data.ciphertext.split_last_chunk()?;
        let header = self.mask.apply(data.header, tag);
        let counter = u64::from_be_bytes(*header.last_chunk().expect("the header is longer"));
        let is_second = counter >= SECOND_PATH;
        let (place, path) = (counter & !SECOND_PATH, usize::from(is_second));
        if self.windows[path].is_too_old(place) || counter | SECOND_PATH == u64::MAX {
            return None;
        }
        let start = out.len();
        let sealed = Sealed { header: &header, counter, text, tag };
        // Eight bits are enough to distinguish the current, the next and the previous key.
        match header[1] {
            key if key == low(self.number) => sealed.open(&self.key, out)?,
            key if key == low(self.number + 1) => {
                sealed.open(self.next.as_ref()?, out)?;
                let next = self.next.take()?;
                let previous = core::mem::replace(&mut self.key, next);
                self.previous = Some((previous, now + LATE));
                self.number += 1;
            }
            key if self.number > 0 && key == low(self.number - 1) => {
                sealed.open(&self.previous.as_ref()?.0, out)?;
            }
            _ => return None,
        }
        self.is_second = is_second;
        let window = &mut self.windows[path];
        let freshness = match window.is_new(place) {
            true if window.is_newest(place) => Freshness::Newest,
            true => Freshness::Late,
            false => Freshness::Duplicate,
        };
        if freshness == Freshness::Duplicate {
            out.truncate(start);
        }
        window.mark(place);
        Some(freshness)
    }

    /// Deletes the previous key when its time is over: from then on not even stolen keys decrypt datagrams
    /// under it.
    pub(crate) fn forget_previous_key(&mut self, now: Instant) {
        if self.previous.as_ref().is_some_and(|(_, until)| now >= *until) {
            self.previous = None;
        }
    }
}

/// An encrypted datagram with its header unmasked.
struct Sealed<'a> {
    header: &'a [u8; DATA_HEADER],
    counter: u64,
    text: &'a [u8],
    tag: &'a [u8; TAG],
}

impl Sealed<'_> {
    fn open(&self, key: &TrafficKey, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        out.extend_from_slice(self.text);
        let opened = key.cipher().decrypt(nonce(self.counter), self.header, &mut out[start..], self.tag);
        if opened.is_none() {
            out.truncate(start);
        }
        opened
    }
}

/// Nonce of `ChaChaPoly` in Noise: 32 zero bits, then the counter in little-endian order.
fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}

/// The part of a key number that datagrams contain.
fn low(number: u64) -> u8 {
    u8::try_from(number & 0xff).expect("eight bits")
}

/// First counter of the second path, whose datagrams are counted separately, because neither path waits for
/// the other.
const SECOND_PATH: u64 = 1 << 63;
/// Length of an authentication tag, bytes.
const TAG: usize = 16;
/// Bytes that encryption adds to a segment: header and tag.
pub(crate) const OVERHEAD: u16 = 16 + 16;
/// Time for which the previous key remains valid for late datagrams.
const LATE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::SecureDatagram;
    use super::Freshness::{Duplicate, Late, Newest};
    use super::*;

    /// Both ends of one connection.
    struct BothEnds {
        now: Instant,
        encryptors: [Encryptor; 2],
        decryptors: [Decryptor; 2],
    }

    impl BothEnds {
        fn new() -> Self {
            let (one, two) = (TrafficKey::new([1; 32]), TrafficKey::new([2; 32]));
            let encryptors = [Encryptor::new(one.clone()), Encryptor::new(two.clone())];
            Self { now: Instant::ZERO, encryptors, decryptors: [Decryptor::new(two), Decryptor::new(one)] }
        }

        /// Datagram that one end encrypts.
        fn encrypt(&mut self, end: usize, text: &[u8]) -> Vec<u8> {
            let mut out = Vec::new();
            self.encryptors[end]
                .encrypt(Content::Segment, 7, false, |out| out.extend_from_slice(text), &mut out)
                .unwrap();
            assert_eq!(out.len(), text.len() + usize::from(OVERHEAD));
            out
        }

        /// Decrypts a datagram at `end`, the receiver.
        fn decrypt(&mut self, end: usize, datagram: &[u8]) -> Option<(Vec<u8>, Freshness)> {
            let Some(SecureDatagram::Data(data)) = SecureDatagram::parse(datagram) else { return None };
            let mut out = Vec::new();
            let freshness = self.decryptors[end].decrypt(self.now, &data, &mut out)?;
            Some((out, freshness))
        }

        fn exchange(&mut self) {
            for end in [0, 1] {
                let datagram = self.encrypt(end, b"text");
                assert_eq!(self.decrypt(1 - end, &datagram), Some((b"text".to_vec(), Newest)));
            }
        }

        /// Gives one end a new key, which the other end expects.
        fn replace(&mut self, end: usize) {
            let number = u8::try_from(self.encryptors[end].number).unwrap();
            let key = TrafficKey::new([10 + number; 32]);
            self.decryptors[1 - end].expect(key.clone());
            self.encryptors[end].replace(key);
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

    /// Checks that consecutive datagrams show no consecutive counters.
    #[test]
    fn nothing_in_a_header_but_the_index_links_it_to_others() {
        let mut ends = BothEnds::new();
        let headers: Vec<_> = (0..200).map(|_| ends.encrypt(0, b"text")[..16].to_vec()).collect();
        for at in [1, 8, 9, 10, 11, 12, 13, 14, 15] {
            let values: std::collections::BTreeSet<_> = headers.iter().map(|header| header[at]).collect();
            // 200 random values miss 117 of 256 on average; the standard deviation is 5.
            assert!((110..=170).contains(&values.len()), "byte {at}: {} values", values.len());
        }
        assert!(headers.iter().all(|header| header[..1] == [5] && header[2..8] == [255, 255, 0, 0, 0, 7]));
    }

    #[test]
    fn a_path_may_be_far_behind_the_other() {
        let mut ends = BothEnds::new();
        let on = |ends: &mut BothEnds, second| {
            let mut out = Vec::new();
            ends.encryptors[0].encrypt(Content::Segment, 7, second, |out| out.push(1), &mut out).unwrap();
            out
        };
        let late: Vec<_> = (0..2).map(|_| on(&mut ends, true)).collect();
        for _ in 0..3000 {
            let datagram = on(&mut ends, false);
            assert_eq!(ends.decrypt(1, &datagram), Some((vec![1], Newest)));
            assert!(!ends.decryptors[1].is_second());
        }
        assert_eq!(ends.decrypt(1, &late[1]), Some((vec![1], Newest)));
        assert!(ends.decryptors[1].is_second());
        assert_eq!(ends.decrypt(1, &late[0]), Some((vec![1], Late)));
        assert_eq!(ends.decrypt(1, &late[0]), Some((vec![], Duplicate)));
        assert_eq!((ends.encryptors[0].sent(), ends.decryptors[1].received()), (3002, 3002));
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
    fn a_receiver_takes_the_next_key_with_the_first_datagram_under_it() {
        let mut ends = BothEnds::new();
        for n in 1..40 {
            ends.exchange();
            ends.replace(0);
            assert!(ends.decryptors[1].awaits_next());
            assert_eq!(ends.decryptors[1].number, n - 1);
            ends.exchange();
            assert!(!ends.decryptors[1].awaits_next());
            assert_eq!((ends.encryptors[0].number, ends.decryptors[1].number), (n, n));
        }
        assert_eq!((ends.encryptors[1].number, ends.decryptors[0].number), (0, 0), "the other direction");
    }

    #[test]
    fn a_late_datagram_decrypts_for_ten_seconds_after_a_new_key() {
        let mut ends = BothEnds::new();
        ends.exchange();
        let late = [ends.encrypt(0, b"a"), ends.encrypt(0, b"b")];
        ends.replace(0);
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
        for expects in [false, true] {
            let mut forged = ends.encrypt(0, b"text");
            if expects {
                ends.decryptors[1].expect(TrafficKey::new([9; 32]));
            }
            forged[1] ^= 1;
            assert_eq!(ends.decrypt(1, &forged), None);
            assert_eq!(ends.decryptors[1].number, 0);
            ends.exchange();
        }
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
                    7 if !ends.decryptors[1 - end].awaits_next() => ends.replace(end),
                    _ => ends.now += Duration::from_secs(7),
                }
            }
            // Regardless of losses, the newest datagram is decrypted: each end still has the other's key.
            for _ in 0..3 {
                for end in [0, 1] {
                    let datagram = ends.encrypt(end, b"end");
                    prop_assert_eq!(ends.decrypt(1 - end, &datagram), Some((b"end".to_vec(), Newest)));
                }
            }
        }
    }
}
