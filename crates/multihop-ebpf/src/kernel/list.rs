//! Listing of the connections that use the controls.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use super::programs::{FLOWS, LIST, MAP_SK_STORAGE, Programs};
use super::{sweep, syscall};
use crate::{KernelConnection, TcpError};

/// Lists the connections of all network namespaces, regardless of the process that loaded their control.
pub fn flows() -> Result<Vec<KernelConnection>, TcpError> {
    sweep();
    let loaded = Programs::open()?.only(&[LIST], &[]).load()?;
    let mut found = Vec::new();
    let name = syscall::name(FLOWS);
    for (_, map) in syscall::maps().filter(|(info, _)| info.kind == MAP_SK_STORAGE && info.name == name) {
        // A map of another version of the programs has an unknown format.
        let Ok(records) = syscall::iterate(loaded.program(LIST), map.as_fd()) else { continue };
        let mut bytes = Vec::new();
        let read = File::from(records).read_to_end(&mut bytes);
        read.map_err(|error| TcpError::File { what: "cannot list connections".to_owned(), error })?;
        found.extend(bytes.chunks(KernelConnection::LENGTH).filter_map(KernelConnection::parse));
    }
    found.sort_by_key(|one| (one.namespace, one.local, one.remote));
    Ok(found)
}
