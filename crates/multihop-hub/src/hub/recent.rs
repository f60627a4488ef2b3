//! Recently sent datagrams: an ICMP report counts only if it quotes one of them.

use multihop_core::LostSegment;

/// The first bytes of the last datagrams, by which a quoted datagram is recognised.
#[derive(Debug, Default)]
pub(super) struct RecentDatagrams {
    all: [SentDatagram; KEPT],
    next: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct SentDatagram {
    start: [u8; START],
    len: u8,
    /// Segment in the datagram, if it contained data or FIN.
    segment: Option<LostSegment>,
}

impl RecentDatagrams {
    /// Records a sent datagram, and its segment if that has data or FIN.
    pub(super) fn push(&mut self, segment: Option<LostSegment>, datagram: &[u8]) {
        let len = datagram.len().min(START);
        let sent = &mut self.all[self.next];
        sent.start[..len].copy_from_slice(&datagram[..len]);
        sent.len = u8::try_from(len).unwrap_or(u8::MAX);
        sent.segment = segment;
        self.next = (self.next + 1) % KEPT;
    }

    /// `Some` if a datagram that starts with these bytes was sent recently; the inner value is its segment,
    /// if it contained data or FIN.
    pub(super) fn find(&self, quoted: &[u8]) -> Option<Option<LostSegment>> {
        let newest_first = (1..=KEPT).map(|back| &self.all[(self.next + KEPT - back) % KEPT]);
        newest_first
            .into_iter()
            .find(|sent| sent.len > 0 && sent.starts_with(quoted))
            .map(|sent| sent.segment)
    }
}

impl SentDatagram {
    /// Whether a datagram begins with the quoted bytes. A report of this system may quote nothing; then the
    /// newest datagram matches.
    fn starts_with(&self, quoted: &[u8]) -> bool {
        let len = quoted.len().min(usize::from(self.len));
        quoted[..len] == self.start[..len]
    }
}

/// Number of recent datagrams that are remembered: more than a window, its retransmissions and the ACKs in between.
const KEPT: usize = 16;
/// Length of a header, plain or encrypted, bytes.
const START: usize = 16;

#[cfg(test)]
mod tests {
    use multihop_core::SegmentId;

    use super::*;

    fn send(recent: &mut RecentDatagrams, position: u8) -> Vec<u8> {
        let segment = SegmentId::Tpa { block: 0xabc, position };
        let datagram = vec![position; 100];
        recent.push(Some(LostSegment { source: 7, destination: 9, segment }), &datagram);
        datagram
    }

    fn place(found: Option<Option<LostSegment>>) -> Option<(u16, u8)> {
        let Some(Some(lost)) = found else { return None };
        assert_eq!((lost.source, lost.destination), (7, 9));
        let SegmentId::Tpa { block, position } = lost.segment else { return None };
        Some((block, position))
    }

    #[test]
    fn a_quote_of_any_length_finds_the_newest_matching_datagram() {
        let mut recent = RecentDatagrams::default();
        assert_eq!(place(recent.find(&[])), None);
        let first = send(&mut recent, 0);
        send(&mut recent, 11);
        assert_eq!(place(recent.find(&first)), Some((0xabc, 0)));
        assert_eq!(place(recent.find(&first[..8])), Some((0xabc, 0)));
        assert_eq!(place(recent.find(&[])), Some((0xabc, 11)));
    }

    #[test]
    fn unknown_and_old_datagrams_are_not_found() {
        let mut recent = RecentDatagrams::default();
        let first = send(&mut recent, 0);
        let mut other = first.clone();
        other[0] ^= 1;
        assert!(recent.find(&other).is_none());
        for _ in 0..KEPT - 1 {
            send(&mut recent, 1);
        }
        assert!(recent.find(&first).is_some());
        send(&mut recent, 1);
        assert!(recent.find(&first).is_none());
    }

    #[test]
    fn a_segment_without_data_is_found_but_gives_no_notice() {
        let mut recent = RecentDatagrams::default();
        let datagram = [1; 12];
        recent.push(None, &datagram);
        assert!(matches!(recent.find(&datagram), Some(None)));
    }
}
