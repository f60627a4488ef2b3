//! Loads the programs into the kernel.

mod cgroup;
mod list;
mod machine;
mod programs;
mod rights;
mod run;

pub use list::flows;
pub use machine::{is_loaded, load, unload};
pub use run::{Run, terminate};
