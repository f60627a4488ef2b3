use super::control::CongestionControl;
use super::start::Start;
use super::window::Window;

/// NewReno (RFC 6582): a partial ACK shows the next lost segment, and fast recovery continues. The default methods of
/// the trait implement it.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    window: Window,
}

impl NewReno {
    pub(super) fn new(start: &Start) -> Self {
        Self { window: Window::new(start) }
    }
}

impl CongestionControl for NewReno {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}
