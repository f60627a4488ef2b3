//! Stand-in for the viewer's log in builds without the feature `view`: every method is empty and costs nothing.

use multihop_core::{FlowId, Instant, Interface, NodeId};
use multihop_radio::frame::Frame;
use multihop_radio::mac::Access;
use multihop_radio::phy::Verdict;

use crate::observe::Sent;
use crate::packet::{Packet, Pool};
use crate::signals::Reception;
use crate::trace::Event;

/// Viewer in a build without the feature `view`: it ignores every report.
#[derive(Default)]
pub(crate) struct View;

#[expect(clippy::needless_pass_by_ref_mut, reason = "the signatures of `log::View`")]
impl View {
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn is_detailed(&self) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn packet(&mut self, _: Instant, _: NodeId, _: &Packet, _: Event) {}

    #[inline(always)]
    pub(crate) fn frame(&mut self, _: Instant, _: NodeId, _: &Sent<'_>, _: &Pool) {}

    #[inline(always)]
    pub(crate) fn ended(
        &mut self,
        _: Instant,
        _: (Interface, NodeId),
        _: &Frame,
        _: Verdict,
        _: impl FnOnce() -> Option<Reception>,
    ) {
    }

    #[inline(always)]
    pub(crate) fn collided(&mut self, _: Instant, _: (Interface, NodeId), _: &Frame) {}

    #[inline(always)]
    pub(crate) fn access(&mut self, _: Instant, _: (Interface, NodeId), _: impl FnOnce() -> Access) {}

    #[inline(always)]
    pub(crate) fn timeouts(&mut self, _: Instant, _: FlowId, _: impl FnOnce() -> u64) {}

    #[inline(always)]
    pub(crate) fn delivered(&mut self, _: Instant, _: FlowId, _: u64) {}
}
