//! Transfers by a short code that one person reads to another.
//!
//! The end with the files is an [`Offer`] and shows its [`Code`]; the other end [`redeem`]s it. They first
//! connect with encryption but without authentication. Then each proves to the other that it has the code, by
//! CPace, bound to this connection. The modules `exchange` and `seek` have the bytes.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use multihop_net::{Config, Security, Stream, Token};
use tokio::time::timeout;

use self::exchange::refusal;
use self::seek::Place;
use crate::tunnel::Address;

mod cpace;
mod exchange;
mod guesses;
mod offer;
mod seek;
mod words;

pub use offer::{Ended, Offer};
pub use words::{Code, CodeError};

/// Connects to the end that offers a code, at one of these addresses or, without addresses, in the local
/// network.
pub async fn redeem(code: &Code, at: Option<&Address>, config: Config) -> io::Result<Stream> {
    let places = match at {
        Some(address) => {
            let found = address.look_up().await?;
            found.into_iter().map(|addr| Place { addr, offer: None }).collect()
        }
        None => seek::seek(code, &seek::local_networks()).await?,
    };
    let config = public(config);
    let mut last = io::Error::new(
        io::ErrorKind::NotFound,
        "no sender in the local network has this code: check the first word, or name the sender's host",
    );
    let mut refused = Vec::new();
    for Place { addr, offer } in places {
        // Another address of the same sender would waste another guess.
        if refused.contains(&offer) {
            continue;
        }
        match redeem_at(code, addr, &config).await {
            Ok(stream) => return Ok(stream),
            Err(error) => {
                refused.extend(refusal(&error).map(|_| offer));
                last = io::Error::new(error.kind(), format!("{addr}: {error}"));
            }
        }
    }
    Err(last)
}

async fn redeem_at(code: &Code, place: SocketAddr, config: &Config) -> io::Result<Stream> {
    let mut stream = Stream::connect(place, config).await?;
    let binding = stream.binding().expect("the handshake is complete");
    let met = timeout(LIMIT, exchange::call(&mut stream, code, &binding)).await;
    met.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, "the other end is not a multihop send with a code"))
    })?;
    Ok(stream)
}

/// Configuration with encryption but without authentication: the token is publicly known.
fn public(config: Config) -> Config {
    Config {
        security: Security::Token(Token::from_bytes(*b"multihop code 1")),
        silent: false,
        resets: false,
        ..config
    }
}

/// Runs both ends of an exchange, and a search, against a peer that sends these bytes.
#[cfg(fuzzing)]
pub(crate) async fn check(bytes: &[u8]) {
    use tokio::io::{join, sink};
    seek::check(bytes);
    let code = "kitten river amazing zoo".parse().expect("a code");
    let met = exchange::call(&mut join(bytes, sink()), &code, &[7; 32]).await;
    assert!(met.is_err(), "a listener without the code");
    let met = exchange::answer(&mut join(bytes, sink()), &code, &[7; 32], &guesses::Guesses::default()).await;
    assert!(met.is_err(), "a caller without the code");
}

/// Longest time for the exchange of proofs, after which the connection is closed.
const LIMIT: Duration = Duration::from_secs(10);
