//! Quality of the links to neighbours in both directions, measured by originator messages.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use super::window::Window;
use super::wire::Seqno;

/// Neighbours, sorted by address.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkHistories {
    list: Vec<LinkHistory>,
}

#[derive(Clone, Debug)]
struct LinkHistory {
    neighbour: Ipv4Addr,
    /// Window of the neighbour's own messages that arrived.
    heard: Window,
    /// Window of this node's messages that the neighbour sent back.
    echoed: Window,
}

impl LinkHistories {
    /// Records a neighbour's own message.
    pub(super) fn hear(&mut self, neighbour: Ipv4Addr, seqno: Seqno) {
        if let Some(link) = self.entry(neighbour) {
            link.heard.note(seqno);
        }
    }

    /// Records that a neighbour sent back a message of this node.
    pub(super) fn echo(&mut self, neighbour: Ipv4Addr, seqno: Seqno) {
        if let Some(link) = self.entry(neighbour) {
            link.echoed.note(seqno);
        }
    }

    /// Records that this node sends an own message with this number.
    pub(super) fn advance(&mut self, seqno: Seqno) {
        self.list.iter_mut().for_each(|link| link.echoed.advance(seqno));
    }

    /// Transmit quality to the neighbour, of 255; 0 if the link is unusable.
    ///
    /// Estimated as the share of this node's messages that the neighbour echoes, divided by the share of the
    /// neighbour's own messages that arrive. Asymmetric links are penalised, because acknowledgements must arrive as
    /// well.
    pub(super) fn quality(&self, neighbour: Ipv4Addr) -> u32 {
        let Ok(at) = self.place(neighbour) else { return 0 };
        let (heard, echoed) = (self.list[at].heard.count(), self.list[at].echoed.count());
        let Some(there) = (FULL * echoed.min(heard)).checked_div(heard) else { return 0 };
        let missed = Window::SIZE - heard;
        let penalty = FULL * missed.pow(3) / Window::SIZE.pow(3);
        there * (FULL - penalty) / FULL
    }

    fn place(&self, neighbour: Ipv4Addr) -> Result<usize, usize> {
        self.list.binary_search_by_key(&neighbour, |link| link.neighbour)
    }

    fn entry(&mut self, neighbour: Ipv4Addr) -> Option<&mut LinkHistory> {
        let at = match self.place(neighbour) {
            Ok(at) => at,
            Err(_) if self.list.len() >= MAX_LINKS => return None,
            Err(at) => {
                let (heard, echoed) = (Window::default(), Window::default());
                self.list.insert(at, LinkHistory { neighbour, heard, echoed });
                at
            }
        };
        Some(&mut self.list[at])
    }
}

/// Quality value of a path without losses.
pub(super) const FULL: u32 = 255;
/// Largest number of neighbours. It exceeds the number that a radio hears, and limits the memory.
const MAX_LINKS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const B: Ipv4Addr = Ipv4Addr::LOCALHOST;

    /// Link quality after many sequence numbers, if every `arrive`-th message of the neighbour arrives and
    /// every `back`-th message of this node is echoed.
    fn quality(arrive: u16, back: u16) -> u32 {
        let mut links = LinkHistories::default();
        for n in 0..=64 {
            links.advance(Seqno(n));
            if n % arrive == 0 {
                links.hear(B, Seqno(n));
            }
            if n % back == 0 {
                links.echo(B, Seqno(n));
            }
        }
        links.quality(B)
    }

    #[test]
    fn quality_is_what_comes_back_of_what_would_arrive() {
        assert_eq!(quality(1, 1), 255);
        assert_eq!(quality(1, 2), 127, "half of this node's messages reach the neighbour");
        assert_eq!(quality(2, 2), 224, "all reach it, and half of its own arrive: 255 * (1 - 1/8)");
        assert_eq!(quality(4, 1), 148, "not better than full: 255 * (1 - 27/64)");
        assert_eq!(LinkHistories::default().quality(B), 0);
    }
}
