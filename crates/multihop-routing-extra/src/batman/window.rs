//! Window of the latest originator messages of a neighbour that arrived.

use super::wire::Seqno;

/// Window of the last [`Window::SIZE`] numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    latest: Seqno,
    /// Bitmap of recent numbers; the lowest bit is the latest number.
    bits: u64,
}

impl Window {
    pub(super) const SIZE: u32 = 64;

    /// Records the arrival of a sequence number.
    pub(super) fn note(&mut self, seqno: Seqno) {
        self.advance(seqno);
        let behind = u32::from(self.latest.since(seqno).unsigned_abs());
        self.bits |= 1_u64.checked_shl(behind).unwrap_or(0);
    }

    /// Moves the window forward to a newer number. A far older number means that the sender has restarted.
    pub(super) fn advance(&mut self, seqno: Seqno) {
        let ahead = seqno.since(self.latest);
        if ahead > 0 || i32::from(ahead) <= -FAR {
            let shift = u32::from(ahead.unsigned_abs());
            self.bits = if ahead > 0 { self.bits.checked_shl(shift).unwrap_or(0) } else { 0 };
            self.latest = seqno;
        }
    }

    /// Number of messages within the window that arrived.
    pub(super) const fn count(&self) -> u32 {
        self.bits.count_ones()
    }
}

/// Largest plausible age of a sequence number; older ones come from a restarted node.
const FAR: i32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_the_window_are_counted_once() {
        let mut window = Window::default();
        for seqno in [65_534, 65_535, 1, 1, 65_535] {
            window.note(Seqno(seqno));
        }
        assert_eq!(window.count(), 3, "numbers wrap, and repeated ones count once");
        window.advance(Seqno(62));
        assert_eq!(window.count(), 2, "65534 is 64 numbers behind");
    }

    #[test]
    fn a_restarted_node_begins_anew() {
        let mut window = Window::default();
        window.note(Seqno(5000));
        window.note(Seqno(4990));
        assert_eq!(window.count(), 2);
        window.note(Seqno(1));
        assert_eq!(window.count(), 1);
    }
}
