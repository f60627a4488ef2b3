//! The duplicate set of protocols that flood messages (RFC 3626 §3.4, RFC 7181 §8).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;

use super::table;
use crate::steps;

/// Flooded messages that were received, by originator.
///
/// With one interface, a message that was received has also been processed and retransmitted. The interface
/// list and the retransmitted flag of the RFC are therefore not needed.
// DEVIATION olsr-4: A node remembers the last 32 sequence numbers of each originator, in place of a duplicate tuple
// per message (RFC 3626, 3.4; RFC 7181, 8). A message that is 32 numbers old counts as new.
#[derive(Clone, Debug, Default)]
pub struct Duplicates {
    list: Vec<Seen>,
    /// Lower bound of the instant at which a tuple expires, s.
    due: u32,
}

/// The messages received from one originator.
///
/// Packed to 14 bytes instead of 16: every node has an entry for every other node.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(2))]
struct Seen {
    originator: Ipv4Addr,
    /// Expiry, in seconds since the start.
    until: u32,
    window: Window,
}

/// The latest sequence number; bit n of `seen` stands for the n-th number before it. The bitmap covers the
/// messages that a node sends within the RFC's hold time: a HELLO every 1.5 s and a TC every 4.5 s are 27 in
/// 30 s.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(Rust, packed(2))]
struct Window {
    latest: u16,
    seen: u32,
}

impl Duplicates {
    /// Whether an originator is known, or may be added because fewer than `most` are known.
    pub fn admit(&mut self, originator: Ipv4Addr, sequence: u16, until: Instant) -> bool {
        let until = u32::try_from(until.as_nanos().div_ceil(SECOND)).unwrap_or(u32::MAX);
        self.due = self.due.min(until);
        match self.list.binary_search_by_key(&originator, |seen| seen.originator) {
            Ok(at) => {
                let window = self.list[at].window.with(sequence);
                if let Some(window) = window {
                    self.list[at] = Seen { originator, until, window };
                }
                window.is_some()
            }
            Err(at) => {
                let window = Window { latest: sequence, seen: 1 };
                table::insert(&mut self.list, at, Seen { originator, until, window });
                true
            }
        }
    }

    /// Whether an originator is known, or may be added to fewer than `most`.
    pub fn has_room(&self, originator: Ipv4Addr, most: usize) -> bool {
        let known = || self.list.binary_search_by_key(&originator, |seen| seen.originator).is_ok();
        self.list.len() < most || known()
    }

    /// Forgets originators whose latest message has expired.
    pub fn expire(&mut self, now: Instant) {
        let seconds = now.as_nanos() / SECOND;
        if seconds >= self.due.into() {
            steps::count(self.list.len());
            self.list.retain(|seen| seconds < seen.until.into());
            table::shrink(&mut self.list);
            self.due = self.list.iter().map(|seen| seen.until).min().unwrap_or(u32::MAX);
        }
    }
}

const SECOND: u64 = 1_000_000_000;

impl Window {
    /// The window with an additional number; `None` if the number is a duplicate.
    fn with(self, sequence: u16) -> Option<Self> {
        let ahead = sequence.wrapping_sub(self.latest);
        let behind = self.latest.wrapping_sub(sequence);
        if ahead == 0 {
            None
        } else if behind < WIDTH {
            let bit = 1 << behind;
            (self.seen & bit == 0).then_some(Self { seen: self.seen | bit, ..self })
        } else if ahead < WIDTH {
            Some(Self { latest: sequence, seen: self.seen << ahead | 1 })
        } else {
            // The number is far ahead, or the originator has restarted.
            Some(Self { latest: sequence, seen: 1 })
        }
    }
}

/// Number of bits in a window.
const WIDTH: u16 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_advance_wrap_and_restart() {
        let mut window = Window { latest: 0xfffe, seen: 1 };
        let mut sees = |sequence| window.with(sequence).inspect(|&with| window = with).is_some();
        assert!(sees(0xffff) && sees(1) && sees(0), "out of order, and across zero");
        assert!(!sees(0xfffe) && !sees(0xffff) && !sees(0) && !sees(1));
        assert!(sees(28));
        assert!(!sees(0xfffe) && sees(0xfffd), "30 and 31 behind");
        assert!(sees(0xfffc) && !sees(0xfffc), "32 behind counts as a restart");
        assert!(sees(5_000) && !sees(5_000));
        assert!(sees(5_031) && !sees(5_000), "31 behind");
    }
}
