//! What has arrived, and when its ACK is due.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use multihop_core::{Duration, Instant, Payload};
use multihop_wire::mesh::{Ack, Bitmap, Data, Segment};

use super::config::Config;
use super::lowest::Lowest;
use super::numbers::{low, micros, widen};
use crate::bytes::ByteQueue;
use crate::pool::Share;

/// The receiving side of an end.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Segments that are kept, read or not.
    capacity: u64,
    share: Share,
    /// The sender had to stop at the end of the window.
    is_small: bool,
    /// Bytes read since the buffer grew.
    read: u64,
    /// Segments of which an ACK can say whether they have arrived.
    covered: u64,
    mss: u64,
    sink: bool,
    /// Number of the first segment that has not arrived.
    next: u64,
    /// The segments from `next` on.
    waiting: VecDeque<Option<Payload>>,
    unread: ByteQueue,
    /// Of a payload that has been copied.
    pub(super) memory: Option<Vec<u8>>,
    delays: Delays,
    /// Number of the peer's SYN.
    initial: u32,
    newest: Newest,
    /// Number of the peer's FIN, once it has arrived.
    fin: Option<u64>,
    /// Whether the peer's stream has arrived to its end.
    pub(super) is_finished: bool,
    /// Of the last ACK.
    bitmap: Bitmap,
    /// When the ACK is due.
    due: Option<Instant>,
    /// Segments with data since the last ACK.
    unacked: u32,
    /// The window of the last ACK.
    offered: u64,
}

/// The arrival with the largest transmission number; at first the peer's SYN.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    transmission: u64,
    sent: u32,
    arrived: Instant,
}

/// What a segment brought.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Arrival {
    /// Bytes that are now in order.
    pub(super) delivered: u64,
    /// Whether the segment was new.
    pub(super) is_new: bool,
    /// Whether one before it is missing.
    pub(super) out_of_order: bool,
}

impl Receiver {
    pub(super) fn new(config: &Config, share: Share) -> Self {
        Self {
            capacity: u64::from(config.recv_buffer),
            share,
            is_small: false,
            read: 0,
            covered: covered_by_acks(config.mss.into()),
            mss: u64::from(config.mss),
            sink: config.sink,
            next: 0,
            waiting: VecDeque::new(),
            unread: ByteQueue::default(),
            memory: None,
            delays: Delays::new(),
            initial: 0,
            newest: Newest::default(),
            fin: None,
            is_finished: false,
            bitmap: Bitmap::default(),
            due: None,
            unacked: 0,
            offered: u64::from(config.recv_buffer),
        }
    }

    /// The peer's SYN has this number.
    pub(super) fn open(&mut self, initial: u32) {
        self.initial = initial;
        self.next = u64::from(initial) + 1;
        self.newest = Newest { transmission: initial.into(), ..Newest::default() };
    }

    /// Number of the peer's SYN.
    pub(super) fn initial(&self) -> u32 {
        self.initial
    }

    /// Number of the first segment that has not arrived.
    pub(super) fn next(&self) -> u32 {
        low(self.next)
    }

    /// The number, if it is near the window. Numbers of earlier connections are elsewhere.
    fn widen(&self, number: u32) -> Option<u64> {
        widen(number, self.next).filter(|number| number.abs_diff(self.next) <= REACH)
    }

    /// Whether a number is near the window, so that its segment may belong to this connection.
    pub(super) fn has_near(&self, number: u32) -> bool {
        self.widen(number).is_some()
    }

    /// An ACK is due now.
    pub(super) fn request_ack(&mut self) {
        self.due = Some(Instant::ZERO);
    }

    /// The window to announce.
    pub(super) fn offer(&mut self) -> u16 {
        self.offered = self.window();
        u16::try_from(self.offered).unwrap_or(u16::MAX)
    }

    /// New segments have at most this payload, and ACKs must not be longer.
    pub(super) fn set_mss(&mut self, mss: u32) {
        self.covered = covered_by_acks(mss);
    }

