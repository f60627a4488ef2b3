//! Undoing unnecessary reductions of the window, as in Linux. Evidence is that all retransmitted data is
//! reported as duplicate (RFC 3708), that an ACK echoes a time before the first retransmission (Eifel, RFC
//! 3522 and 4015), or that data arrives after a timeout without having been retransmitted (F-RTO, RFC 5682).

use multihop_core::Instant;
use multihop_wire::tcp::Segment;

use super::TcpEnd;
use crate::congestion::AckKind;

/// Window before the last reduction, and the evidence for or against the reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    cwnd: u32,
    ssthresh: u32,
    /// Position below which duplicates are no evidence (`undo_marker`).
    from: u64,
    /// Number of retransmissions without a reported duplicate; unknown before the first one (`undo_retrans`).
    open: Option<u32>,
    /// The timestamp of the first retransmission (`retrans_stamp`).
    first: Option<u32>,
    /// Whether a timeout caused the reduction.
    by_timeout: bool,
    probe: Frto,
}

/// Stage of F-RTO (RFC 5682), which finds out whether a timeout was necessary.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Frto {
    /// Detection is over, or no timeout has occurred.
    Off,
    /// The first segment was retransmitted; the next ACK of new data continues the detection.
    Resent,
    /// New data is sent instead of retransmissions until the next ACK.
    SendsNew,
    /// New data was sent. Its ACK shows whether the timeout was spurious.
    SentNew,
}

impl Undo {
    /// Counts a retransmitted segment with this timestamp.
    pub(super) fn on_resent(&mut self, timestamp: u32) {
        self.open = Some(self.open.unwrap_or(0) + 1);
        self.first.get_or_insert(timestamp);
    }

    /// Records a D-SACK: the peer received the range from `start` to `end` twice.
    pub(super) fn on_duplicate(&mut self, (start, end): (u64, u64), mss: u32) {
        if end > self.from {
            let segments = u32::try_from((end - start).div_ceil(u64::from(mss))).unwrap_or(u32::MAX);
            self.open = self.open.map(|open| open.saturating_sub(segments));
        }
    }

    /// Whether new data leaves before lost data is retransmitted.
    pub(super) fn prefers_new(&self) -> bool {
        self.probe == Frto::SendsNew
    }

    fn is_older(&self, echo: Option<u32>) -> bool {
        self.first.is_none_or(|first| echo.is_some_and(|echo| echo.wrapping_sub(first).cast_signed() < 0))
    }
}

impl TcpEnd {
    /// Records the state before losses reduce the window.
    pub(super) fn note_reduction(&mut self) {
        if !self.config.undo || !self.uses_rack() {
            return;
        }
        let window = self.congestion.control().window();
        let (cwnd, ssthresh) = (window.cwnd(), window.ssthresh());
        let resent = self.transmissions.as_ref().map_or(0, |sent| sent.resent());
        self.undo = Some(Undo {
            cwnd,
            ssthresh: ssthresh.max(cwnd / 4 * 3),
            from: self.send.una,
            open: u32::try_from(resent).ok().filter(|&resent| resent > 0),
            first: None,
            by_timeout: false,
            probe: Frto::Off,
        });
    }

    /// Records the state before a timeout reduces the window. `again` if the timeout follows another one without an
    /// ACK in between, `was_whole` if no recovery was under way, `recovered` if fast recovery was.
    pub(super) fn note_reduction_by_timeout(&mut self, was_whole: bool, recovered: bool, again: bool) {
        if was_whole || (!recovered && !again) {
            self.note_reduction();
        }
        if let Some(undo) = &mut self.undo {
            undo.by_timeout = true;
            undo.probe = if was_whole || again { Frto::Resent } else { Frto::Off };
        }
    }

    /// Examines an ACK for evidence that the last reduction was unnecessary, and undoes the reduction.
    /// `news`: SACK has reported new information.
    pub(super) fn undo_needless_reduction(
        &mut self,
        now: Instant,
        segment: &Segment,
        kind: Option<AckKind>,
        news: bool,
    ) {
        let (Some(undo), Some(sent)) = (self.undo, &self.transmissions) else { return };
        let is_partial = kind == Some(AckKind::Partial);
        let repairs = is_partial || kind == Some(AckKind::Full) || undo.by_timeout;
        let echo = segment.options.timestamps.map(|stamps| stamps.echo);
        let is_delayed =
            kind.is_some() && repairs && undo.is_older(echo) && !(is_partial && sent.resent() > 0);
        let is_original =
            undo.probe != Frto::Off && sent.original().is_some_and(|end| end <= self.recovery.recover);
        if undo.open == Some(0) || is_delayed || is_original {
            return self.undo(now, &undo, undo.by_timeout || (is_delayed && is_partial));
        }
        self.advance_frto(kind.is_some(), news);
    }

    /// Advances the stage of F-RTO after an ACK that did not undo the reduction.
    fn advance_frto(&mut self, is_new: bool, news: bool) {
        let is_whole = self.send.una >= self.recovery.recover;
        let has_new = self.send.next < self.send.queue.end();
        let Some(undo) = &mut self.undo else { return };
        if is_whole {
            (undo.by_timeout, undo.probe) = (false, Frto::Off);
        }
        undo.probe = match undo.probe {
            // RFC 5682 §3.1, steps 2b and 3a
            Frto::Resent if is_new => {
                if has_new {
                    Frto::SendsNew
                } else {
                    Frto::Off
                }
            }
            Frto::SendsNew | Frto::SentNew if news => Frto::Off,
            Frto::SendsNew => Frto::SentNew,
            other => other,
        };
    }

    /// Restores the window before the reduction. If `marks_in_flight`, all segments marked as lost count as in flight
    /// again.
    fn undo(&mut self, now: Instant, undo: &Undo, marks_in_flight: bool) {
        self.undo = None;
        self.counters.undone += 1;
        if marks_in_flight && let Some(sent) = &mut self.transmissions {
            sent.find_all();
        }
        self.congestion.control_mut().on_undo(now, undo.cwnd, undo.ssthresh);
        self.recovery.leave();
        self.recovery.recover = self.recovery.recover.min(self.send.una);
    }

    /// Counts a retransmitted segment.
    pub(super) fn count_resent(&mut self, now: Instant) {
        let timestamp = self.timestamp(now);
        if let Some(undo) = &mut self.undo {
            undo.on_resent(timestamp);
        }
    }
}
