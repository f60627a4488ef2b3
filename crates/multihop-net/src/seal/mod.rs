//! The sealed way of talking, and the cookies that the plain way has as well.

#[cfg_attr(not(test), expect(dead_code, reason = "listeners ask for cookies next"))]
pub(crate) mod cookie;
