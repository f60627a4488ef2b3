//! Lost segments of channels that are not worth a retransmission: later segments skip them.

use alloc::vec::Vec;

use multihop_core::{Duration, Instant};
use multihop_wire::mesh::{Chunk, Data};

use super::sender::{Content, Sender, State};

impl Sender {
    /// Whether a lost segment has nothing that is worth a retransmission, so that a later segment can skip it.
    pub(super) fn is_moot(&self, now: Instant, index: usize) -> bool {
        let (piece, Some(channels)) = (&self.pieces[index], &self.channels) else { return false };
        match piece.content {
            Content::Chunks { serial, .. } => {
                channels.may_skip() && !piece.is_unskipped && channels.is_moot(now, serial)
            }
            _ => false,
        }
    }

    /// Lets a lost segment wait for a later one that skips it.
    pub(super) fn set_moot(&mut self, now: Instant, index: usize) {
        let piece = &mut self.pieces[index];
        (piece.state, piece.sent) = (State::Moot, now);
        self.moot += 1;
    }

    /// Chunks with which a new segment skips earlier ones, and gaps for their messages.
    pub(super) fn skip(&mut self, now: Instant, path: usize, index: usize, serial: u32) -> Vec<Chunk> {
        let Some(channels) = &mut self.channels else { return Vec::new() };
        let (mut chunks, mut skips) = (Vec::new(), Vec::new());
        let mut room = channels.room(serial);
        let transmission = self.pieces[index].transmission;
        // A segment that is further back cannot be named.
        let first = index.saturating_sub(Chunk::MAX_DISTANCE.into());
        for at in first..index {
            let piece = &mut self.pieces[at];
            let (State::Moot, Content::Chunks { serial, .. }) = (piece.state, piece.content) else {
                continue;
            };
            let distance = u16::try_from(index - at).unwrap_or(Chunk::MAX_DISTANCE);
            let gaps = channels.gaps(serial);
            let skip = Chunk::Skip { distance, count: 1 };
            let len = gaps.iter().chain([&skip]).map(Chunk::header_len).sum();
            let Some(rest) = room.checked_sub(len) else { break };
            room = rest;
            (piece.state, piece.path, piece.transmission) = (State::Skipped, path, transmission);
            (piece.is_retransmitted, piece.was_skipped, piece.sent) = (true, true, now);
            self.moot -= 1;
            for gap in gaps {
                if !chunks.contains(&gap) {
                    chunks.push(gap);
                }
            }
            add_skip(&mut skips, distance);
            if self.moot == 0 {
                break;
            }
        }
        chunks.extend(skips);
        chunks
    }

    /// The next segment of the first class in which a channel with a deadline has something, or a lost one of a better
    /// class, whatever the window. Returns also whether it is a retransmission.
    pub(super) fn next_with_deadline(&mut self, now: Instant, path: usize, mss: u32) -> Option<(Data, bool)> {
        let class = self.class_with_deadline()?;
        while let Some(lost) = self.lost.first_class().filter(|&lost| lost <= class) {
            if let Some(data) = self.retransmit(now, path, lost) {
                return Some((Data { ask: true, ..data }, true));
            }
        }
        self.channels.as_mut()?.turn_to_deadline(class);
        let content = self.next_chunks(now, class, mss)?;
        Some((Data { ask: true, ..self.add(now, path, content) }, false))
    }

    /// Whether a path loses more than a hundredth of the segments.
    pub(super) fn loses(&self, path: usize) -> bool {
        self.tracks[path].loss.share() > MIN_LOSS
    }

    /// Whether the oldest segment without an ACK is of channels.
    pub(super) fn begins_with_channels(&self) -> bool {
        self.pieces.front().is_some_and(|piece| matches!(piece.content, Content::Chunks { .. }))
    }

    /// The longest time for which the ACK of a segment may wait: a fraction of the shortest deadline, if all its messages
    /// have one. Without losses nothing needs an early ACK, which would cost air.
    pub(super) fn ack_hold(&self, path: usize, data: &Data) -> Option<Duration> {
        let channels = self.channels.as_ref().filter(|_| self.loses(path))?;
        let deadlines = data.chunks.iter().map(|chunk| channels.deadline(chunk));
        let shortest = deadlines.reduce(|shortest, deadline| Some(shortest?.min(deadline?)))?;
        Some(shortest? / DEADLINE_PER_HOLD)
    }

    /// The first class in which a channel with a deadline has something for a segment for which the peer has room.
    pub(super) fn class_with_deadline(&self) -> Option<u8> {
        self.next_class()?;
        self.channels.as_ref()?.first_class_with_deadline()
    }
}

/// Adds a skipped segment, which extends the chunk before it if it follows the segments of that chunk.
fn add_skip(skips: &mut Vec<Chunk>, next: u16) {
    match skips.last_mut() {
        Some(Chunk::Skip { distance, count }) if *distance == next + *count => *count += 1,
        _ => skips.push(Chunk::Skip { distance: next, count: 1 }),
    }
}

/// Share of lost segments above which messages with a deadline do not wait for room in the window.
const MIN_LOSS: f64 = 0.01;
/// Fraction of a deadline for which the ACK of a message may wait.
const DEADLINE_PER_HOLD: u64 = 8;
