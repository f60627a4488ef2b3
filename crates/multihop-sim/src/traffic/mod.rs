//! Applications that a person uses: voice, web pages, video. Each is a state machine that determines when to
//! send how many bytes, and rates arriving data like a user. It is independent of the transport and the
//! network.

mod messages;
mod video;
mod voice;
mod web;

pub(crate) use messages::Messages;

use std::fmt::Debug;

use multihop_core::{Instant, Rng};
use multihop_scenario::App;

use crate::results::ApplicationResult;

/// Both ends of an application above one flow.
pub(crate) trait Application: Debug {
    /// Performs the step that is due now. Returns the bytes to send, and the instant of the next step.
    fn step(&mut self, now: Instant, rng: &mut Rng) -> Step;

    /// Handles bytes that the transport delivered in order. Returns the instant of a resulting step, if there
    /// is one.
    fn delivered(&mut self, _now: Instant, _bytes: u64, _rng: &mut Rng) -> Option<Instant> {
        None
    }

    /// A datagram that left at `sent` arrived.
    fn arrived(&mut self, _now: Instant, _sent: Instant) {}

    /// Restarts the measurements at the end of the warm-up.
    fn restart(&mut self, now: Instant);

    /// Quality of the application for its user, from the warm-up until `now`.
    fn result(&self, now: Instant) -> ApplicationResult;
}

/// Action of an application at one instant: bytes to send, and the next deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Step {
    /// Bytes that the application sends; 0 if it sends none.
    pub(crate) bytes: u64,
    /// Deadline of the application's next step, unless data arrives before.
    pub(crate) next: Option<Instant>,
}

/// The application of a flow, if it is interactive: voice, web or video.
pub(crate) fn application(app: &App) -> Option<Box<dyn Application>> {
    match app {
        App::Voice(params) => Some(Box::new(voice::Voice::new(*params))),
        App::Web(params) => Some(Box::new(web::Web::new(*params))),
        App::Video(params) => Some(Box::new(video::Video::new(*params))),
        _ => None,
    }
}
