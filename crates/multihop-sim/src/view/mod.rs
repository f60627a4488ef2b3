//! Log of the events of a run, for viewers. Without the feature `view`, [`View`] is empty and every call
//! compiles to nothing.

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
