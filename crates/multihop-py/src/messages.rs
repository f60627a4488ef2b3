//! Channels of messages for `multihop.messages`: calls that answer later, from a thread of the runtime.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use multihop_apps::bridge::{SecurityChoice, runtime};
use multihop_net::{Channel, ChannelOptions, Config, Content, Listener, Received, Stream, Transport, mesh};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tokio::task::AbortHandle;

use crate::net::{Security, pair, parse};

/// A Python function that takes a value and an error, of which one is `None`.
type Decide = Py<PyAny>;

/// One end of a connection with channels.
#[pyclass(frozen)]
pub(crate) struct MessageConnection(Arc<Stream>);

#[pymethods]
impl MessageConnection {
    /// Opens a channel. Deadlines are in seconds.
    #[pyo3(signature = (name, priority, deadline, is_ordered))]
    fn open(
        &self,
        name: String,
        priority: u8,
        deadline: Option<f64>,
        is_ordered: bool,
    ) -> PyResult<MessageChannel> {
        let deadline = deadline.map(Duration::try_from_secs_f64).transpose();
        let deadline = deadline.map_err(|error| PyValueError::new_err(format!("deadline: {error}")))?;
        let options = ChannelOptions { priority, is_ordered, deadline: deadline.map(Into::into), name };
        Ok(MessageChannel::new(self.0.open_channel(options)?))
    }

    /// Waits for a channel that the peer opens; `None` after the peer has closed the connection.
    fn accept(&self, decide: Decide) -> PyResult<()> {
        let stream = Arc::clone(&self.0);
        answer(decide, async move { Ok(stream.accept_channel().await?.map(MessageChannel::new)) })
    }

    /// Closes this side, and waits until the peer has everything.
    fn finish(&self, decide: Decide) -> PyResult<()> {
        let stream = Arc::clone(&self.0);
        answer(decide, async move { stream.finish().await })
    }

    /// Ends the connection now, with a reset to the peer. Waiting calls fail.
    fn abort(&self) {
        self.0.abort();
    }

    fn peer_address(&self) -> (String, u16) {
        pair(self.0.peer_addr())
    }

    fn local_address(&self) -> (String, u16) {
        pair(self.0.local_addr())
    }
}

/// A channel of a connection.
#[pyclass(frozen)]
pub(crate) struct MessageChannel(Arc<Channel>);

impl MessageChannel {
    fn new(channel: Channel) -> Self {
        Self(Arc::new(channel))
    }
}

#[pymethods]
impl MessageChannel {
    /// Name, priority, deadline in seconds, and whether messages arrive in their order.
    fn options(&self) -> (String, u8, Option<f64>, bool) {
        let ChannelOptions { priority, is_ordered, deadline, name } = self.0.options();
        (name, priority, deadline.map(|deadline| deadline.as_secs_f64()), is_ordered)
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.0.counters();
        let dict = PyDict::new(py);
        for (name, value) in [
            ("sent", counters.sent),
            ("given_up", counters.given_up),
            ("delivered", counters.delivered),
            ("late", counters.late),
            ("missed", counters.missed),
        ] {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Queues a message; the answer is its number.
    fn send(&self, message: Vec<u8>, decide: Decide) -> PyResult<()> {
        let channel = Arc::clone(&self.0);
        answer(decide, async move { channel.send(message).await })
    }

    /// Waits for a delivery; `None` after the peer has closed its side.
    fn receive(&self, decide: Decide) -> PyResult<()> {
        let channel = Arc::clone(&self.0);
        answer(decide, async move { Ok(channel.recv().await?.map(Delivery)) })
    }
}

/// A delivery as a tuple: number, bytes (`None` for a gap), length of the gap, whether the message ends here, whether it is late.
struct Delivery(Received);

impl<'py> IntoPyObject<'py> for Delivery {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Received { message, content, is_late, .. } = self.0;
        let (data, gap, is_last) = match content {
            Content::Whole(data) => (Some(data), 0, true),
            Content::Part { data, is_last, .. } => (Some(data), 0, is_last),
            Content::Gap(messages) => (None, messages, true),
        };
        let data = data.map(|data| PyBytes::new(py, &data.into_bytes()));
        (message, data, gap, is_last, is_late).into_bound_py_any(py)
    }
}

/// Accepts connections with channels.
#[pyclass(frozen)]
pub(crate) struct MessageListener {
    listener: Mutex<Option<Arc<Listener>>>,
    /// The last call of `accept`, which keeps the listener while it waits.
    accepting: Mutex<Option<AbortHandle>>,
}

impl MessageListener {
    fn listener(&self) -> PyResult<Arc<Listener>> {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        listener.clone().ok_or_else(|| PyValueError::new_err("the listener is closed"))
    }
}

#[pymethods]
impl MessageListener {
    /// Waits for the next connection. One call at a time may wait.
    fn accept(&self, decide: Decide) -> PyResult<()> {
        let listener = self.listener()?;
        let accepted = async move { Ok(MessageConnection(Arc::new(listener.accept().await?))) };
        let task = begin(decide, accepted)?;
        *self.accepting.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        Ok(())
    }

    fn address(&self) -> PyResult<(String, u16)> {
        Ok(pair(self.listener()?.local_addr()))
    }

    /// Accepts no more connections. A waiting call of `accept` gets no answer.
    fn close(&self) {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(accepting) = self.accepting.lock().unwrap_or_else(PoisonError::into_inner).take() {
            accepting.abort();
        }
    }
}

/// Opens a connection with channels.
#[pyfunction]
pub(crate) fn messages_connect(address: &str, port: u16, security: Security, decide: Decide) -> PyResult<()> {
    let address = parse(address, port)?;
    let config = config(security)?;
    answer(decide, async move { Ok(MessageConnection(Arc::new(Stream::connect(address, &config).await?))) })
}

/// Begins to accept connections with channels.
#[pyfunction]
pub(crate) fn messages_listen(address: &str, port: u16, security: Security, decide: Decide) -> PyResult<()> {
    let address = parse(address, port)?;
    let config = config(security)?;
    answer(decide, async move {
        let listener = Mutex::new(Some(Arc::new(Listener::bind(address, config).await?)));
        Ok(MessageListener { listener, accepting: Mutex::new(None) })
    })
}

/// Configuration of a connection by `mesh` with channels.
fn config(security: Security) -> PyResult<Config> {
    let transport = Transport::mesh(mesh::Config { channels: true, ..mesh::Config::net() });
    Ok(Config { transport, ..SecurityChoice::from(security).config()? })
}

/// Calls `decide` with the result of a future, unless the interpreter ends before.
fn answer<T>(decide: Decide, future: impl Future<Output = io::Result<T>> + Send + 'static) -> PyResult<()>
where
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    begin(decide, future).map(drop)
}

/// Begins the call of [`answer`], which its task can abort.
fn begin<T>(
    decide: Decide,
    future: impl Future<Output = io::Result<T>> + Send + 'static,
) -> PyResult<AbortHandle>
where
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    let task = runtime()?.spawn(async move {
        let result = future.await;
        // Without an interpreter, nobody waits for the answer.
        Python::try_attach(|py| {
            let value = result.map_err(PyErr::from).and_then(|value| value.into_bound_py_any(py));
            let called = match value {
                Ok(value) => decide.call1(py, (value, py.None())),
                Err(error) => decide.call1(py, (py.None(), error)),
            };
            if let Err(error) = called {
                error.write_unraisable(py, None);
            }
        });
    });
    Ok(task.abort_handle())
}
