//! Congestion control: how much may be in flight.
//!
//! A congestion control is a file that implements [`Policy`], and a row of the table below.

mod adtcp;
mod bbr;
mod control;
mod cubic;
mod hystart;
mod newreno;
mod prague;
mod reno;
mod start;
mod vegas;
mod westwood;
mod window;

pub(crate) use control::{Ack, AckKind, Policy, Sample};
pub(crate) use start::Start;
pub use start::{Halving, NewRenoConfig, PartialAckTimer, RecoveryExit};

/// Makes [`Variant`] and [`Congestion`] from rows of: description, variant, type, name in scenarios.
macro_rules! policies {
    ($($(#[$about:meta])* $variant:ident($policy:ty) $name:literal,)*) => {
        /// Congestion control variants.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum Variant {
            $($(#[$about])* $variant,)*
        }

        impl Variant {
            /// All of them, each with its name in scenarios.
            pub const ALL: &[(&'static str, Self)] = &[$(($name, Self::$variant),)*];

            /// Whether it answers each mark a little (RFC 9331), and so needs to know how many there are.
            pub const fn is_scalable(self) -> bool {
                matches!(self, Self::Prague)
            }

            /// Whether it needs to know how fast data is delivered.
            pub const fn measures_rates(self) -> bool {
                matches!(self, Self::Bbr | Self::Bbr3)
            }
        }

        /// The policy in use.
        #[derive(Debug)]
        pub(crate) enum Congestion {
            $($variant($policy),)*
            #[cfg(test)]
            Fake(fake::Fake),
        }

        impl Congestion {
            pub(crate) fn new(variant: Variant, start: &Start) -> Self {
                match variant {
                    $(Variant::$variant => Self::$variant(<$policy>::new(start)),)*
                }
            }

            pub(crate) fn policy(&self) -> &dyn Policy {
                match self {
                    $(Self::$variant(policy) => policy,)*
                    #[cfg(test)]
                    Self::Fake(policy) => policy,
                }
            }

            pub(crate) fn policy_mut(&mut self) -> &mut dyn Policy {
                match self {
                    $(Self::$variant(policy) => policy,)*
                    #[cfg(test)]
                    Self::Fake(policy) => policy,
                }
            }
        }
    };
}

policies! {
    /// Fast retransmit and fast recovery of RFC 5681.
    Reno(reno::Reno) "reno",
    /// RFC 6582.
    NewReno(newreno::NewReno) "newreno",
    /// RFC 9438.
    Cubic(cubic::Cubic) "cubic",
    /// Brakmo and Peterson: the window follows the amount of data in queues.
    Vegas(vegas::Vegas) "vegas",
    /// Westwood+: after a loss the window is the measured rate times the shortest round trip.
    Westwood(westwood::Westwood) "westwood",
    /// BBR version 1: bandwidth and shortest round trip decide.
    Bbr(bbr::Bbr) "bbr",
    /// BBR version 3: the same within bounds that losses set.
    Bbr3(bbr::Bbr3) "bbr3",
    /// The window shrinks by half the share of marked segments (L4S).
    Prague(prague::Prague) "prague",
    /// NewReno whose receiver reports why packets are lost. Needs timestamps.
    Adtcp(adtcp::Adtcp) "adtcp",
}

#[cfg(test)]
pub(crate) mod fake;

#[cfg(test)]
mod tests;
