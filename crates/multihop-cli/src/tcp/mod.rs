//! Implements `multihop tcp`: congestion controls in the kernel.

pub(crate) mod args;
#[cfg(target_os = "linux")]
mod controls;

#[cfg(target_os = "linux")]
pub(crate) use controls::tcp;

/// Controls for the kernel exist only for Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tcp(_: &args::TcpArgs) -> Result<(), crate::CommandError> {
    Err(anyhow::anyhow!("controls for the kernel need Linux").into())
}
