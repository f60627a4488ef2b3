//! The connections that use the controls.

use std::io::Read;
use std::os::fd::AsFd;

use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{Iter, MapHandle, MapType};

use super::cgroup;
use super::programs::{FLOWS, LIST, Programs, program, refused};
use crate::{Connection, TcpError};

/// Lists the connections of all network namespaces, whoever loaded their control.
pub fn flows() -> Result<Vec<Connection>, TcpError> {
    cgroup::sweep();
    let object = Programs::open()?.only(&[LIST], &[])?.load()?;
    let mut found = Vec::new();
    for info in MapInfoIter::default().filter(|info| info.ty == MapType::SkStorage && info.name == FLOWS) {
        // A map can end between the two calls, and one of another version of the programs is of no use.
        let Ok(map) = MapHandle::from_map_id(info.id) else { continue };
        let Ok(link) = program(&object, LIST).attach_iter(map.as_fd()) else { continue };
        let mut bytes = Vec::new();
        let mut records = Iter::new(&link).map_err(|error| refused("cannot list connections", &error))?;
        let read = records.read_to_end(&mut bytes);
        read.map_err(|error| TcpError::File { what: "cannot list connections".to_owned(), error })?;
        found.extend(bytes.chunks(Connection::LENGTH).filter_map(Connection::parse));
    }
    found.sort_by_key(|one| (one.namespace, one.local, one.remote));
    Ok(found)
}
