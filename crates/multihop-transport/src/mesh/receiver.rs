//! Receiving side of `mesh`: the segments that have arrived, and the time of the next ACK.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use multihop_core::{Duration, Instant, Payload};
use multihop_wire::mesh::{Ack, Bitmap, Data, Segment};

use super::config::Config;
use super::frames::Frames;
use super::lowest::Lowest;
use super::numbers::{low, micros, widen};
use super::paths::PATHS;
use super::sender::RESERVED;
use crate::bytes::ByteQueue;
use crate::pool::Share;

/// The receiving side of an end.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Segments that are kept, read or not.
    capacity: u64,
    share: Share,
    /// Whether the sender had to stop at the end of the window, so that a larger window may help.
    is_small: bool,
    /// Bytes read since the buffer grew.
    read: u64,
    /// Number of segments whose arrival the bitmap of one ACK can report.
    covered: u64,
    mss: u64,
    sink: bool,
    /// Number of the first segment that has not arrived.
    next: u64,
    /// Payloads of the segments from `next` on; `None` where one is missing.
    waiting: VecDeque<Option<Payload>>,
    unread: ByteQueue,
    /// Buffer of a payload that has been copied, for reuse.
    pub(super) memory: Option<Vec<u8>>,
    tracks: [Track; PATHS],
    /// Whether a segment of channels has arrived.
    has_channels: bool,
    /// Whether there is a second path, so that segments seldom arrive in the order of the stream.
    is_split: bool,
    /// Number of the peer's SYN.
    initial: u32,
    /// Number of the peer's FIN, once it has arrived.
    fin: Option<u64>,
    /// Whether the peer's stream has arrived to its end.
    pub(super) is_finished: bool,
    /// Bitmap of the last ACK.
    bitmap: Bitmap,
    /// The window of the last ACK.
    offered: u64,
}

/// Arrivals of transmissions over one path.
#[derive(Debug)]
struct Track {
    delays: Delays,
    frames: Frames,
    newest: Newest,
    /// Time at which the ACK is due.
    due: Option<Instant>,
    /// Segments with data since the last ACK.
    unacked: u32,
}

impl Track {
    const fn new() -> Self {
        Self {
            delays: Delays::new(),
            frames: Frames::new(),
            newest: Newest { transmission: 0, sent: 0, arrived: Instant::ZERO },
            due: None,
            unacked: 0,
        }
    }

    /// Records the arrival of a transmission. Returns whether an earlier transmission is missing, and the queueing
    /// delay in us.
    fn add(&mut self, now: Instant, data: &Data) -> (bool, u32) {
        let queueing = self.delays.add(now, data.sent);
        self.frames.add(now);
        let known = self.newest.transmission;
        let Some(transmission) = widen(data.transmission, known) else {
            return (false, queueing);
        };
        if transmission > known {
            self.newest = Newest { transmission, sent: data.sent, arrived: now };
        }
        (transmission > known + 1, queueing)
    }
}

/// The arrival with the largest transmission number; at first the peer's SYN.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    transmission: u64,
    sent: u32,
    arrived: Instant,
}

