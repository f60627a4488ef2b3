//! Virtual time: what happens next, in a total order.

mod deadlines;

pub(crate) use deadlines::{Deadlines, Key, Rank};
