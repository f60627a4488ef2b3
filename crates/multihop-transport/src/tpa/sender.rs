use multihop_core::{Duration, Instant};
use multihop_wire::tpa::{Bitmap, BlockSeq};

use super::TpaEnd;
use super::block::Block;
use super::config::Fill;
use super::timers::Timer;
use super::transmissions::Transmissions;
use crate::sendq::SendQueue;

/// Data for the peer: the current block, and data that waits for the next block.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// Number of the block with this end's SYN.
    pub(super) iss: BlockSeq,
    pub(super) queue: SendQueue,
    /// Position in the send queue of the current block's first byte.
    pub(super) base: u64,
    pub(super) block: Block,
    /// Bitmap of all positions of the previous block.
    pub(super) before: Bitmap,
    /// Bytes of the block that the peer has.
    pub(super) acked: u64,
    pub(super) transmissions: Transmissions,
    /// The peer's window in segments.
    pub(super) window: u16,
    /// Whether data has waited long enough for more.
    pub(super) flush: bool,
    pub(super) fin_sent: bool,
    /// Departure of the newest data segment.
    pub(super) last_data: Option<Instant>,
    /// Whether a probe must leave.
    pub(super) probe_due: bool,
    /// Whether a probe has been sent that the peer has not answered.
    pub(super) asked: bool,
    /// Number of probes since the window closed.
    pub(super) probes: u32,
}

/// A segment to be sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Choice {
    /// Retransmission of the segment at this position, whose timer has expired.
    Again(u8),
    /// First transmission of a segment with this many bytes; a FIN has none.
    New {
        len: u32,
        /// Whether the segment ends the block.
        last: bool,
    },
}

impl Sender {
    pub(super) fn new(iss: BlockSeq) -> Self {
        let queue = SendQueue::new();
        Self {
            iss,
            base: queue.end(),
            queue,
            block: Block::none(),
            before: Bitmap::EMPTY,
            acked: 0,
            transmissions: Transmissions::default(),
            window: 0,
            flush: false,
            fin_sent: false,
            last_data: None,
            probe_due: false,
            asked: false,
            probes: 0,
        }
    }

    /// Number of queued bytes that belong to no segment yet.
    fn unassigned(&self) -> u64 {
        self.queue.end() - self.base - self.block.bytes
    }

    /// Frees the current block, which the peer has received completely.
    pub(super) fn release_block(&mut self) {
        self.base += self.block.bytes;
        self.queue.release(self.base);
        (self.block.bytes, self.acked) = (0, 0);
    }

    /// Whether this end's FIN is acknowledged.
    pub(super) fn fin_acked(&self) -> bool {
        self.fin_sent && self.block.is_complete()
    }
}

impl TpaEnd {
    /// Chooses the next segment (§3.2): first segments that timed out in the last round, then new ones, then
    /// segments that timed out in this round.
    pub(super) fn choose(&self) -> Option<Choice> {
        let block = &self.send.block;
        let again = block.current().map(Choice::Again);
        again.or_else(|| self.next_new()).or_else(|| block.upcoming().map(Choice::Again))
    }

    fn next_new(&self) -> Option<Choice> {
        let send = &self.send;
        let starts = send.block.is_complete();
        if send.block.has_ended() && !starts {
            return None;
        }
        let (position, mss) = if starts { (0, self.mss) } else { (send.block.count(), send.block.mss) };
        let waiting = send.unassigned();
        if waiting == 0 {
            let fin_due = self.life.is_closing() && !send.fin_sent;
            return fin_due.then_some(Choice::New { len: 0, last: true });
        }
        let len = u32::try_from(waiting).unwrap_or(u32::MAX).min(mss);
        let in_time = match self.config.fill {
            Fill::Segment => len == mss,
            Fill::Block => !starts || waiting >= self.block_bytes(),
        };
        if !in_time && !self.must_not_wait() {
            return None;
        }
        let is_rest = u64::from(len) == waiting;
        // A block that was not filled in time is sent incomplete; a FIN may follow in it.
        let cut_short = self.config.fill == Fill::Block && is_rest && !self.life.is_closing();
        let last = position + 1 == self.config.block_size || len < mss || cut_short;
        Some(Choice::New { len, last })
    }

    /// Whether a short segment waits for more data to fill it.
    pub(super) fn is_short(&self) -> bool {
        let send = &self.send;
        let (waiting, block) = (send.unassigned(), &send.block);
        let short = match self.config.fill {
            Fill::Segment if block.has_ended() => waiting < u64::from(self.mss),
            Fill::Segment => waiting < u64::from(block.mss),
            Fill::Block => block.has_ended() && waiting < self.block_bytes(),
        };
        waiting > 0 && short && !self.must_not_wait()
    }

    fn must_not_wait(&self) -> bool {
        self.send.flush || self.life.is_closing() || self.config.block_fill == Duration::ZERO
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.config.block_size) * u64::from(self.mss)
    }

    /// Gives the chosen segment its place in the block.
    pub(super) fn place(&mut self, choice: Choice) -> u8 {
        match choice {
            Choice::Again(position) => {
                if self.send.block.current().is_none() {
                    self.send.block.start_round();
                }
                position
            }
            Choice::New { len, last } => {
                if self.send.block.is_complete() {
                    self.start_block();
                }
                self.send.fin_sent |= len == 0;
                if last || self.config.fill == Fill::Segment {
                    // The remaining data waits for the fill timer again.
                    self.send.flush = false;
                    self.timers.stop(Timer::Fill);
                }
                self.send.block.add(len, last)
            }
        }
    }

    fn start_block(&mut self) {
        let send = &mut self.send;
        send.before = send.block.acked;
        send.block = Block::new(send.block.number + 1, self.mss);
        send.transmissions.start_block();
    }

    /// Segments that may be in flight.
    pub(super) fn allowed(&self) -> u8 {
        self.cwnd().min(u8::try_from(self.send.window).unwrap_or(u8::MAX))
    }

    /// Whether only the peer's closed window prevents a segment from leaving.
    pub(super) fn is_blocked(&self) -> bool {
        self.send.window == 0 && self.send.block.in_flight.is_empty() && self.choose().is_some()
    }

    /// Whether the peer owes an answer.
    pub(super) fn awaits_answer(&self) -> bool {
        self.unacked() > 0 || (self.life.is_closing() && !self.send.fin_acked()) || self.send.asked
    }
}
