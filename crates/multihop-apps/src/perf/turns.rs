//! Messages about a flow, sent by both ends alternately.

use std::io;
use std::time::Duration;

use multihop_net::{Stats, Stream};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::message;
use super::{CLOSE_TIMEOUT, EndTotals, PATIENCE, nonsense};
use crate::frames::{FrameReader, FrameWriter};

/// The connection of a flow, on which both ends send messages alternately.
pub(super) struct Turns(FrameReader<Stream>);

impl Turns {
    pub(super) fn new(stream: Stream) -> Self {
        Self(FrameReader::new(stream, PATIENCE))
    }

    pub(super) fn stats(&self) -> Stats {
        self.stream().stats()
    }

    pub(super) fn stream(&self) -> &Stream {
        self.0.get_ref()
    }

    /// Limits the time for which this end waits for a message.
    pub(super) fn be_patient_for(&mut self, patience: Duration) {
        self.0.set_patience(patience);
    }

    /// Reader of the messages with the data of a measurement.
    pub(super) fn reader(&mut self) -> &mut FrameReader<Stream> {
        &mut self.0
    }

    pub(super) fn writer(&mut self) -> FrameWriter<&mut Stream> {
        FrameWriter::new(self.0.get_mut(), PATIENCE)
    }

    pub(super) async fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        self.writer().send(kind, body).await
    }

    /// Waits for a message of this kind; returns its body.
    pub(super) async fn expect(&mut self, kind: u8) -> io::Result<Vec<u8>> {
        if self.0.next().await? == Some(kind) { Ok(self.0.body().to_vec()) } else { Err(nonsense()) }
    }

    /// Closes the connection after a complete result and returns its stream. Closing in order avoids a reset at the
    /// peer.
    pub(super) async fn close(self) -> Stream {
        let mut stream = self.0.into_inner();
        let _ = timeout(CLOSE_TIMEOUT, stream.shutdown()).await;
        stream
    }
}

/// Receives the totals of the listening end.
pub(super) async fn theirs(turns: &mut Turns) -> io::Result<EndTotals> {
    message::parse(&turns.expect(message::TALLY).await?).ok_or_else(nonsense)
}
