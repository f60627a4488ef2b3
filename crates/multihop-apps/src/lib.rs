//! Programs over streams of [`multihop_net`].

mod frames;
mod interfaces;

#[cfg(unix)]
pub mod bridge;
pub mod code;
mod dial;
pub mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod perf;
pub mod text;
pub mod tunnel;

pub use dial::dial;
pub use interfaces::reachable_at;
