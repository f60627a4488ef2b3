//! Messages of `mac80211_hwsim`: frames and outcomes between the kernel's Wi-Fi stack and the medium.

use multihop_core::BitRate;
use multihop_linux::netlink::{Request, attribute};

/// Name of the family of generic netlink.
pub(crate) const FAMILY: &str = "MAC80211_HWSIM";

/// Hardware address of a radio or of an interface.
pub(crate) type Address = [u8; 6];

/// Message of the kernel that matters to the medium.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Report {
    /// A radio transmits a frame.
    Frame(Transmitted),
    /// A radio accepts frames to another address, or no longer does.
    Address {
        /// Hardware address of the radio.
        radio: Address,
        /// Address of an interface of the radio.
        address: Address,
        /// Whether the address is new.
        is_added: bool,
    },
}

/// Frame that a radio transmits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Transmitted {
    /// Hardware address of the radio.
    pub(crate) radio: Address,
    /// The 802.11 frame without its checksum.
    pub(crate) bytes: Vec<u8>,
    /// Flags of the transmission, which the outcome repeats.
    pub(crate) flags: u32,
    /// Rates that the kernel's rate control has chosen.
    pub(crate) rates: [TxRate; RATES],
    /// Number by which the kernel recognises the frame.
    pub(crate) cookie: u64,
    /// Centre frequency of the radio's channel, MHz.
    pub(crate) mhz: u32,
}

/// Rate of a transmission, and number of attempts with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TxRate {
    /// Index of the rate in the band, or an MCS; -1 ends the list.
    pub(crate) index: i8,
    /// Number of attempts with this rate, before the next one.
    pub(crate) count: u8,
    /// Flags of a rate that the kernel has chosen.
    pub(crate) flags: u16,
}

impl TxRate {
    /// End of a list of rates.
    pub(crate) const NONE: Self = Self { index: -1, count: 0, flags: 0 };

    /// Whether the rate is an MCS of 802.11n or 802.11ac, and not a rate of the band.
    pub(crate) const fn is_mcs(self) -> bool {
        self.flags & (RATE_IS_MCS | RATE_IS_VHT_MCS) != 0
    }

    /// Bit rate of an MCS; `None` for rates of the band and for the end of a list.
    pub(crate) fn mcs_rate(self) -> Option<BitRate> {
        let index = usize::try_from(self.index).ok().filter(|_| self.is_mcs())?;
        let is_vht = self.flags & RATE_IS_VHT_MCS != 0;
        let (streams, scheme) = if is_vht { (index >> 4, index & 0xf) } else { (index / 8, index % 8) };
        let (times, per) = match self.flags {
            wide if wide & RATE_IS_160_MHZ != 0 => (9, 1),
            wide if wide & RATE_IS_80_MHZ != 0 => (9, 2),
            wide if wide & RATE_IS_40_MHZ != 0 => (27, 13),
            _ => (1, 1),
        };
        let (more, less) = if self.flags & RATE_HAS_SHORT_GUARD != 0 { (10, 9) } else { (1, 1) };
        let streams = u64::try_from(streams).ok()? + 1;
        Some(BitRate(MCS_BPS.get(scheme)? * streams * times * more / (per * less)))
    }
}

impl Transmitted {
    /// Whether the frame is a beacon.
    pub(crate) fn is_beacon(&self) -> bool {
        self.bytes.first() == Some(&BEACON)
    }

    /// Address of the receiver: a station, or a group.
    pub(crate) fn receiver(&self) -> Option<Address> {
        self.bytes.get(4..10)?.try_into().ok()
    }
}

/// Outcome of a frame for the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Outcome {
    /// Hardware address of the radio that transmitted the frame.
    pub(crate) radio: Address,
    /// Flags of the transmission.
    pub(crate) flags: u32,
    /// Whether the receiver has acknowledged the frame.
    pub(crate) is_acknowledged: bool,
    /// Rates and attempts.
    pub(crate) rates: [TxRate; RATES],
    /// Power of the acknowledgement, dBm.
    pub(crate) dbm: i32,
    /// Number of the frame.
    pub(crate) cookie: u64,
}

impl Outcome {
    /// Number of attempts after the first one.
    pub(crate) fn retries(&self) -> u64 {
        self.rates.iter().map(|rate| u64::from(rate.count)).sum::<u64>().saturating_sub(1)
    }
}

/// Reads a message of the kernel: its command, and its attributes. `None` for messages that do not matter or are malformed.
pub(crate) fn parse(command: u8, attributes: &[u8]) -> Option<Report> {
    let address = |kind| attribute(attributes, kind)?.try_into().ok();
    let number = |kind| attribute(attributes, kind)?.try_into().ok().map(u32::from_ne_bytes);
    let radio = address(ADDR_TRANSMITTER)?;
    match command {
        CMD_FRAME => {
            let cookie = attribute(attributes, COOKIE)?.try_into().ok()?;
            let flags = attribute(attributes, TX_INFO_FLAGS).unwrap_or_default();
            Some(Report::Frame(Transmitted {
                radio,
                bytes: attribute(attributes, FRAME)?.to_vec(),
                flags: number(FLAGS)?,
                rates: rates(attribute(attributes, TX_INFO)?, flags),
                cookie: u64::from_ne_bytes(cookie),
                mhz: number(FREQ)?,
            }))
        }
        CMD_ADD_MAC_ADDR | CMD_DEL_MAC_ADDR => {
            let is_added = command == CMD_ADD_MAC_ADDR;
            Some(Report::Address { radio, address: address(ADDR_RECEIVER)?, is_added })
        }
        _ => None,
    }
}

