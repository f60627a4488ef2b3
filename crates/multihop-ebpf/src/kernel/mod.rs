//! Loads the programs into the kernel.

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

/// Removes what killed commands have left: controls and cgroups.
fn sweep() {
    controls::sweep();
    cgroup::sweep();
}
