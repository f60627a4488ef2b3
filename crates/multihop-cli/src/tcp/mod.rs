//! `multihop tcp`: congestion controls in the kernel.

pub(crate) mod args;
#[cfg(all(target_os = "linux", feature = "tcp"))]
mod controls;

#[cfg(all(target_os = "linux", feature = "tcp"))]
pub(crate) use controls::tcp;

/// Without the controls there is only a message.
#[cfg(not(all(target_os = "linux", feature = "tcp")))]
pub(crate) fn tcp(_: &args::TcpArgs) -> Result<(), crate::CommandError> {
    let message = if cfg!(target_os = "linux") {
        "this multihop was built without the controls for the kernel, which need libelf and zlib: \
         cargo build --release -p multihop-cli --features tcp"
    } else {
        "controls for the kernel need Linux"
    };
    Err(anyhow::anyhow!(message).into())
}
