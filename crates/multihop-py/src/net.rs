//! Streams as file descriptors, for `multihop.net`.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use multihop_apps::bridge::{Bridge, BridgeListener, SecurityChoice, runtime};
use multihop_linux::wait::Gate;
use multihop_net::{Config, Stream, Token, Transport, tpa};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// How often a waiting call checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// One end of a connection. It owns a descriptor until that is taken.
#[pyclass(frozen, name = "Connection")]
pub(crate) struct ConnectionHandle {
    bridge: Bridge,
    descriptor: Mutex<Option<OwnedFd>>,
}

impl From<(Bridge, OwnedFd)> for ConnectionHandle {
    fn from((bridge, descriptor): (Bridge, OwnedFd)) -> Self {
        Self { bridge, descriptor: Mutex::new(Some(descriptor)) }
    }
}

#[pymethods]
impl ConnectionHandle {
    /// The Unix socket that stands for the stream. The caller must close it.
    fn take_descriptor(&self) -> PyResult<i32> {
        let mut descriptor = self.descriptor.lock().unwrap_or_else(PoisonError::into_inner);
        let taken =
            descriptor.take().ok_or_else(|| PyValueError::new_err("the descriptor was taken before"))?;
        Ok(taken.into_raw_fd())
    }

    /// The error of a broken connection.
    fn error(&self) -> Option<PyErr> {
        self.bridge.error().map(PyErr::from)
    }

    /// Waits until the descriptor is closed and the peer has received everything; `False` after `seconds`.
    fn closed(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let limit =
            Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let waiting = async { timeout(limit, self.bridge.closed()).await };
        match interruptibly(py, waiting)? {
            Ok(result) => Ok(result.map(|()| true)?),
            Err(_) => Ok(false),
        }
    }

    fn peer_address(&self) -> (String, u16) {
        pair(self.bridge.stream().peer_addr())
    }

    fn local_address(&self) -> (String, u16) {
        pair(self.bridge.stream().local_addr())
    }

    /// The authenticated key of the peer.
    fn peer_key(&self) -> Option<String> {
        self.bridge.stream().peer_key().map(|key| key.to_string())
    }

    /// The statistics of the connection.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.bridge.stream().stats();
        let counters = stats.counters;
        let dict = PyDict::new(py);
        dict.set_item("state", stats.state)?;
        dict.set_item("phase", stats.phase)?;
        dict.set_item("rtt", stats.rtt.map(|rtt| rtt.as_secs_f64()))?;
        dict.set_item("rto", stats.rto.as_secs_f64())?;
        dict.set_item("cwnd", stats.cwnd)?;
        dict.set_item("mss", stats.mss)?;
        dict.set_item("hops", stats.hops)?;
        for (name, value) in [
            ("bytes_sent", counters.bytes_acked),
            ("bytes_received", counters.bytes_delivered),
            ("datagrams_sent", stats.datagrams_sent),
            ("datagrams_received", stats.datagrams_received),
            ("segments_sent", counters.data_sent),
            ("segments_retransmitted", counters.retransmitted),
            ("timeouts", counters.timeouts),
            ("freezes", counters.freezes),
            ("notices", counters.notices),
        ] {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }
}

/// Accepts connections; its descriptor is readable while one is waiting.
#[pyclass(frozen)]
pub(crate) struct Listener(BridgeListener);

#[pymethods]
impl Listener {
    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    /// The next connection; BlockingIOError if none waits.
    fn accept(&self) -> PyResult<ConnectionHandle> {
        Ok(self.0.try_accept()?.into())
    }

    fn address(&self) -> (String, u16) {
        pair(self.0.local_addr())
    }

    fn close(&self) {
        self.0.close();
    }
}

/// Class `multihop.net.Security`: how a connection is protected.
#[derive(FromPyObject)]
pub(crate) struct Security {
    #[pyo3(attribute("plain_"))]
    plain: bool,
    #[pyo3(attribute("token_"))]
    token: Option<String>,
    identity: Option<PathBuf>,
    peer: Option<String>,
    known_peers: Option<PathBuf>,
    authorized_keys: Option<PathBuf>,
    strict: bool,
    shared_key: Option<PathBuf>,
    silent: bool,
}

