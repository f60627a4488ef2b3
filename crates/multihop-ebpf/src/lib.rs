//! Congestion controls for multi-hop networks in the TCP of Linux.
//!
//! The controls are programs that the kernel runs (eBPF, struct_ops), in `bpf/`. With the feature `kernel` this crate
//! loads them: for the whole machine (`load`) or for one program (`Run`), and tells what they do (`flows`).
//! Without it, it has only what they share with their readers.

mod control;
mod error;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod kernel;
mod records;

pub use control::{Control, Settings};
pub use error::TcpError;
#[cfg(all(target_os = "linux", feature = "kernel"))]
pub use kernel::{Run, flows, is_loaded, load, terminate, unload};
pub use records::{Adtcp, Connection, Reports, Sample, state_name};
