//! Congestion controls for multi-hop networks in the TCP of Linux, as eBPF programs (struct_ops) that the kernel runs.
//!
//! | item | for |
//! |---|---|
//! | [`Control`], [`Settings`] | the four controls, and the bit rate of the links |
//! | `load`, `unload`, `is_loaded` | the controls for the whole machine |
//! | `Run` | one control for the connections of one program |
//! | `flows`, [`KernelConnection`] | the state of each connection that uses a control |
//! | [`Sample`] | each ACK of a traced program, and the sender's reaction |
//!
//! ```
//! use multihop_ebpf::Control;
//!
//! let names = Control::ALL.map(Control::name);
//! assert_eq!(names, ["mh_ap", "mh_clamp", "mh_mesh", "mh_adtcp"]);
//! ```
//!
//! Loading needs root's capabilities and a kernel with type information (BTF):
//!
//! ```no_run
//! # #[cfg(target_os = "linux")] {
//! use std::process::Command;
//! use multihop_ebpf::{Control, Run, Settings};
//!
//! let mut run = Run::new(Control::Ap, Settings { kbps: 6_000 }, false)?;
//! let mut child = run.spawn(Command::new("curl").arg("http://10.0.0.9/file"))?;
//! let status = run.wait(&mut child, |_| ())?;
//! assert!(status.success());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate gives the compiled programs, whose sources are in `bpf/`, to the kernel itself, without libbpf and libelf. It
//! neither compiles them nor changes routes or queues. It works on Linux only; elsewhere the types remain.

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