    /// Takes a segment with data, FIN, or a probe; `None` for one of another connection.
    pub(super) fn take(&mut self, now: Instant, data: Data) -> Option<Arrival> {
        let number = self.widen(data.number)?;
        self.is_small |= data.more;
        self.note_transmission(now, &data);
        self.delays.add(now, data.sent);
        let is_probe = data.payload.is_empty() && !data.is_fin;
        let Some(offset) = number.checked_sub(self.next).filter(|_| !is_probe) else {
            self.due = Some(now);
            return Some(Arrival::default());
        };
        let end = self.waiting.len() as u64;
        let (was_gap, out_of_order) = (end > 0, offset > 0);
        let arrival = match self.store(offset, data.payload, data.is_fin) {
            false => Arrival::default(),
            true => Arrival { delivered: self.deliver(), is_new: true, out_of_order },
        };
        self.unacked += 1;
        // A new gap, the end of one, and a duplicate are news that the sender waits for.
        let is_news = offset > end || (was_gap && !out_of_order) || !arrival.is_new;
        let is_due = data.ask || is_news || self.unacked >= u32::from(data.every);
        let latest = now + Duration::from_micros(100) * u64::from(data.hold);
        self.due = Some(if is_due { now } else { self.due.map_or(latest, |due| due.min(latest)) });
        Some(arrival)
    }

    fn note_transmission(&mut self, now: Instant, data: &Data) {
        let known = self.newest.transmission;
        let Some(transmission) = widen(data.transmission, known) else { return };
        if transmission > known {
            self.newest = Newest { transmission, sent: data.sent, arrived: now };
        }
    }

    /// Keeps a segment `offset` places behind the next one; false for a duplicate, if there is no room, and if it is
    /// impossible.
    fn store(&mut self, offset: u64, payload: Payload, is_fin: bool) -> bool {
        if offset >= self.window() || !self.fits(offset, is_fin) {
            return false;
        }
        if is_fin {
            self.fin = Some(self.next + offset);
        }
        let Ok(index) = usize::try_from(offset) else { return false };
        while self.waiting.len() <= index {
            self.waiting.push_back(None);
        }
        let slot = &mut self.waiting[index];
        slot.is_none() && slot.replace(payload).is_none()
    }

    /// Whether the peer's stream may have such a segment: nothing follows FIN.
    fn fits(&self, offset: u64, is_fin: bool) -> bool {
        match self.fin {
            Some(fin) => !is_fin && self.next + offset < fin,
            None => !is_fin || offset >= self.waiting.len() as u64,
        }
    }

    /// Hands over what is in order; returns how many bytes.
    fn deliver(&mut self) -> u64 {
        let mut delivered = 0;
        while let Some(Some(_)) = self.waiting.front() {
            let Some(Some(payload)) = self.waiting.pop_front() else { break };
            self.is_finished |= self.fin == Some(self.next);
            self.next += 1;
            delivered += payload.len() as u64;
            match payload {
                _ if self.sink || payload.is_empty() => {}
                Payload::Bytes(bytes) => {
                    self.unread.push_copy(&bytes);
                    self.memory = Some(bytes);
                }
                Payload::Virtual(len) => self.unread.push_virtual(len.into()),
            }
        }
        if self.sink {
            self.on_read(delivered);
        }
        delivered
    }

    /// Segments from `next` on for which there is room, in the buffer and in an ACK.
    fn window(&self) -> u64 {
        self.capacity.saturating_sub(self.unread.len().div_ceil(self.mss)).min(self.covered)
    }

    pub(super) fn unread(&self) -> u64 {
        self.unread.len()
    }

    /// Takes bytes for the application; a window that was closed is announced when it opens.
    pub(super) fn read<R>(&mut self, take: impl FnOnce(&mut ByteQueue) -> R) -> R {
        let before = self.unread.len();
        let taken = take(&mut self.unread);
        self.on_read(before - self.unread.len());
        taken
    }