/// Reads a list of indices and counts, and the flags of each entry: an index, then 16 bits.
fn rates(bytes: &[u8], flags: &[u8]) -> [TxRate; RATES] {
    let mut rates = [TxRate::NONE; RATES];
    for (rate, pair) in rates.iter_mut().zip(bytes.chunks_exact(2)) {
        *rate = TxRate { index: pair[0].cast_signed(), count: pair[1], flags: 0 };
    }
    for (rate, flags) in rates.iter_mut().zip(flags.chunks_exact(3)) {
        rate.flags = u16::from_ne_bytes([flags[1], flags[2]]);
    }
    rates
}

/// Fills a request that makes a radio with this name and address. It ends when the socket that made it is closed.
pub(crate) fn new_radio(request: &mut Request, name: &str, address: Address) {
    request
        .attribute(RADIO_NAME, &[name.as_bytes(), &[0]].concat())
        .attribute(PERM_ADDR, &address)
        .attribute(CHANNELS, &1_u32.to_ne_bytes())
        .attribute(DESTROY_RADIO_ON_CLOSE, &[]);
}

/// Fills a request that delivers a frame to a radio: with the index of its rate, its power and its frequency.
pub(crate) fn received(request: &mut Request, radio: Address, bytes: &[u8], rate: u32, dbm: i32, mhz: u32) {
    request
        .attribute(ADDR_RECEIVER, &radio)
        .attribute(FRAME, bytes)
        .attribute(RX_RATE, &rate.to_ne_bytes())
        .attribute(SIGNAL, &dbm.to_ne_bytes())
        .attribute(FREQ, &mhz.to_ne_bytes());
}

/// Fills a request that reports the outcome of a frame.
pub(crate) fn finished(request: &mut Request, outcome: &Outcome) {
    let acknowledged = if outcome.is_acknowledged { STAT_ACK } else { 0 };
    let rates: Vec<u8> =
        outcome.rates.iter().flat_map(|rate| [rate.index.cast_unsigned(), rate.count]).collect();
    request
        .attribute(ADDR_TRANSMITTER, &outcome.radio)
        .attribute(FLAGS, &(outcome.flags | acknowledged).to_ne_bytes())
        .attribute(TX_INFO, &rates)
        .attribute(SIGNAL, &outcome.dbm.to_ne_bytes())
        .attribute(COOKIE, &outcome.cookie.to_ne_bytes());
}

/// First byte of the frame control field of a beacon.
const BEACON: u8 = 0x80;
/// Number of rates in a list.
pub(crate) const RATES: usize = 4;

// Numbers of the protocol of mac80211_hwsim.
pub(crate) const CMD_REGISTER: u8 = 1;
pub(crate) const CMD_FRAME: u8 = 2;
pub(crate) const CMD_TX_INFO_FRAME: u8 = 3;
pub(crate) const CMD_NEW_RADIO: u8 = 4;
const CMD_ADD_MAC_ADDR: u8 = 7;
const CMD_DEL_MAC_ADDR: u8 = 8;
const ADDR_RECEIVER: u16 = 1;
const ADDR_TRANSMITTER: u16 = 2;
const FRAME: u16 = 3;
const FLAGS: u16 = 4;
const RX_RATE: u16 = 5;
const SIGNAL: u16 = 6;
const TX_INFO: u16 = 7;
const COOKIE: u16 = 8;
const CHANNELS: u16 = 9;
const DESTROY_RADIO_ON_CLOSE: u16 = 16;
const RADIO_NAME: u16 = 17;
const FREQ: u16 = 19;
const TX_INFO_FLAGS: u16 = 21;
const PERM_ADDR: u16 = 22;
/// Flag of an outcome: the frame was acknowledged.
const STAT_ACK: u32 = 4;
const RATE_IS_MCS: u16 = 8;
const RATE_IS_40_MHZ: u16 = 0x20;
const RATE_HAS_SHORT_GUARD: u16 = 0x80;
const RATE_IS_VHT_MCS: u16 = 0x100;
const RATE_IS_80_MHZ: u16 = 0x200;
const RATE_IS_160_MHZ: u16 = 0x400;
/// Bit rates of the MCSs of one stream in 20 MHz with the long guard interval.
const MCS_BPS: [u64; 10] = [
    6_500_000, 13_000_000, 19_500_000, 26_000_000, 39_000_000, 52_000_000, 58_500_000, 65_000_000,
    78_000_000, 86_666_667,
];

#[cfg(test)]
pub(crate) mod tests;
