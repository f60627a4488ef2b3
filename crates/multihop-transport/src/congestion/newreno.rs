use super::control::CongestionControl;
use super::start::Start;
use super::window::Window;

/// RFC 6582: a partial ACK shows the next hole, and recovery continues. All of it is in the defaults of the port.
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
