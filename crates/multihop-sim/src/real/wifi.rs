//! 802.11 frames of a real kernel's Wi-Fi stack.

use std::sync::Arc;

use multihop_core::{BitRate, Interface};
use multihop_radio::frame::Category;

/// An 802.11 frame of a real kernel, from its frame control field to the end of its body, without a checksum.
#[derive(Clone, Debug)]
pub struct WifiFrame {
    bytes: Arc<[u8]>,
    /// Bytes that the MAC adds its header and checksum to, so that the frame has its real length on the air.
    accounted: u32,
    /// Radio whose stack sent the frame.
    pub(crate) interface: Interface,
    /// Number by which the stack recognises the frame.
    pub(crate) cookie: u64,
    /// Transmissions of the frame so far.
    pub(crate) attempts: Vec<Attempts>,
}

/// Consecutive transmissions of a frame at one rate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Attempts {
    /// Bit rate of the transmissions.
    pub rate: BitRate,
    /// Number of the transmissions.
    pub count: u8,
}

impl WifiFrame {
    /// A frame that enters a radio whose MAC adds `overhead` bytes to each packet.
    pub(crate) fn new(bytes: &[u8], overhead: u32, interface: Interface, cookie: u64) -> Self {
        let on_air = u32::try_from(bytes.len()).expect("frames are below 64 KiB") + CHECKSUM;
        Self {
            bytes: bytes.into(),
            accounted: on_air.saturating_sub(overhead),
            interface,
            cookie,
            attempts: Vec::new(),
        }
    }

    /// Counts a transmission of the frame.
    pub(crate) fn note_attempt(&mut self, rate: BitRate) {
        match self.attempts.last_mut() {
            Some(last) if last.rate == rate => last.count = last.count.saturating_add(1),
            _ => self.attempts.push(Attempts { rate, count: 1 }),
        }
    }

    pub(crate) fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    pub(crate) fn accounted(&self) -> u32 {
        self.accounted
    }

    /// The DSCP that selects the frame's access category: of QoS data by their user priority, of management frames voice.
    pub(crate) fn dscp(&self) -> u8 {
        match category(&self.bytes) {
            Category::Background => 8,
            Category::BestEffort => 0,
            Category::Video => 40,
            Category::Voice => 46,
        }
    }
}

/// Access category of an 802.11 frame (IEEE 802.11-2016, table 10-1).
fn category(bytes: &[u8]) -> Category {
    let (Some(&control), Some(&flags)) = (bytes.first(), bytes.get(1)) else { return Category::BestEffort };
    let is_data = control & TYPE == DATA;
    if !is_data {
        return Category::Voice;
    }
    if control & QOS == 0 {
        return Category::BestEffort;
    }
    let address4 = if flags & BOTH_DS == BOTH_DS { 6 } else { 0 };
    match bytes.get(24 + address4).map_or(0, |control| control & 7) {
        1 | 2 => Category::Background,
        4 | 5 => Category::Video,
        6 | 7 => Category::Voice,
        _ => Category::BestEffort,
    }
}

/// Bytes of the frame check sequence, which the kernel leaves out.
const CHECKSUM: u32 = 4;
/// Bits of the frame control field: type, type of data frames, QoS subtype; in its second byte to DS and from DS.
const TYPE: u8 = 0x0c;
const DATA: u8 = 0x08;
const QOS: u8 = 0x80;
const BOTH_DS: u8 = 0x03;

#[cfg(test)]
mod tests {
    use super::*;

    fn qos(flags: u8, at: usize, priority: u8) -> Vec<u8> {
        let mut bytes = vec![0; 60];
        (bytes[0], bytes[1], bytes[at]) = (0x88, flags, priority);
        bytes
    }

    #[test]
    fn a_frame_has_its_real_length_on_the_air() {
        let frame = WifiFrame::new(&[0; 100], 36, Interface(0), 7);
        assert_eq!(frame.accounted() + 36, 104);
        assert_eq!(WifiFrame::new(&[0; 24], 36, Interface(0), 7).accounted(), 0, "a null frame");
    }

    #[test]
    fn priorities_and_types_select_the_category() {
        assert_eq!(category(&[0x80; 40]), Category::Voice, "a beacon");
        assert_eq!(category(&[0x08; 40]), Category::BestEffort, "data without QoS");
        assert_eq!(category(&qos(0x01, 24, 5)), Category::Video);
        assert_eq!(category(&qos(0x03, 30, 1)), Category::Background, "four addresses");
        assert_eq!(category(&[0x88]), Category::BestEffort, "cut off");
        assert_eq!(category(&[]), Category::BestEffort);
    }
}
