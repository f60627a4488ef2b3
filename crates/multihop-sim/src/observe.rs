//! Observes a run: counts drops and routing messages, and writes the requested outputs. An observer never changes a
//! result.

use std::collections::BTreeMap;
use std::io::{self, Write};

use multihop_core::{DropReason, Duration, FlowId, Instant, Interface, NodeId};
use multihop_radio::airtime::Airtime;
use multihop_radio::frame::Frame;
use multihop_radio::mac::{Access, Bitmap, Load, Transmission};
use multihop_radio::medium::Link;
use multihop_radio::params::RadioParams;
use multihop_radio::phy::Verdict;
use multihop_transport::connection::Connection;
use multihop_transport::observe::Side;

use crate::packet::{Body, Packet, Pool};
use crate::record::Recorder;
use crate::signals::{Launch, Signals};
use crate::trace::{Capture, CaptureFilter, Captures, Event, Qlogs, TextTrace};
use crate::view::View;

/// The outputs of a run in addition to its result.
#[derive(Default)]
pub struct Outputs {
    /// One line for each packet event.
    pub trace: Option<Box<dyn Write + Send>>,
    /// Capture file in pcapng format, with an interface for each radio of each selected node.
    pub pcap: Option<Box<dyn Write + Send>>,
    /// Filter that selects the frames of the capture.
    pub pcap_filter: CaptureFilter,
    /// Time series of the scenario's `[record]` table.
    pub record: Option<Box<dyn Write + Send>>,
    /// Events of each flow's sender in the format qlog: a file for each flow, or none.
    pub qlog: Vec<Box<dyn Write + Send>>,
    /// Leaves out the lists of the result (nodes, links, queues), whose measurement takes time.
    pub without_lists: bool,
}

/// Passes what happens in a run to traces, captures, records, counters and the viewer.
#[derive(Default)]
pub(crate) struct Observer {
    trace: Option<TextTrace>,
    captures: Option<Captures>,
    recorder: Option<Recorder>,
    /// Files of qlog; `None` if none are written.
    qlogs: Option<Qlogs>,
    counts: Counts,
    view: View,
    /// Largest length of an interface queue of each node; empty if the outputs do not need it.
    longest_queues: Vec<usize>,
    /// The signals at the stations of each radio; only if an output includes received powers.
    signals: BTreeMap<Interface, Signals>,
    /// Whether the result has no lists of nodes, links and queues.
    pub(crate) omits_lists: bool,
    /// First write error, after which nothing is written.
    failure: Option<io::Error>,
}

/// A frame, its contents if stations aggregate, and the bitmap of the received MPDUs.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    /// Radio that transmits the frame.
    pub(crate) interface: Interface,
    pub(crate) transmission: &'a Transmission,
    pub(crate) load: Option<(&'a Load, Bitmap)>,
    /// Number of the transmission.
    pub(crate) signal: u64,
}

/// Numbers of packets dropped and routed, and of routing messages sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) drops: BTreeMap<DropReason, u64>,
    /// Number of times that a data packet needed a next hop.
    pub(crate) routed: u64,
    /// Numbers of routing messages sent, and of their bytes, by kind.
    pub(crate) routing: BTreeMap<&'static str, (u64, u64)>,
}

impl Observer {
    pub(crate) fn new(
        trace: Option<TextTrace>,
        capture: Option<Capture>,
        recorder: Option<Recorder>,
    ) -> Self {
        let captures = capture.map(|file| Captures { file: Some(file), readers: Vec::new() });
        Self { trace, captures, recorder, ..Self::default() }
    }

    /// Writes the events of senders from now on.
    pub(crate) fn write_qlogs(&mut self, qlogs: Qlogs) {
        self.qlogs = Some(qlogs);
    }

    /// Writes frames to another reader from now on.
    pub(crate) fn add_reader(&mut self, reader: Capture) {
        self.captures.get_or_insert_default().readers.push(reader);
    }

    /// Records the events of the run for [`crate::viewed`] from now on.
    #[cfg(feature = "view")]
    pub(crate) fn watch(&mut self) -> &mut View {
        &mut self.view
    }