/// Outcome of an arriving data segment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Arrival {
    /// Bytes that are now in order.
    pub(super) delivered: u64,
    /// Whether the segment was new.
    pub(super) is_new: bool,
    /// Whether a segment before the arriving one is missing.
    pub(super) out_of_order: bool,
    /// Queueing delay of the segment: how much longer it was under way than the fastest of the last seconds.
    pub(super) queueing: Duration,
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
            tracks: [const { Track::new() }; PATHS],
            has_channels: false,
            is_split: false,
            initial: 0,
            fin: None,
            is_finished: false,
            bitmap: Bitmap::default(),
            offered: u64::from(config.recv_buffer),
        }
    }

    /// Begins with the number in the peer's SYN.
    pub(super) fn open(&mut self, initial: u32) {
        self.initial = initial;
        self.next = u64::from(initial) + 1;
        let newest = Newest { transmission: initial.into(), ..Newest::default() };
        self.tracks.iter_mut().for_each(|track| track.newest = newest);
    }

    /// Prepares the receiver for a second path.
    pub(super) fn split(&mut self) {
        self.is_split = true;
    }

    /// Number of the peer's SYN.
    pub(super) fn initial(&self) -> u32 {
        self.initial
    }

    /// Number of the first segment that has not arrived.
    pub(super) fn next(&self) -> u32 {
        low(self.next)
    }

    /// Extends a 32-bit number to 64 bits near the receive window; `None` if it is far from the window, as numbers of
    /// earlier connections are.
    fn widen(&self, number: u32) -> Option<u64> {
        widen(number, self.next).filter(|number| number.abs_diff(self.next) <= REACH)
    }

    /// Whether a number is near the window, so that its segment may belong to this connection.
    pub(super) fn has_near(&self, number: u32) -> bool {
        self.widen(number).is_some()
    }

    /// Makes an ACK due now, on each path.
    pub(super) fn request_ack(&mut self) {
        let paths = if self.is_split { PATHS } else { 1 };
        self.tracks[..paths].iter_mut().for_each(|track| track.due = Some(Instant::ZERO));
    }

    /// Window to announce to the peer, segments.
    pub(super) fn offer(&mut self) -> u16 {
        self.offered = self.window();
        u16::try_from(self.offered).unwrap_or(u16::MAX)
    }

    /// Limits the payload of new segments, and with it the length of ACKs.
    pub(super) fn set_mss(&mut self, mss: u32) {
        self.covered = covered_by_acks(mss);
    }

    /// Takes a segment with data, FIN, or a probe; `None` for one of another connection. Of a segment of channels, the caller
    /// keeps the data. With `ack_waits`, an ACK is due after twice the number of segments that the sender requests; the sender's
    /// longest delay of the ACK still applies.
    pub(super) fn take(
        &mut self,
        now: Instant,
        data: Data,
        has_chunks: bool,
        ack_waits: bool,
    ) -> Option<Arrival> {
        let number = self.widen(data.number)?;
        self.is_small |= data.more;
        self.has_channels |= has_chunks;
        let path = usize::from(data.second_path);
        let (has_skipped, queueing) = self.tracks[path].add(now, &data);
        let is_probe = data.payload.is_empty() && !data.is_fin && !has_chunks;
        let Some(offset) = number.checked_sub(self.next).filter(|_| !is_probe) else {
            self.tracks[path].due = Some(now);
            return Some(Arrival::default());
        };
        let end = self.waiting.len() as u64;
        let (was_gap, out_of_order) = (end > 0, offset > 0);
        let is_new = match has_chunks {
            true => offset < self.window().max(RESERVED) && self.fill(offset, Payload::EMPTY),
            false => self.store(offset, data.payload, data.is_fin),
        };
        let arrival = match is_new {
            false => Arrival::default(),
            true => {
                let queueing = Duration::from_micros(queueing.into());
                Arrival { delivered: self.deliver(), is_new, out_of_order, queueing }
            }
        };
        // A new gap, the end of one, and a duplicate are news that the sender waits for.
        let has_gap = if self.is_split { has_skipped } else { offset > end || (was_gap && !out_of_order) };
        let track = &mut self.tracks[path];
        track.unacked += 1;
        let due_after = u32::from(data.every) * if ack_waits { 2 } else { 1 };
        let is_due = data.ask || has_gap || !arrival.is_new || track.unacked >= due_after;
        let latest = now + Duration::from_micros(100) * u64::from(data.hold);
        track.due = Some(if is_due { now } else { track.due.map_or(latest, |due| due.min(latest)) });
        Some(arrival)
    }

    /// Takes `count` segments from `distance` before `number` on as arrived, without content. Returns the bytes of the stream
    /// that are now in order.
    pub(super) fn skip(&mut self, number: u32, distance: u16, count: u16) -> u64 {
        let Some(number) = self.widen(number) else { return 0 };
        let first = number.saturating_sub(distance.into());
        let end = (first + u64::from(count)).min(self.next + RESERVED);
        for skipped in first.max(self.next)..end {
            self.fill(skipped - self.next, Payload::EMPTY);
        }
        self.deliver()
    }

    /// Stores the payload of a segment, `offset` segments after the next expected one. Returns false for a duplicate,
    /// a segment without room, and an impossible one.
    fn store(&mut self, offset: u64, payload: Payload, is_fin: bool) -> bool {
        if !self.has_room(offset) || !self.fits(offset, is_fin) {
            return false;
        }
        if is_fin {
            self.fin = Some(self.next + offset);
        }
        self.fill(offset, payload)
    }

    /// Whether the buffer has room for a segment of the stream. Waiting segments of channels occupy no room.
    fn has_room(&self, offset: u64) -> bool {
        let window = self.window();
        let stored = || self.waiting.iter().flatten().filter(|payload| !payload.is_empty()).count() as u64;
        offset < window || (self.has_channels && offset < RESERVED && stored() < window)
    }

    /// Stores the payload of a missing segment; returns false for a duplicate.
    fn fill(&mut self, offset: u64, payload: Payload) -> bool {
        let Ok(index) = usize::try_from(offset) else { return false };
        while self.waiting.len() <= index {
            self.waiting.push_back(None);
        }
        let slot = &mut self.waiting[index];
        slot.is_none() && slot.replace(payload).is_none()
    }

    /// Whether a segment can belong to the peer's stream: of the stream nothing follows FIN.
    fn fits(&self, offset: u64, is_fin: bool) -> bool {
        match self.fin {
            Some(fin) => !is_fin && self.next + offset < fin,
            None if is_fin => {
                let behind = self.waiting.iter().skip(usize::try_from(offset).unwrap_or(usize::MAX));
                behind.flatten().all(Payload::is_empty)
            }
            None => true,
        }
    }

    /// Delivers data that is in order; returns the number of bytes.
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

    /// Frees the bytes that the application has read.
    fn on_read(&mut self, bytes: u64) {
        self.read = self.read.saturating_add(bytes);
        self.grow();
        let (offered, window) = (self.offered, self.window());
        let has_opened = offered == 0 && window > 0;
        if has_opened || (offered <= self.capacity / 4 && window > self.capacity / 2) {
            self.request_ack();
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

    /// Bytes that the receiver keeps at most.
    pub(super) fn buffer(&self) -> u64 {
        self.capacity * self.mss
    }

    /// Resets the shortest one-way delay, because the first path has changed.
    pub(super) fn on_new_path(&mut self) {
        self.tracks[0].delays.lowest.clear();
    }

    /// Time at which an ACK is due on a path.
    pub(super) fn due(&self, path: usize) -> Option<Instant> {
        self.tracks[path].due
    }

    /// Builds the ACK that is due on a path, if one is.
    pub(super) fn ack(&mut self, now: Instant) -> Option<Ack> {
        let path = self.tracks.iter().position(|track| track.due.is_some_and(|due| due <= now))?;
        let window = self.offer();
        let track = &mut self.tracks[path];
        (track.due, track.unacked) = (None, 0);
        let newest = track.newest;
        self.bitmap.clear();
        for (offset, slot) in (0..=Bitmap::LEN).zip(&self.waiting) {
            if slot.is_some() {
                self.bitmap.insert(offset);
            }
        }
        Some(Ack {
            second_path: path > 0,
            window,
            next: low(self.next),
            newest: low(newest.transmission),
            echo: newest.sent,
            held: u32::try_from(now.saturating_since(newest.arrived).as_micros())
                .unwrap_or(u32::MAX)
                .min(Ack::MAX_HELD),
            together: track.frames.take_together(),
            delay: track.delays.take_mean(),
            bitmap: self.bitmap.clone(),
        })
    }
}

/// Segments from the first missing one on that an ACK covers if it is no longer than a segment with this payload.
fn covered_by_acks(mss: u32) -> u64 {
    let room = u64::from(mss + u32::from(Segment::DATA_HEADER)).saturating_sub(Segment::ACK_HEADER.into());
    1 + (room * 8).clamp(MIN_COVERED, Bitmap::LEN)
}

/// Delays of segments, compared with the fastest. The clocks of the ends need not agree.
#[derive(Debug)]
struct Delays {
    /// Difference of the clocks at the first segment, us.
    reference: Option<u32>,
    lowest: Lowest<i32>,
    /// Sum of the queueing delays since the last ACK, us.
    sum: u64,
    count: u64,
}

impl Delays {
    const fn new() -> Self {
        Self { reference: None, lowest: Lowest::new(HALF_MEMORY), sum: 0, count: 0 }
    }

    /// Adds a segment; returns its queueing delay, us.
    fn add(&mut self, now: Instant, sent: u32) -> u32 {
        let difference = micros(now).wrapping_sub(sent);
        let reference = *self.reference.get_or_insert(difference);
        let delay = difference.wrapping_sub(reference).cast_signed();
        self.lowest.add(now, delay);
        let lowest = self.lowest.get().unwrap_or(delay);
        let queueing = delay.abs_diff(lowest);
        self.sum += u64::from(queueing);
        self.count += 1;
        queueing
    }

    fn take_mean(&mut self) -> u32 {
        let mean = self.sum.checked_div(self.count).unwrap_or(0);
        (self.sum, self.count) = (0, 0);
        u32::try_from(mean).unwrap_or(u32::MAX)
    }
}

/// Number of segments on both sides of the next one that may belong to this connection: more than any window has.
const REACH: u64 = 2 * Bitmap::LEN;
/// Smallest number of segments that an ACK covers: one for fewer is shorter than any datagram may be.
const MIN_COVERED: u64 = 256;
/// Half of the longest time for which the shortest one-way delay is remembered.
const HALF_MEMORY: Duration = Duration::from_secs(5);
