//! Event queue in virtual time, with a total order of events.

mod deadlines;
mod key;

pub(crate) use deadlines::Deadlines;
pub(crate) use key::{Key, Rank};
