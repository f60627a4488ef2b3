//! Errors of loading and using the controls.

use std::io;
use std::path::PathBuf;

/// Error of loading, running or reading the controls.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// The kernel provides no descriptions of its types (BTF).
    #[error(
        "eBPF needs the kernel's types ({} is missing): use a kernel with CONFIG_DEBUG_INFO_BTF",
        .0.display()
    )]
    NoBtf(PathBuf),
    /// The kernel does not support congestion controls in eBPF (struct_ops).
    #[error(
        "this kernel takes no congestion controls by eBPF: Linux 6.1 or later with CONFIG_BPF_JIT is needed"
    )]
    NoStructOps,
    /// The user lacks these capabilities.
    #[error("not permitted: {0} needed; run it as root")]
    Rights(String),
    /// No hierarchy of cgroups of version 2 is mounted.
    #[error(
        "cgroups of version 2 are not mounted: mount -t cgroup2 none /sys/fs/cgroup/unified, or elsewhere"
    )]
    NoCgroups,
    /// The controls are loaded already.
    #[error("the controls are loaded already: multihop tcp unload removes them")]
    Loaded,
    /// No controls are loaded that could be removed.
    #[error("the controls are not loaded")]
    NotLoaded,
    /// The kernel forbids a program although the user has the capabilities.
    #[error("this kernel forbids the program {program}: {error}")]
    Forbidden {
        /// Name of the program.
        program: String,
        /// The error that the kernel returned.
        error: io::Error,
    },
    /// The kernel refused a step of loading.
    #[error("{step}: {reason}")]
    Kernel {
        /// Name of the step that failed.
        step: &'static str,
        /// The error that the kernel returned.
        reason: String,
    },
    /// A file or directory could not be used.
    #[error("{what}: {error}")]
    File {
        /// Name of the file or directory, and its purpose.
        what: String,
        /// Reason for which the file or directory could not be used.
        error: io::Error,
    },
}
