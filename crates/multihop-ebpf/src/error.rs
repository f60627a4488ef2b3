//! Why a control cannot be used.

use std::io;
use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// The kernel does not describe its types.
    #[error(
        "this kernel does not describe its types ({} is missing), which eBPF needs: CONFIG_DEBUG_INFO_BTF",
        .0.display()
    )]
    NoBtf(PathBuf),
    /// The kernel takes no congestion controls by eBPF.
    #[error(
        "this kernel takes no congestion controls by eBPF: Linux 6.1 or later with CONFIG_BPF_JIT is needed"
    )]
    NoStructOps,
    /// These capabilities are missing.
    #[error("not permitted: {0} needed; run it as root")]
    Rights(String),
    /// No hierarchy of cgroups of version 2 is mounted.
    #[error(
        "cgroups of version 2 are not mounted: mount -t cgroup2 none /sys/fs/cgroup/unified, or elsewhere"
    )]
    NoCgroups,
    /// The controls are there already.
    #[error("the controls are loaded already: multihop tcp unload removes them")]
    Loaded,
    /// There is nothing to remove.
    #[error("the controls are not loaded")]
    NotLoaded,
    /// The kernel refused a step.
    #[error("{step}: {reason}")]
    Kernel {
        /// What was tried.
        step: &'static str,
        /// The error that the kernel returned.
        reason: String,
    },
    /// A file or directory could not be used.
    #[error("{what}: {error}")]
    File {
        /// Which one, and for what.
        what: String,
        /// Why not.
        error: io::Error,
    },
}
