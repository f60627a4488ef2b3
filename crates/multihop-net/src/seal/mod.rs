//! The sealed way of talking, and the cookies that the plain way has as well.

pub(crate) mod cookie;
