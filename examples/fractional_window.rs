//! A user-defined congestion control: NewReno whose window grows by a fraction of a segment in each round trip.
//!
//!     cargo run --release -p multihop-cli --example my_protocols -- run examples/fractional_window.toml
//!
//! After Nahm, Helmy and Kuo, TCP over Multihop 802.11 Networks, MobiHoc 2005. docs/extending.md explains the parts.

use multihop_core::Instant;
use multihop_core::settings::Settings;
use multihop_scenario::Extension;
use multihop_transport::congestion::{Ack, AckKind, CongestionConfig, CongestionControl, Window};

/// The name of the congestion control in scenarios.
pub(crate) const FRACTIONAL_WINDOW: Extension =
    Extension { name: "few", version: "1", help: "NewReno that grows by a fraction of a segment." };

/// The parameters of the congestion control.
#[derive(Clone, Debug, Settings)]
pub(crate) struct FractionalWindow {
    /// Growth of the window, segments per round trip.
    #[key(0.001..=1.0, default = 0.02)]
    growth: f64,
}

impl CongestionConfig for FractionalWindow {
    fn control(&self, window: Window) -> Box<dyn CongestionControl> {
        Box::new(Control { window, growth: self.growth, fraction: 0.0 })
    }
}

#[derive(Debug)]
struct Control {
    window: Window,
    growth: f64,
    /// Less than one byte by which the window has yet to grow.
    fraction: f64,
}

impl CongestionControl for Control {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        if ack.kind != AckKind::Normal || self.window.is_slow_start() {
            return self.window.on_ack(ack);
        }
        let part = f64::from(ack.acked) / f64::from(self.window.cwnd());
        self.fraction += self.growth * part * f64::from(self.window.mss());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounds down")]
        self.window.add(self.fraction as u32);
        self.fraction = self.fraction.fract();
    }
}
