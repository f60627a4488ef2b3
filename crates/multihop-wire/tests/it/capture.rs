//! Captures that tests write and tshark reads.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use multihop_core::{Instant, NodeId};
use multihop_wire::dot11::{Data, Frame, Snap};
use multihop_wire::{ipv4, radiotap};

use crate::pcapng::{Described, PcapngWriter};

pub(crate) const A: NodeId = NodeId(0);
pub(crate) const B: NodeId = NodeId(1);

/// A capture under construction.
pub(crate) struct Capture {
    name: &'static str,
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) checks: &'static [&'static str],
}

impl Capture {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, frames: Vec::new(), checks: CHECKS }
    }

    /// Adds a frame with a radiotap header: frame n at n ms, with a short preamble at 11 Mb/s.
    pub(crate) fn frame(&mut self, frame: &Frame) {
        let mut bytes = Vec::new();
        self.radiotap().emit(&mut bytes);
        frame.emit(&mut bytes);
        self.frames.push(bytes);
    }

    pub(crate) fn radiotap(&self) -> radiotap::Header {
        radiotap::Header {
            tsft: self.frames.len() as u64 * 1_000,
            short_preamble: true,
            rate: radiotap::Rate::Legacy(22),
            channel_mhz: 2412,
            channel_flags: 0x00a0,
            power: Some(radiotap::Power { signal_dbm: -61, noise_dbm: Some(-94) }),
            aggregate: None,
        }
    }

    /// Adds a data frame from A to B.
    pub(crate) fn data(&mut self, ethertype: u16, packet: &[u8]) {
        let mut body = Vec::new();
        Snap { ethertype }.emit(&mut body);
        body.extend(packet);
        let (receiver, transmitter) = (B.mac(), A.mac());
        self.frame(&Frame::Data(Data {
            retry: true,
            duration: 304,
            receiver,
            transmitter,
            sequence: 4095,
            qos: None,
            tid: 0,
            body,
        }));
    }

    /// Adds a data frame with an IP datagram from A to B.
    pub(crate) fn ip(&mut self, protocol: u8, payload: &[u8]) {
        let mut packet = Vec::new();
        header(protocol).emit(payload, &mut packet);
        self.data(ipv4::ETHERTYPE, &packet);
    }

    /// What tshark prints for `fields`, frame by frame; fails if it finds an error.
    pub(crate) fn read(&self, fields: &[&str]) -> Option<Vec<Vec<String>>> {
        let mut rows = self.read_any(&[fields, FAULTS].concat())?;
        for row in &mut rows {
            let faults = row.split_off(fields.len());
            let [malformed, severities, messages] = &faults[..] else { panic!("one value for each field") };
            assert_eq!(malformed, "", "in the frame with {row:?}");
            for severity in severities.split(',').filter(|severity| !severity.is_empty()) {
                let severity: u32 = severity.parse().expect("severities are numbers");
                assert!(severity < WARNING, "{messages} in the frame with {row:?}");
            }
        }
        Some(rows)
    }

    /// What tshark prints for `fields`, frame by frame; `None` without tshark.
    #[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
    pub(crate) fn read_any(&self, fields: &[&str]) -> Option<Vec<Vec<String>>> {
        if Command::new("tshark").arg("--version").output().is_err() {
            println!("skipped: tshark not found");
            return None;
        }
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.pcapng", self.name));
        self.write(&path);
        let mut tshark = Command::new("tshark");
        tshark.args(["-n", "-T", "fields", "-E", "separator=;", "-r"]).arg(&path);
        for preference in self.checks {
            tshark.args(["-o", &format!("{preference}:TRUE")]);
        }
        for field in fields {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().expect("tshark starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::remove_file(&path).expect("the capture was written");
        let text = String::from_utf8(output.stdout).expect("tshark prints UTF-8");
        let rows: Vec<Vec<String>> =
            text.lines().map(|line| line.split(';').map(String::from).collect()).collect();
        assert_eq!(rows.len(), self.frames.len());
        Some(rows)
    }

    fn write(&self, path: &Path) {
        let file = File::create(path).expect("the target directory can be written");
        let interfaces = ["A", "B"].map(|name| Described { name, description: "" });
        let mut capture = PcapngWriter::new(file, interfaces, None).expect("a new file");
        for (n, frame) in self.frames.iter().enumerate() {
            let at = Instant::from_nanos(n as u64 * 1_000_000);
            capture.packet(1, at, frame, (n == 0).then_some("a comment")).expect("a whole file");
        }
        capture.finish().expect("a whole file");
    }
}

/// Checks that are off or partly off by default.
const CHECKS: &[&str] =
    &["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum", "wlan.check_checksum"];

/// The fields in which tshark reports errors of checksums, lengths and options.
const FAULTS: &[&str] = &["_ws.malformed", "_ws.expert.severity", "_ws.expert.message"];

/// tshark's severity of a warning. Comments and notes, such as on retries, have lower ones.
const WARNING: u32 = 0x0060_0000;

pub(crate) fn header(protocol: u8) -> ipv4::Header {
    ipv4::Header {
        tos: 0,
        id: 0x1234,
        dont_fragment: true,
        ttl: 63,
        protocol,
        source: A.addr(),
        destination: B.addr(),
    }
}
