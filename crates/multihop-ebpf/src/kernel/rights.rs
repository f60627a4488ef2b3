//! Checks that the kernel has the needed features, and the user the needed capabilities.

use std::fs;
use std::path::Path;

use super::btf::{Btf, STRUCT};
use crate::TcpError;

/// Finds out whether the programs can be loaded at all; returns the kernel's descriptions of its types.
pub(super) fn check() -> Result<Vec<u8>, TcpError> {
    let file = Path::new("/sys/kernel/btf/vmlinux");
    check_types(file)?;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    check_capabilities(&status)?;
    let bytes = fs::read(file);
    let bytes =
        bytes.map_err(|error| TcpError::File { what: format!("cannot read {}", file.display()), error })?;
    let types = Btf::parse(&bytes).ok_or(TcpError::NoStructOps)?;
    types.find(STRUCT, STRUCT_OPS).ok_or(TcpError::NoStructOps)?;
    Ok(bytes)
}

fn check_types(file: &Path) -> Result<(), TcpError> {
    if file.exists() { Ok(()) } else { Err(TcpError::NoBtf(file.to_owned())) }
}

fn check_capabilities(status: &str) -> Result<(), TcpError> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    let missing: Vec<_> =
        CAPABILITIES.iter().filter(|(_, bit)| effective >> bit & 1 == 0).map(|(name, _)| *name).collect();
    match missing.as_slice() {
        [] => Ok(()),
        [one] => Err(TcpError::Rights(format!("{one} is"))),
        [some @ .., last] => Err(TcpError::Rights(format!("{} and {last} are", some.join(", ")))),
    }
}

/// Type that the kernel's BTF contains if the kernel supports congestion controls by struct_ops.
pub(super) const STRUCT_OPS: &str = "bpf_struct_ops_tcp_congestion_ops";
/// Required capabilities: for loading programs and maps, for their access to sockets, for reading connections, for
/// finding maps, and for the mount of `load`.
const CAPABILITIES: [(&str, u32); 4] =
    [("CAP_BPF", 39), ("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38), ("CAP_SYS_ADMIN", 21)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_types_is_told_apart() {
        let message =
            check_types(Path::new("/nowhere/vmlinux")).expect_err("there is no such file").to_string();
        assert_eq!(
            message,
            "eBPF needs the kernel's types (/nowhere/vmlinux is missing): use a kernel with \
             CONFIG_DEBUG_INFO_BTF"
        );
    }

    #[test]
    fn missing_capabilities_are_named() {
        let said = |status: &str| check_capabilities(status).map_err(|error| error.to_string());
        assert_eq!(said("CapEff:\t000001ffffffffff"), Ok(()));
        // All capabilities except CAP_NET_ADMIN are present.
        assert_eq!(
            said("CapEff:\t000001ffffffefff"),
            Err("not permitted: CAP_NET_ADMIN is needed; run it as root".into())
        );
        let all =
            "not permitted: CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and CAP_SYS_ADMIN are needed; run it as root";
        assert_eq!(said("Name:\tx\nCapEff:\t0000000000000000"), Err(all.into()));
        assert_eq!(said(""), Err(all.into()));
    }
}
