//! A SOCKS5 server (RFC 1928) with CONNECT and without authentication.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Refusal;
use super::address::Address;

/// Reads the target that a client requests. On failure the client has got its error reply.
pub(super) async fn request<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<Address> {
    if stream.read_u8().await? != VERSION {
        return Err(io::Error::other("the client does not use SOCKS5"));
    }
    let mut methods = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&WITHOUT_PASSWORD) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Err(io::Error::other("the client requires authentication, which is not supported"));
    }
    stream.write_all(&[VERSION, WITHOUT_PASSWORD]).await?;
    let [version, command, _] = [stream.read_u8().await?, stream.read_u8().await?, stream.read_u8().await?];
    if version != VERSION {
        return Err(io::Error::other("the client does not use SOCKS5"));
    }
    let wanted = Address::read(stream).await?;
    match wanted {
        _ if command != CONNECT => refuse(stream, Refusal::Command).await,
        Err(refusal) => refuse(stream, refusal).await,
        Ok(wanted) => Ok(wanted),
    }
}

/// Sends the client the result.
pub(super) async fn reply<S: AsyncWrite + Unpin>(stream: &mut S, met: Result<(), Refusal>) -> io::Result<()> {
    let number = met.map_or_else(|refusal| refusal as u8, |()| 0);
    // The bound address is not used by clients: 0.0.0.0, port 0.
    stream.write_all(&[VERSION, number, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

async fn refuse<S: AsyncWrite + Unpin>(stream: &mut S, refusal: Refusal) -> io::Result<Address> {
    reply(stream, Err(refusal)).await?;
    Err(io::Error::other(refusal))
}

const VERSION: u8 = 5;
const WITHOUT_PASSWORD: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
