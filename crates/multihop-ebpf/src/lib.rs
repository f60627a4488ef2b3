//! Congestion controls for multi-hop networks in the TCP of Linux.
//!
//! The controls are programs that the kernel runs (eBPF, struct_ops), in `bpf/`. This crate loads them: for the whole
//! machine (`load`) or for one program (`Run`), and reports what they do (`flows`). It gives the compiled programs to the
//! kernel itself, without libbpf and libelf: the kernel fits them to its own structures.

mod control;
mod error;
#[cfg(target_os = "linux")]
mod kernel;
mod records;

pub use control::{Control, Settings};
pub use error::TcpError;
#[cfg(target_os = "linux")]
pub use kernel::{Run, flows, is_loaded, load, terminate, unload};
pub use records::{Adtcp, KernelConnection, Reports, Sample, state_name};
