//! The events of a run, for viewers.
//!
//! Without the feature `view`, [`View`] is empty and every call of it disappears.

#[cfg(not(feature = "view"))]
mod blind;
#[cfg(feature = "view")]
mod fields;
#[cfg(feature = "view")]
pub(crate) mod inputs;
#[cfg(feature = "view")]
mod log;

#[cfg(not(feature = "view"))]
pub(crate) use self::blind::View;
#[cfg(feature = "view")]
pub(crate) use self::log::View;
