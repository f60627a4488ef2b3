//! Parsers of options' values that the commands for scenarios and for real networks share.

use std::num::NonZeroUsize;

use multihop_core::Duration;
use multihop_sim::CaptureFilter;

/// A time in seconds.
pub(crate) fn positive_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
    let seconds = seconds.map(Duration::from_secs_f64).unwrap_or_default();
    if seconds > Duration::ZERO { Ok(seconds) } else { Err("allowed: a number above 0".to_owned()) }
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "allowed: a number from 0".to_owned())
}

/// Number of bytes captured of each packet (snap length).
pub(crate) fn snap_length(text: &str) -> Result<u32, String> {
    let length = text.parse().ok().filter(|length| *length >= CaptureFilter::MIN_LENGTH);
    length.ok_or_else(|| format!("allowed: a whole number from {}", CaptureFilter::MIN_LENGTH))
}

pub(crate) fn from_zero(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "allowed: a whole number from 0".to_owned())
}

pub(crate) fn from_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "allowed: a whole number from 1".to_owned())
}

pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("no equals sign, allowed: KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
