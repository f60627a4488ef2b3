//! Captures that tests write and tshark reads.

use std::fs;
use std::process::{self, Command};

use multihop_core::NodeId;
use multihop_wire::dot11::{Data, Frame, Snap};
use multihop_wire::{ipv4, radiotap};

/// Station that sends the frames of a capture.
pub const A: NodeId = NodeId(0);
/// Station that receives the frames of a capture.
pub const B: NodeId = NodeId(1);

/// A capture under construction.
pub struct Capture {
    name: &'static str,
    /// Radiotap header and bytes of each frame.
    pub frames: Vec<Vec<u8>>,
    /// Preferences of tshark that turn checks on.
    pub checks: &'static [&'static str],
}

impl Capture {
    /// An empty capture, whose file has this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, frames: Vec::new(), checks: CHECKS }
    }

    /// Adds a frame with a radiotap header: frame n at n ms, with a short preamble at 11 Mb/s.
    pub fn frame(&mut self, frame: &Frame) {
        let mut bytes = Vec::new();
        self.radiotap().emit(&mut bytes);
        frame.emit(&mut bytes);
        self.frames.push(bytes);
    }

    /// Radiotap header of the next frame.
    pub fn radiotap(&self) -> radiotap::Header {
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
    pub fn data(&mut self, ethertype: u16, packet: &[u8]) {
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
    pub fn ip(&mut self, protocol: u8, payload: &[u8]) {
        let mut packet = Vec::new();
        header(protocol).emit(payload, &mut packet);
        self.data(ipv4::ETHERTYPE, &packet);
    }

    /// Values of `fields` in each frame as tshark prints them; `None` without tshark.
    ///
    /// # Panics
    ///
    /// If tshark reports an error or a warning.
    pub fn read(&self, fields: &[&str]) -> Option<Vec<Vec<String>>> {
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

    /// Values of `fields` in each frame as tshark prints them, errors included; `None` without tshark.
    ///
    /// # Panics
    ///
    /// If tshark fails.
    #[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
    pub fn read_any(&self, fields: &[&str]) -> Option<Vec<Vec<String>>> {
        if Command::new("tshark").arg("--version").output().is_err() {
            println!("skipped: tshark not found");
            return None;
        }
        let path = std::env::temp_dir().join(format!("multihop-{}-{}.pcap", process::id(), self.name));
        fs::write(&path, self.file()).expect("the folder for temporary files can be written");
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

    /// The capture in the format of libpcap, with times in nanoseconds.
    fn file(&self) -> Vec<u8> {
        let mut bytes = words(&[NANOSECONDS, VERSION_2_4, 0, 0, u32::MAX, radiotap::LINKTYPE.into()]);
        for (frame, millis) in self.frames.iter().zip(0..) {
            let len = u32::try_from(frame.len()).expect("a short frame");
            bytes.extend(words(&[0, millis * 1_000_000, len, len]));
            bytes.extend(frame);
        }
        bytes
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// First word of a capture file of libpcap whose times are seconds and nanoseconds.
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Version of the format: 2 and 4, in two bytes each.
const VERSION_2_4: u32 = 0x0004_0002;

/// Checks that are off or partly off by default.
const CHECKS: &[&str] =
    &["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum", "wlan.check_checksum"];

/// The fields in which tshark reports errors of checksums, lengths and options.
const FAULTS: &[&str] = &["_ws.malformed", "_ws.expert.severity", "_ws.expert.message"];

/// tshark's severity of a warning. Comments and notes, such as on retries, have lower ones.
const WARNING: u32 = 0x0060_0000;

/// Header of a datagram from A to B.
pub fn header(protocol: u8) -> ipv4::Header {
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