    /// Measures the largest length of an interface queue of each node from now on.
    pub(crate) fn watch_queues(&mut self, nodes: usize) {
        self.longest_queues = vec![0; nodes];
    }

    /// Largest length of an interface queue of a node since the warm-up.
    pub(crate) fn longest_queue(&self, node: NodeId) -> usize {
        self.longest_queues.get(node.index()).copied().unwrap_or_default()
    }

    /// Whether anything is written during the run.
    pub(crate) fn writes(&self) -> bool {
        self.trace.is_some()
            || self.captures.is_some()
            || self.recorder.is_some()
            || self.qlogs.is_some()
            || self.view.is_on()
    }

    /// Interval between rows of the recorded time series; `None` if they have none.
    pub(crate) fn record_every(&self) -> Option<Duration> {
        self.recorder.as_ref().and_then(Recorder::every)
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Restarts the counts at the end of the warm-up.
    pub(crate) fn restart(&mut self) {
        self.counts = Counts::default();
        self.longest_queues.fill(0);
    }

    pub(crate) fn sent(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        if let Body::Routing { message, .. } = &packet.body {
            let (packets, bytes) = self.counts.routing.entry(message.kind()).or_default();
            *packets += 1;
            *bytes += u64::from(packet.bytes());
        }
        self.line(now, node, packet, Event::Sent);
    }

    /// Records that a node received a packet. `hops` is the number of links that the packet has crossed,
    /// including the last one.
    pub(crate) fn received(&mut self, now: Instant, node: NodeId, packet: &Packet, hops: u8) {
        self.line(now, node, packet, Event::Received { hops });
        if let (Some(recorder), Some(flow)) = (&mut self.recorder, packet.flow()) {
            let written = recorder.arrived(now, flow, hops);
            self.check(written);
        }
    }

    pub(crate) fn forwarded(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        self.line(now, node, packet, Event::Forwarded);
    }

    pub(crate) fn dropped(&mut self, now: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        *self.counts.drops.entry(reason).or_default() += 1;
        self.line(now, node, packet, Event::Dropped(reason));
    }

    pub(crate) fn routed(&mut self) {
        self.counts.routed += 1;
    }

    /// Whether [`Self::launched`] must be called for each transmission.
    #[inline]
    pub(crate) fn needs_powers(&self) -> bool {
        self.captures.is_some() || self.view.is_detailed()
    }

    /// Records the start of a transmission that reaches the stations of a radio over these links; `power`
    /// returns the power of a link, fading included.
    #[cold]
    pub(crate) fn launched(
        &mut self,
        now: Instant,
        launch: &Launch<'_>,
        links: &[Link],
        (radio, power): (&RadioParams, impl Fn(&Link) -> f64),
    ) {
        let signals = self.signals.entry(launch.at).or_insert_with(|| Signals::new(radio));
        signals.launch(now, launch, links, power);
    }

    /// Records that a frame has ended at the station of a radio of `node`.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        now: Instant,
        (interface, node): (Interface, NodeId),
        signal: u64,
        frame: &Frame,
        verdict: Verdict,
    ) {
        let reception = || self.signals.get(&interface)?.reception(signal, node);
        self.view.ended(now, (interface, node), frame, verdict, reception);
    }

