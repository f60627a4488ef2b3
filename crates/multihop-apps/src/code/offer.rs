//! Listening end of a transfer by code.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use multihop_net::{Config, Listener, Stream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::exchange::{self, Refusal, refusal};
use super::guesses::Guesses;
use super::seek::Beacon;
use super::words::Code;
use super::{LIMIT, public};

/// Listener for callers that have the code. The code is valid until this value is dropped, until three wrong
/// guesses, or until its lifetime ends.
#[derive(Debug)]
pub struct Offer {
    listener: Listener,
    code: Arc<Code>,
    guesses: Arc<Guesses>,
    expires: Instant,
    callers: JoinSet<Result<Stream, (SocketAddr, io::Error)>>,
    beacon: io::Result<Beacon>,
}

/// Reason for which a code is no longer valid.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// Peers used up the allowed wrong guesses.
    #[error(
        "the code was guessed wrong three times and is no longer valid: run the command again for a new one"
    )]
    Guessed,
    /// No peer used the code in time.
    #[error("the code has expired: run the command again for a new one")]
    Expired,
    /// Error of a listener that can no longer accept connections.
    #[error("cannot accept connections any more: {0}")]
    Listener(#[from] io::Error),
}

impl Offer {
    /// Opens an offer with a new code for callers at this address. The code is valid for `lifetime`. The
    /// security mode of the configuration is not used.
    pub async fn open(addr: SocketAddr, config: Config, lifetime: Duration) -> io::Result<Self> {
        let code = Code::generate()?;
        let listener = Listener::bind(addr, public(config)).await?;
        let beacon = Beacon::start(code.label(), listener.local_addr().port());
        let expires = Instant::now() + lifetime;
        Ok(Self {
            listener,
            code: Arc::new(code),
            guesses: Arc::default(),
            expires,
            callers: JoinSet::new(),
            beacon,
        })
    }

    /// The code, which the receiving end needs.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Address and port on which the offer's listener accepts connections.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// The error that prevents callers from finding the offer in the local network; `None` if they can find it.
    pub fn unseen(&self) -> Option<&io::Error> {
        self.beacon.as_ref().err()
    }

    /// The next caller that has proved possession of the code.
    pub async fn next(&mut self) -> Result<Stream, Ended> {
        loop {
            if self.guesses.are_used_up() {
                return Err(Ended::Guessed);
            }
            let step = async {
                tokio::select! {
                    stream = self.listener.accept() => Ok::<_, io::Error>(Step::Met(stream?)),
                    Some(caller) = self.callers.join_next() => Ok(Step::Answered(caller)),
                }
            };
            match timeout_at(self.expires, step).await.map_err(|_| Ended::Expired)?? {
                Step::Met(stream) => self.meet(stream),
                Step::Answered(Ok(Ok(stream))) => return Ok(stream),
                Step::Answered(Ok(Err((from, error)))) => self.report(from, &error),
                // A task that panicked has ended its connection.
                Step::Answered(Err(_)) => {}
            }
        }
    }

    /// Starts the check of a caller, parallel to checks of other callers.
    fn meet(&mut self, mut stream: Stream) {
        let (code, guesses) = (Arc::clone(&self.code), Arc::clone(&self.guesses));
        self.callers.spawn(async move {
            let answered = async {
                let binding = stream.binding().expect("the handshake is complete");
                exchange::answer(&mut stream, &code, &binding, &guesses).await
            };
            match timeout(LIMIT, answered).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(()) => Ok(stream),
                Err(error) => Err((stream.peer_addr(), error)),
            }
        });
    }

    fn report(&self, from: SocketAddr, error: &io::Error) {
        if refusal(error) == Some(Refusal::WrongCode) {
            tracing::warn!("a wrong code from {from}; {} more of them end the code", self.guesses.left());
        } else {
            tracing::info!(%from, "{error}");
        }
    }

    /// Passes each caller with the code to `transfer`, until one transfer succeeds. A new caller with the
    /// code replaces the current one, because its user has tried again. After a failure, `retry` decides
    /// whether to wait for one.
    pub async fn serve<T, E: From<Ended>>(
        mut self,
        mut transfer: impl AsyncFnMut(Stream) -> Result<T, E>,
        mut retry: impl FnMut(&E) -> bool,
    ) -> Result<T, E> {
        let mut stream = self.next().await?;
        loop {
            let ended = {
                let mut transfer = pin!(transfer(stream));
                tokio::select! {
                    done = &mut transfer => Err(done),
                    next = self.next() => match next {
                        Ok(next) => Ok(next),
                        // The running transfer continues.
                        Err(_) => return transfer.await,
                    },
                }
            };
            stream = match ended {
                Ok(next) => next,
                Err(Err(error)) if retry(&error) => self.next().await?,
                Err(done) => return done,
            };
        }
    }
}

enum Step {
    Met(Stream),
    Answered(Result<Result<Stream, (SocketAddr, io::Error)>, tokio::task::JoinError>),
}
