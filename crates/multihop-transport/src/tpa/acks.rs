use multihop_core::{Duration, Instant};

/// Decides when the receiver acknowledges arrived segments (§3.6).
#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    /// Number of segments since the last ACK.
    pending: u8,
    /// `TxSeq` of the first segment that waits for an ACK.
    first: u8,
    /// `TxSeq` of the newest segment that arrived.
    newest: u8,
    due: Option<Due>,
    /// `TxSeq` of a segment of the previous block that arrived again.
    again: Option<u8>,
}

/// An ACK that is due.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Due {
    /// `TxSeq` of the segment that caused the ACK.
    pub(super) tx_seq: u8,
    /// Whether the interval timer caused the ACK.
    pub(super) held: bool,
}

impl Acks {
    pub(super) fn due(&self) -> Option<Due> {
        self.due
    }

    /// Counts new data; an ACK is due for every `limit` segments. Returns the latest instant for the ACK if it may
    /// wait.
    pub(super) fn on_new(
        &mut self,
        now: Instant,
        tx_seq: u8,
        limit: u8,
        interval: Duration,
    ) -> Option<Instant> {
        self.newest = tx_seq;
        self.pending = self.pending.saturating_add(1);
        if self.pending >= limit {
            self.ask(tx_seq);
            return None;
        }
        (self.pending == 1).then(|| {
            self.first = tx_seq;
            now + interval
        })
    }

    /// Requests an ACK at once, because of the transmission with this number.
    pub(super) fn ask(&mut self, tx_seq: u8) {
        self.newest = tx_seq;
        self.due = Some(Due { tx_seq, held: false });
    }

    /// Requests an ACK at once that names no transmission, because the newest segment may have waited and
    /// would be no valid sample.
    pub(super) fn ask_anyway(&mut self) {
        self.due.get_or_insert(Due { tx_seq: self.newest.wrapping_add(NAMES_NONE), held: false });
    }

    /// Makes an ACK due when the interval timer expires.
    pub(super) fn on_interval(&mut self) {
        if self.pending > 0 {
            self.due = Some(Due { tx_seq: self.first, held: true });
        }
    }

    /// Requests an ACK again, since a segment of the block before arrived again.
    pub(super) fn ask_again(&mut self, tx_seq: u8) {
        self.again = Some(tx_seq);
    }

    /// Removes and returns the `TxSeq` of a repeated segment of the previous block, which must be acknowledged.
    pub(super) fn take_again(&mut self) -> Option<u8> {
        self.again.take()
    }

    /// Records that an ACK of the current block has been sent.
    pub(super) fn on_sent(&mut self) {
        self.pending = 0;
        self.due = None;
    }
}

/// Distance from the newest `TxSeq` to a number that none of the last 128 transmissions used.
const NAMES_NONE: u8 = 128;
