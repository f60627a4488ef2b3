//! Congestion control: how many bytes may be in flight, and at what rate they leave.
//!
//! [`CongestionControl`] is its interface. TCP's built-in controls implement it, and a user-defined control
//! is used in their place: [`Algorithm`] in [`tcp::Config`](crate::tcp::Config) selects one. A built-in
//! control is a file here and a row of the table below.
//!
//! `mesh` has its own control (`mesh/control.rs`), with other inputs and outputs. Its window may be less than
//! one segment, its main answer is the time between two segments, and it also decides how many segments one
//! ACK covers and when to pause so that queues run empty. Its main signal is the queueing delay of data,
//! which `mesh`'s receiver measures and reports in each ACK; it takes no loss as a signal. Under this
//! interface it would need a report of one-way queueing delay in [`Ack`], windows as fractions of a segment,
//! and answers for ACK frequency and pauses, all of which TCP can neither provide nor use.

mod adtcp;
mod algorithm;
mod bbr;
mod control;
mod cubic;
mod hystart;
mod newreno;
mod prague;
mod reno;
mod signals;
pub(crate) mod start;
mod vegas;
mod westwood;
mod window;

use alloc::boxed::Box;

pub use algorithm::{Algorithm, Custom};
pub use control::{CloneConfig, CongestionConfig, CongestionControl};
pub(crate) use cubic::{ALPHA, Epoch};
pub use signals::{Ack, AckKind, LostFlight, RateSample, Signals};
pub(crate) use start::Start;
pub use window::{Share, Window};

/// Makes [`Variant`] and [`Congestion`] from rows of: description, variant, type, name in scenarios.
macro_rules! controls {
    ($($(#[$about:meta])* $variant:ident($control:ty) $name:literal,)*) => {
        /// The built-in congestion controls.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum Variant {
            $($(#[$about])* $variant,)*
        }

        impl Variant {
            /// All controls, each with its name in scenarios.
            pub const ALL: &[(&'static str, Self)] = &[$(($name, Self::$variant),)*];
        }

        /// The congestion control in use.
        #[derive(Debug)]
        pub(crate) enum Congestion {
            $($variant($control),)*
            Custom(Box<dyn CongestionControl>),
        }

        impl Congestion {
            pub(crate) fn new(algorithm: &Algorithm, start: &Start) -> Self {
                match algorithm {
                    $(Algorithm::BuiltIn(Variant::$variant) => Self::$variant(<$control>::new(start)),)*
                    Algorithm::Custom(custom) => Self::Custom(custom.config().control(Window::new(start))),
                }
            }

            pub(crate) fn boxed(self) -> Box<dyn CongestionControl> {
                match self {
                    $(Self::$variant(control) => Box::new(control),)*
                    Self::Custom(control) => control,
                }
            }

            pub(crate) fn control(&self) -> &dyn CongestionControl {
                match self {
                    $(Self::$variant(control) => control,)*
                    Self::Custom(control) => &**control,
                }
            }

            pub(crate) fn control_mut(&mut self) -> &mut dyn CongestionControl {
                match self {
                    $(Self::$variant(control) => control,)*
                    Self::Custom(control) => &mut **control,
                }
            }
        }
    };
}

controls! {
    /// Fast retransmit and fast recovery of RFC 5681.
    Reno(reno::Reno) "reno",
    /// NewReno: partial ACKs continue fast recovery (RFC 6582).
    NewReno(newreno::NewReno) "newreno",
    /// CUBIC: the window is a cubic function of the time since the last loss (RFC 9438).
    Cubic(cubic::Cubic) "cubic",
    /// Vegas (Brakmo and Peterson): the window follows the amount of data in queues.
    Vegas(vegas::Vegas) "vegas",
    /// Westwood+: after a loss the window is the measured rate times the shortest round trip.
    Westwood(westwood::Westwood) "westwood",
    /// BBR version 1: the window follows bandwidth and shortest round trip.
    Bbr(bbr::Bbr) "bbr",
    /// BBR version 3: like version 1, within bounds that losses set.
    Bbr3(bbr::Bbr3) "bbr3",
    /// Prague (L4S): the window shrinks by half the share of marked segments.
    Prague(prague::Prague) "prague",
    /// NewReno with a receiver that reports the causes of losses. Needs timestamps.
    Adtcp(adtcp::Adtcp) "adtcp",
}

impl Variant {
    /// The signals that the control needs and that cost something to provide.
    pub const fn signals(self) -> Signals {
        Signals {
            rates: matches!(self, Self::Bbr | Self::Bbr3),
            marks: matches!(self, Self::Prague),
            notices: false,
        }
    }
}

#[cfg(test)]
mod tests;
