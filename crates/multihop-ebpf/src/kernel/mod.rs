//! Loading of the programs into the kernel.

mod btf;
mod cgroup;
mod controls;
mod elf;
mod list;
mod machine;
mod programs;
mod rights;
mod ring;
mod run;
mod syscall;

pub use list::flows;
pub use machine::{is_loaded, load, unload};
pub use run::{Run, terminate};

/// Removes controls and cgroups of commands that were killed.
fn sweep() {
    controls::sweep();
    cgroup::sweep();
}