    /// The application has taken this many bytes.
    fn on_read(&mut self, bytes: u64) {
        self.read = self.read.saturating_add(bytes);
        self.grow();
        let (offered, window) = (self.offered, self.window());
        let has_opened = offered == 0 && window > 0;
        if has_opened || (offered <= self.capacity / 4 && window > self.capacity / 2) {
            self.due = Some(Instant::ZERO);
        }
    }

    /// Doubles the buffer if the sender had to stop although the application reads everything in time.
    fn grow(&mut self) {
        let further = self.capacity.min(self.covered.saturating_sub(self.capacity));
        let size = self.buffer();
        let keeps_up = self.read >= size && self.unread.len() <= size / 4;
        if self.is_small && keeps_up && further > 0 && self.share.grow(further * self.mss) {
            self.capacity += further;
            (self.is_small, self.read) = (false, 0);
        }
    }

    /// Bytes that it keeps at most.
    pub(super) fn buffer(&self) -> u64 {
        self.capacity * self.mss
    }

    /// The path has changed, and with it the delay of empty queues.
    pub(super) fn on_new_path(&mut self) {
        self.delays.lowest.clear();
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The ACK that is due.
    pub(super) fn ack(&mut self, now: Instant) -> Option<Ack> {
        self.due.filter(|&due| due <= now)?;
        self.due = None;
        self.unacked = 0;
        let (window, newest) = (self.offer(), self.newest);
        self.bitmap.clear();
        for (offset, slot) in (0..=Bitmap::LEN).zip(&self.waiting) {
            if slot.is_some() {
                self.bitmap.insert(offset);
            }
        }
        Some(Ack {
            window,
            next: low(self.next),
            newest: low(newest.transmission),
            echo: newest.sent,
            held: u32::try_from(now.saturating_since(newest.arrived).as_micros()).unwrap_or(u32::MAX),
            delay: self.delays.take_mean(),
            bitmap: self.bitmap.clone(),
        })
    }
}

/// Segments from the first missing one on that an ACK covers if it is no longer than a segment with this payload.
fn covered_by_acks(mss: u32) -> u64 {
    let room = u64::from(mss + u32::from(Segment::DATA_HEADER)).saturating_sub(Segment::ACK_HEADER.into());
    1 + (room * 8).clamp(MIN_COVERED, Bitmap::LEN)
}

/// How long segments are under way, compared with the fastest. The clocks of the ends need not agree.
#[derive(Debug)]
struct Delays {
    /// Difference of the clocks at the first segment, us.
    reference: Option<u32>,
    lowest: Lowest<i32>,
    /// Sum of the queueing delays since the last ACK, us, and their number.
    sum: u64,
    count: u64,
}

impl Delays {
    const fn new() -> Self {
        Self { reference: None, lowest: Lowest::new(HALF_MEMORY), sum: 0, count: 0 }
    }

    fn add(&mut self, now: Instant, sent: u32) {
        let difference = micros(now).wrapping_sub(sent);
        let reference = *self.reference.get_or_insert(difference);
        let delay = difference.wrapping_sub(reference).cast_signed();
        self.lowest.add(now, delay);
        let lowest = self.lowest.get().unwrap_or(delay);
        self.sum += u64::from(delay.abs_diff(lowest));
        self.count += 1;
    }

    fn take_mean(&mut self) -> u32 {
        let mean = self.sum.checked_div(self.count).unwrap_or(0);
        (self.sum, self.count) = (0, 0);
        u32::try_from(mean).unwrap_or(u32::MAX)
    }
}

/// Segments on both sides of the next one that may belong to this connection: more than any window has.
const REACH: u64 = 2 * Bitmap::LEN;
/// An ACK for fewer is shorter than any datagram may be.
const MIN_COVERED: u64 = 256;
/// The fastest segment is remembered for one to two of these.
const HALF_MEMORY: Duration = Duration::from_secs(5);
