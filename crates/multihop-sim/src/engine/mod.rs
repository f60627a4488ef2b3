//! Virtual time: events in a total order.

mod deadlines;

pub(crate) use deadlines::{Deadlines, Key, Rank};
