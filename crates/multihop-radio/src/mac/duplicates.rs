//! Detection of frames received again because their ACK was lost.

use multihop_core::NodeId;

/// The last sequence number received from each neighbour.
#[derive(Clone, Debug, Default)]
pub(super) struct Duplicates {
    /// Sequence number of the last frame from each sender, in order of first contact. A linear search
    /// suffices, because a station has few neighbours.
    last: Vec<(NodeId, u16)>,
}

impl Duplicates {
    /// Records a frame; true if it is a duplicate.
    pub(super) fn seen(&mut self, from: NodeId, sequence: u16) -> bool {
        match self.last.iter_mut().find(|(node, _)| *node == from) {
            Some((_, last)) => std::mem::replace(last, sequence) == sequence,
            None => {
                self.last.push((from, sequence));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_number_of_each_sender_counts() {
        let mut d = Duplicates::default();
        assert!(!d.seen(NodeId(1), 5));
        assert!(d.seen(NodeId(1), 5));
        assert!(!d.seen(NodeId(2), 5));
        assert!(!d.seen(NodeId(1), 6));
        assert!(!d.seen(NodeId(1), 5));
    }
}
