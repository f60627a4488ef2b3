//! Connecting by host name.

use std::io;

use crate::config::Config;
use crate::stream::TpaStream;
use crate::tunnel::Address;

/// Opens a connection to a host by name: tries its addresses in order.
pub async fn dial(to: &Address, config: &Config) -> io::Result<TpaStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name resolves to no address");
    for addr in to.look_up().await? {
        match TpaStream::connect(addr, config).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