impl From<Security> for SecurityChoice {
    fn from(security: Security) -> Self {
        Self {
            plain: security.plain,
            token: security.token,
            identity: security.identity,
            peer: security.peer,
            known_peers: security.known_peers,
            authorized_keys: security.authorized_keys,
            strict: security.strict,
            shared_key: security.shared_key,
            silent: security.silent,
        }
    }
}

type Made = io::Result<(Bridge, OwnedFd)>;

/// A connection attempt; its descriptor is readable once the attempt has succeeded or failed.
#[pyclass(frozen)]
pub(crate) struct Opening {
    decided: Arc<Gate>,
    made: Arc<Mutex<Option<Made>>>,
    task: AbortHandle,
}

#[pymethods]
impl Opening {
    fn fileno(&self) -> i32 {
        self.decided.as_fd().as_raw_fd()
    }

    /// The connection, or the error. Must be called once, after the attempt has ended.
    fn result(&self) -> PyResult<ConnectionHandle> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(made
            .ok_or_else(|| {
                PyValueError::new_err("the attempt has not ended, or its result was taken before")
            })??
            .into())
    }

    /// Aborts the attempt, unless it has ended.
    fn cancel(&self) {
        self.task.abort();
        self.decided.open();
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Begins a connection attempt.
#[pyfunction]
#[pyo3(signature = (address, port, security, cwnd_max))]
pub(crate) fn tpa_connect(
    address: &str,
    port: u16,
    security: Security,
    cwnd_max: Option<u8>,
) -> PyResult<Opening> {
    let address = parse(address, port)?;
    let config = config(security, cwnd_max)?;
    let decided = Arc::new(Gate::new()?);
    let made = Arc::new(Mutex::new(None));
    let (place, opens) = (Arc::clone(&made), Arc::clone(&decided));
    let task = runtime()?.spawn(async move {
        let result = async { Bridge::new(Stream::connect(address, &config).await?) }.await;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        opens.open();
    });
    Ok(Opening { decided, made, task: task.abort_handle() })
}

/// A new token, which the other end needs too.
#[pyfunction]
pub(crate) fn tpa_token() -> PyResult<String> {
    Ok(Token::generate()?.to_string())
}

/// Begins to accept connections at an address.
#[pyfunction]
#[pyo3(signature = (address, port, security, cwnd_max, backlog))]
pub(crate) fn tpa_listen(
    py: Python<'_>,
    address: &str,
    port: u16,
    security: Security,
    cwnd_max: Option<u8>,
    backlog: usize,
) -> PyResult<Listener> {
    let address = parse(address, port)?;
    let mut config = config(security, cwnd_max)?;
    config.limits.backlog = backlog.clamp(1, config.limits.backlog);
    Ok(Listener(py.detach(|| BridgeListener::bind(address, config))?))
}

/// Waits for a future without holding the interpreter; a signal interrupts the wait.
fn interruptibly<T: Send>(py: Python<'_>, future: impl Future<Output = T> + Send) -> PyResult<T> {
    let runtime = runtime()?;
    let mut future = Box::pin(future);
    loop {
        let waited = py.detach(|| runtime.block_on(async { timeout(SIGNAL_INTERVAL, &mut future).await }));
        match waited {
            Ok(result) => return Ok(result),
            Err(_) => py.check_signals()?,
        }
    }
}

fn config(security: Security, cwnd_max: Option<u8>) -> PyResult<Config> {
    let mut config = SecurityChoice::from(security).config()?;
    if let Some(cwnd_max) = cwnd_max {
        if !(1..=12).contains(&cwnd_max) {
            return Err(PyValueError::new_err(format!("cwnd_max is {cwnd_max}, allowed: 1 to 12")));
        }
        config.transport = Transport::tpa(tpa::Config { cwnd_max, ..tpa::Config::net() });
    }
    Ok(config)
}

pub(crate) fn parse(address: &str, port: u16) -> PyResult<SocketAddr> {
    let ip = address.parse().map_err(|_| PyValueError::new_err(format!("{address:?} is no IP address")))?;
    Ok(SocketAddr::new(ip, port))
}

pub(crate) fn pair(address: SocketAddr) -> (String, u16) {
    (address.ip().to_string(), address.port())
}
