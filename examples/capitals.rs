//! A service over several wireless hops: the listener answers each text in capitals.
//!
//!     cargo run -p multihop-net --example capitals -- listen 0.0.0.0:7460
//!     cargo run -p multihop-net --example capitals -- ask 10.0.0.1:7460 TOKEN some text
//!
//! The listener prints its token, which the caller needs: the connection is encrypted, and both ends know each other by it.

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;

use multihop_net::{Config, Listener, Security, Stream, Token};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["listen", address] => {
            let token = Token::generate()?;
            let listener = Listener::bind(address.parse()?, config(token.clone())).await?;
            writeln!(io::stdout(), "listening on {}, token {token}", listener.local_addr())?;
            serve(listener).await?;
        }
        ["ask", address, token, ref text @ ..] => {
            let answer = ask(address.parse()?, token.parse()?, &text.join(" ")).await?;
            writeln!(io::stdout(), "{answer}")?;
        }
        _ => return Err("usage: capitals listen ADDRESS | capitals ask ADDRESS TOKEN TEXT...".into()),
    }
    Ok(())
}

/// TPA, encrypted, between ends that know the token.
pub(crate) fn config(token: Token) -> Config {
    Config::new(Security::Token(token))
}

/// Answers every caller, all at the same time.
pub(crate) async fn serve(listener: Listener) -> io::Result<()> {
    loop {
        let stream = listener.accept().await?;
        tokio::spawn(async move {
            let (peer, served) = (stream.peer_addr(), answer(stream).await);
            if let Err(error) = served {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

async fn answer(mut stream: Stream) -> io::Result<()> {
    let mut text = String::new();
    (&mut stream).take(MAX_TEXT).read_to_string(&mut text).await?;
    stream.write_all(text.to_uppercase().as_bytes()).await?;
    stream.shutdown().await
}

/// Asks a listener; each direction of the stream is closed alone.
pub(crate) async fn ask(listener: SocketAddr, token: Token, text: &str) -> io::Result<String> {
    let mut stream = Stream::connect(listener, &config(token)).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// The longest text that is answered, in bytes.
const MAX_TEXT: u64 = 100_000;