    /// Records a frame that `node` sends or has received.
    #[inline]
    pub(crate) fn frame<'a>(
        &mut self,
        now: Instant,
        node: NodeId,
        sent: impl FnOnce() -> Sent<'a>,
        airtime: &Airtime,
        packets: &Pool,
    ) {
        if self.captures.is_some() || self.view.is_on() {
            self.output_frame(now, node, &sent(), airtime, packets);
        }
    }

    /// Writes a frame to the captures and to the view.
    #[cold]
    fn output_frame(
        &mut self,
        now: Instant,
        node: NodeId,
        sent: &Sent<'_>,
        airtime: &Airtime,
        packets: &Pool,
    ) {
        self.view.frame(now, node, sent, packets);
        if let Some(captures) = &mut self.captures {
            let reception = (sent.transmission.frame.from != node)
                .then(|| self.signals.get(&sent.interface)?.reception(sent.signal, node))
                .flatten();
            let written = captures.frame(now, node, sent, reception.as_ref(), airtime, packets);
            self.check(written);
        }
    }

    /// Records that a frame which a station could have decoded was lost to another frame.
    #[inline]
    pub(crate) fn collided(&mut self, now: Instant, station: (Interface, NodeId), frame: &Frame) {
        self.view.collided(now, station, frame);
    }

    /// Reports to the viewer that the channel access of a station may have changed.
    #[inline]
    pub(crate) fn access(
        &mut self,
        now: Instant,
        station: (Interface, NodeId),
        access: impl FnOnce() -> Access,
    ) {
        self.view.access(now, station, access);
    }

    /// Records the number of expiries of a flow's retransmission timer.
    #[inline]
    pub(crate) fn timeouts(&mut self, now: Instant, flow: FlowId, timeouts: impl FnOnce() -> u64) {
        self.view.timeouts(now, flow, timeouts);
    }

    pub(crate) fn delivered(&mut self, now: Instant, flow: FlowId, bytes: u64) {
        self.view.delivered(now, flow, bytes);
        if let Some(recorder) = &mut self.recorder {
            let written = recorder.delivered(now, flow, bytes);
            self.check(written);
        }
    }

    /// Reports to viewer and recorder that the observed values of a connection may have changed.
    pub(crate) fn observed(&mut self, now: Instant, flow: FlowId, side: Side, end: &dyn Connection) {
        #[cfg(feature = "view")]
        if self.view.is_on() {
            self.view.observed(now, flow, side, end);
        }
        if let Some(recorder) = &mut self.recorder {
            let written = recorder.observed(now, flow, side, end);
            self.check(written);
        }
        if let Some(qlogs) = self.qlogs.as_mut().filter(|_| side == Side::Sender) {
            let written = qlogs.observed(now, flow, end);
            self.check(written);
        }
    }

    /// Records the length of a station's interface queue if it has changed.
    #[inline]
    pub(crate) fn queue(&mut self, now: Instant, station: (Interface, NodeId), len: impl Fn() -> usize) {
        #[cfg(feature = "view")]
        if self.view.is_on() {
            self.view.queue(now, station, len());
        }
        if let Some(longest) = self.longest_queues.get_mut(station.1.index()) {
            *longest = len().max(*longest);
        }
        self.queue_of_node(now, station.1, len);
    }

    /// Length of all interface queues of a node together. Between rows of a series, the length of a single
    /// queue is used instead: a series whose rows have no interval has one radio.
    #[inline]
    pub(crate) fn queue_of_node(&mut self, now: Instant, node: NodeId, len: impl Fn() -> usize) {
        if let Some(recorder) = &mut self.recorder {
            let written = recorder.queue(now, node, len());
            self.check(written);
        }
    }

    pub(crate) fn record_rows(&mut self, now: Instant) {
        if let Some(recorder) = &mut self.recorder {
            let written = recorder.rows(now);
            self.check(written);
        }
    }

    /// Whether an output could not be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Writes the rest of all output files; returns the first error of any write.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.failure.map_or(Ok(()), Err)?;
        self.trace.map_or(Ok(()), TextTrace::finish)?;
        self.captures.and_then(|captures| captures.file).map_or(Ok(()), Capture::finish)?;
        self.qlogs.map_or(Ok(()), Qlogs::finish)?;
        self.recorder.map_or(Ok(()), Recorder::finish)
    }

    fn line(&mut self, now: Instant, node: NodeId, packet: &Packet, event: Event) {
        self.view.packet(now, node, packet, event);
        if let Some(trace) = &mut self.trace {
            let written = trace.line(now, node, packet, event);
            self.check(written);
        }
        if let Some(qlogs) = &mut self.qlogs {
            let written = qlogs.packet(now, node, packet, event);
            self.check(written);
        }
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.fail(error);
        }
    }

    /// Stores the first failure and stops writing, so that no output has a gap.
    #[cold]
    fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
        (self.trace, self.captures, self.recorder, self.qlogs) = (None, None, None, None);
    }
}
