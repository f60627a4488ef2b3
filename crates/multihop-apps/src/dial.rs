//! Opens a stream to a host by its name, trying its addresses.

use std::io;

use multihop_net::{Config, Stream};

use crate::tunnel::Address;

/// Opens a connection to a host by name: tries its addresses in order. The name is also the listener's name
/// in the list of known peers.
pub async fn dial(to: &Address, config: &Config) -> io::Result<Stream> {
    let name = to.to_string();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name resolves to no address");
    for addr in to.look_up().await? {
        match Stream::connect_as(&name, addr, config).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
