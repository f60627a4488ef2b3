//! Runs of scenarios through the public API, with all their outputs.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use multihop_core::NodeId;
use multihop_core::settings::{Settings, Visitor};
use multihop_routing_extra::extensions;
use multihop_scenario::{CustomTransport, Extension, Protocol, Scenario, Source, Transport};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run, unattended};
use multihop_transport::connection::{Connection, ConnectionConfig, FlowSetup};
use multihop_wire::{dot11, radiotap};

/// All outputs of a run.
pub(crate) struct Ran {
    pub(crate) result: RunResult,
    /// Packet events, one in each line.
    pub(crate) trace: String,
    /// Bytes of the capture file.
    pub(crate) pcap: Vec<u8>,
    /// The recorded series, as CSV.
    pub(crate) record: String,
}

pub(crate) fn scenario(text: &str) -> Scenario {
    let source = Source::Toml { text: text.to_owned(), name: "x.toml".to_owned() };
    Scenario::load_with(&source, &[], &extensions())
        .unwrap_or_else(|problems| panic!("{problems}\nin\n{text}"))
}

/// Runs a scenario without outputs.
pub(crate) fn result(text: &str) -> RunResult {
    run(&scenario(text), Outputs::default(), &mut unattended).unwrap()
}

/// Runs a scenario with all outputs.
pub(crate) fn ran(text: &str) -> Ran {
    ran_scenario(&scenario(text))
}

/// Runs a scenario that a test has modified and collects its outputs.
pub(crate) fn ran_scenario(scenario: &Scenario) -> Ran {
    let (trace, pcap, record) = (Shared::default(), Shared::default(), Shared::default());
    let outputs = Outputs {
        trace: Some(Box::new(trace.clone())),
        pcap: Some(Box::new(pcap.clone())),
        record: Some(Box::new(record.clone())),
        ..Outputs::default()
    };
    let result = run(scenario, outputs, &mut unattended).unwrap();
    Ran { result, trace: trace.text(), pcap: pcap.take(), record: record.text() }
}

/// A transport with these ends.
pub(crate) fn transport(ends: impl Fn() -> [Box<dyn Connection>; 2] + Send + Sync + 'static) -> Transport {
    let extension = Extension { name: "test", version: "1", help: "For a test." };
    let custom = CustomTransport { extension, config: Arc::new(FromFn(ends)) };
    Transport { name: extension.name.to_owned(), protocol: Protocol::Custom(custom) }
}

struct FromFn<F>(F);

impl<F: Fn() -> [Box<dyn Connection>; 2] + Send + Sync> ConnectionConfig for FromFn<F> {
    fn ends(&self, _: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        (self.0)()
    }
}

impl<F> Settings for FromFn<F> {
    fn keys(&mut self, _: &mut dyn Visitor) {}
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFn")
    }
}

/// A line of the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event<'a> {
    /// `s`, `r`, `f` or `D`.
    pub(crate) what: &'a str,
    /// Time of the event, in seconds.
    pub(crate) at: f64,
    pub(crate) node: u32,
    /// Number of the segment or datagram; `-` for other packets.
    pub(crate) number: &'a str,
    pub(crate) kind: &'a str,
    /// Four letters for the reason of a drop, or `-`.
    pub(crate) reason: &'a str,
    pub(crate) uid: u64,
    pub(crate) from: u32,
    /// Number of the receiver; [`NodeId::BROADCAST`] for `all`.
    pub(crate) to: u32,
    pub(crate) hops: u32,
    pub(crate) bytes: u64,
}

/// The lines of a trace, in the order of time.
pub(crate) fn events(trace: &str) -> impl Iterator<Item = Event<'_>> {
    trace.lines().skip(1).map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let [what, at, node, number, kind, reason, uid, from, to, hops, bytes] = columns[..] else {
            panic!("eleven columns: {line}")
        };
        Event {
            what,
            at: at.parse().unwrap(),
            node: node.parse().unwrap(),
            number,
            kind,
            reason,
            uid: uid.parse().unwrap(),
            from: from.parse().unwrap(),
            to: if to == "all" { NodeId::BROADCAST.0 } else { to.parse().unwrap() },
            hops: hops.parse().unwrap(),
            bytes: bytes.parse().unwrap(),
        }
    })
}

