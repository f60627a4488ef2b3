//! BBR: the window and the rate follow a model of the path, its bandwidth and its shortest round trip. This
//! module has the parts that both versions share. Rates are bytes per second, gains thousandths.
//!
//! Both versions share what is here. Rates are bytes per second, gains thousandths.

mod filter;
mod path;
mod v1;
mod v3;

#[cfg(test)]
mod tests;

pub(super) use v1::Bbr;
pub(super) use v3::Bbr3;
