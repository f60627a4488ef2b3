//! A connection to a gateway whose channels are streams of several classes: they share its window.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use multihop_net::{Channel, ChannelOptions, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

use super::Refusal;
use super::channel_stream::ChannelStream;
use super::classes::USUAL;
use super::request::Request;

/// A connection whose channels are streams.
#[derive(Debug)]
pub(super) struct Trunk {
    stream: Arc<Stream>,
    channels: Mutex<Channels>,
    is_lost: Arc<AtomicBool>,
    watcher: JoinHandle<()>,
}

/// Channels that this end has opened.
#[derive(Debug, Default)]
struct Channels {
    /// Channels without a stream, by their class.
    free: BTreeMap<u8, Vec<Channel>>,
    /// Number of channels with class [`USUAL`] or a higher class.
    usual: usize,
}

impl Trunk {
    /// Makes a trunk of a new connection; `None` if the gateway, or the transport, has no channels.
    pub(super) async fn over(mut stream: Stream) -> io::Result<Option<Arc<Self>>> {
        let mut channels = Channels::default();
        match stream.open_channel(options(0)) {
            Ok(channel) => drop(channels.free.insert(0, vec![channel])),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
            Err(error) => return Err(error),
        }
        stream.write_all(&Request::Channels.emit()).await?;
        if let Err(refusal) = Refusal::parse(stream.read_u8().await?) {
            tracing::debug!("no channels: {refusal}");
            return Ok(None);
        }
        let (stream, is_lost) = (Arc::new(stream), Arc::new(AtomicBool::new(false)));
        let watcher = tokio::spawn({
            let (stream, is_lost) = (Arc::clone(&stream), Arc::clone(&is_lost));
            async move {
                // The gateway opens no channels, so that the call returns when the connection ends.
                let _ = stream.accept_channel().await;
                is_lost.store(true, Ordering::Relaxed);
            }
        });
        Ok(Some(Arc::new(Self { stream, channels: Mutex::new(channels), is_lost, watcher })))
    }

    /// Whether the connection has ended.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// A new stream of a class; `None` if all channels are in use.
    pub(super) fn open(self: &Arc<Self>, class: u8) -> io::Result<Option<ChannelStream>> {
        let Some(channel) = self.channel(class)? else { return Ok(None) };
        let (stream, ended) = ChannelStream::new(channel, self.stream.peer_key(), false);
        let trunk = Arc::downgrade(self);
        tokio::spawn(async move {
            let Ok(last) = ended.await else { return };
            // A failure ends the whole connection.
            let Ok(channel) = last.finish().await else { return };
            if let Some(trunk) = trunk.upgrade() {
                trunk.lock().free.entry(class).or_default().push(channel);
            }
        });
        Ok(Some(stream))
    }

    /// A free channel of the class, or a new one.
    fn channel(&self, class: u8) -> io::Result<Option<Channel>> {
        let mut channels = self.lock();
        if let Some(channel) = channels.free.get_mut(&class).and_then(Vec::pop) {
            return Ok(Some(channel));
        }
        let is_usual = class >= USUAL;
        if is_usual && channels.usual >= MAX_USUAL {
            return Ok(None);
        }
        match self.stream.open_channel(options(class)) {
            Ok(channel) => {
                channels.usual += usize::from(is_usual);
                Ok(Some(channel))
            }
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Trunk {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

fn options(class: u8) -> ChannelOptions {
    ChannelOptions { priority: class, ..ChannelOptions::default() }
}

/// Largest number of channels of classes from [`USUAL`] on: the rest of the usual 64 channels remains for classes 0 to 3.
const MAX_USUAL: usize = 48;