/// A buffer that a run writes to and a test reads.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.take()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A frame that was transmitted, as its capture shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    /// When its first bit left the antenna, ns.
    pub(crate) at: u64,
    pub(crate) node: u32,
    pub(crate) kind: Kind,
    /// The receiver; `None` for broadcasts.
    pub(crate) to: Option<u32>,
    /// The duration field, in us.
    pub(crate) duration: u16,
    pub(crate) retry: bool,
    pub(crate) sequence: u16,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Rts,
    Cts,
    Data,
    Ack,
}

impl Ran {
    /// Every frame sent, in the order of time.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        let mut frames: Vec<_> = packets(&self.pcap).filter_map(|packet| sent(&packet)).collect();
        frames.sort_by_key(|frame| (frame.at, frame.node));
        frames
    }
}

/// A packet of a capture file.
pub(crate) struct Captured<'a> {
    pub(crate) interface: u32,
    pub(crate) at: u64,
    pub(crate) bytes: &'a [u8],
}

/// The enhanced packet blocks of a pcapng file.
pub(crate) fn packets(mut file: &[u8]) -> impl Iterator<Item = Captured<'_>> {
    const ENHANCED_PACKET: u32 = 6;
    fn word(bytes: &[u8], place: usize) -> u32 {
        u32::from_le_bytes(bytes[4 * place..4 * place + 4].try_into().unwrap())
    }
    std::iter::from_fn(move || {
        while !file.is_empty() {
            let block = file.split_off(..word(file, 1) as usize).unwrap();
            if word(block, 0) == ENHANCED_PACKET {
                let at = u64::from(word(block, 3)) << 32 | u64::from(word(block, 4));
                let bytes = &block[28..28 + word(block, 5) as usize];
                return Some(Captured { interface: word(block, 2), at, bytes });
            }
        }
        None
    })
}

/// The frame, if the packet is a transmission: interfaces also show received frames.
fn sent(packet: &Captured<'_>) -> Option<Sent> {
    let (_, frame) = radiotap::Header::parse(packet.bytes).unwrap();
    let frame = dot11::Frame::parse(frame).unwrap();
    let own = NodeId(packet.interface).mac();
    let (kind, receiver, duration) = match &frame {
        dot11::Frame::Rts { duration, receiver, .. } => (Kind::Rts, *receiver, *duration),
        dot11::Frame::Cts { duration, receiver } => (Kind::Cts, *receiver, *duration),
        dot11::Frame::Ack { duration, receiver } => (Kind::Ack, *receiver, *duration),
        dot11::Frame::Data(data) => (Kind::Data, data.receiver, data.duration),
        dot11::Frame::BlockAck { .. } | dot11::Frame::BlockAckRequest { .. } => return None,
    };
    let (retry, sequence) = match &frame {
        dot11::Frame::Data(data) if data.transmitter != own => return None,
        dot11::Frame::Data(data) => (data.retry, data.sequence),
        _ => (false, 0),
    };
    if receiver == own {
        return None;
    }
    let to = (receiver != dot11::BROADCAST).then(|| node(receiver));
    Some(Sent { at: packet.at, node: packet.interface, kind, to, duration, retry, sequence })
}

fn node(mac: [u8; 6]) -> u32 {
    u32::from_be_bytes(mac[2..].try_into().unwrap())
}

/// A chain whose first node sends datagrams of 1460 bytes to its last, without ARP traffic.
pub(crate) fn udp_chain(hops: u32, rate_kbps: f64, seconds: f64, seed: u64) -> String {
    format!(
        "duration = {:?}\nwarmup = 10.0\nseed = {seed}\n\
         [mac]\narp = \"oracle\"\n\
         [topology]\nkind = \"chain\"\nhops = {hops}\n\
         [[flow]]\napp = \"cbr\"\nrate_kbps = {rate_kbps:?}\nsize = 1460\n",
        seconds + 10.0
    )
}
