//! Statistics that a Wi-Fi card keeps of its neighbours and of its channel (nl80211).

use std::io;

use nix::libc;

use super::generic::Family;
use super::message::{attribute, attributes, number};

/// The Wi-Fi part of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Wifi(Family);

/// Statistics of a station with which an interface's card communicates. Values that the driver does not report are
/// `None`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Station {
    /// Link address of the station.
    pub address: [u8; 6],
    /// Bytes sent to the station.
    pub sent_bytes: Option<u64>,
    /// Packets sent to the station.
    pub sent_packets: Option<u32>,
    /// Number of retransmissions to the station.
    pub retries: Option<u32>,
    /// Rate of transmissions to the station, bit/s.
    pub rate: Option<u64>,
    /// Throughput to the station that the card expects, bit/s.
    pub throughput: Option<u64>,
    /// Strength of the last signal from the station, dBm.
    pub signal: Option<i8>,
    /// Bytes that wait in the card's queues for the station.
    pub waiting: Option<u64>,
}

/// The times of the channel that an interface uses, since the card counts them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Channel {
    /// Time for which the card has listened to the channel, ms.
    pub time: u64,
    /// Time for which the card has found the channel busy, ms.
    pub busy: u64,
}

impl Wifi {
    /// Opens the kernel's interface to Wi-Fi cards; `None` if this kernel has no Wi-Fi, or none yet.
    pub fn open() -> io::Result<Option<Self>> {
        Ok(Family::find("nl80211")?.map(Self))
    }

    /// Statistics of all stations with which an interface communicates; `None` if the interface is not of a Wi-Fi
    /// card.
    pub fn stations(self, interface: u32) -> io::Result<Option<Vec<Station>>> {
        let list = self.dump(NL80211_CMD_GET_STATION, interface)?;
        Ok(list.map(|list| list.iter().filter_map(|message| station(message)).collect()))
    }

    /// The channel of an interface, if its card counts times.
    pub fn channel(self, interface: u32) -> io::Result<Option<Channel>> {
        let list = self.dump(NL80211_CMD_GET_SURVEY, interface)?.unwrap_or_default();
        Ok(list.iter().find_map(|message| channel(message)))
    }

    fn dump(self, command: u8, interface: u32) -> io::Result<Option<Vec<Vec<u8>>>> {
        match self.0.dump(command, (NL80211_ATTR_IFINDEX, interface)) {
            Ok(list) => Ok(Some(list)),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENODEV | libc::EOPNOTSUPP) => Ok(None),
                _ => Err(error),
            },
        }
    }
}

fn station(message: &[u8]) -> Option<Station> {
    let address = attribute(message, NL80211_ATTR_MAC)?.try_into().ok()?;
    let known = attribute(message, NL80211_ATTR_STA_INFO)?;
    let count = |kind| attribute(known, kind).and_then(number);
    let sent = attribute(known, NL80211_STA_INFO_TX_BYTES64).and_then(long);
    Some(Station {
        address,
        sent_bytes: sent.or_else(|| count(NL80211_STA_INFO_TX_BYTES).map(u64::from)),
        sent_packets: count(NL80211_STA_INFO_TX_PACKETS),
        retries: count(NL80211_STA_INFO_TX_RETRIES),
        rate: attribute(known, NL80211_STA_INFO_TX_BITRATE).and_then(rate),
        // kbit/s.
        throughput: count(NL80211_STA_INFO_EXPECTED_THROUGHPUT).map(|rate| u64::from(rate) * 1_000),
        signal: attribute(known, NL80211_STA_INFO_SIGNAL)
            .and_then(|bytes| bytes.first())
            .map(|byte| byte.cast_signed()),
        waiting: attribute(known, NL80211_STA_INFO_TID_STATS).and_then(waiting),
    })
}

/// Bit rate in bit/s from rate attributes, in units of 100 kbit/s: the 32-bit attribute, or the 16-bit one of old
/// kernels.
fn rate(bytes: &[u8]) -> Option<u64> {
    let long = attribute(bytes, NL80211_RATE_INFO_BITRATE32).and_then(number);
    let short = || attribute(bytes, NL80211_RATE_INFO_BITRATE)?.try_into().ok().map(u16::from_ne_bytes);
    let units = long.or_else(|| short().map(u32::from))?;
    (units > 0).then(|| u64::from(units) * 100_000)
}

/// The sum over the traffic classes; `None` if the card has no queues for single stations.
fn waiting(classes: &[u8]) -> Option<u64> {
    let bytes = |class| {
        let queue = attribute(class, NL80211_TID_STATS_TXQ_STATS)?;
        attribute(queue, NL80211_TXQ_STATS_BACKLOG_BYTES).and_then(number).map(u64::from)
    };
    attributes(classes).filter_map(|(_, class)| bytes(class)).reduce(|one, other| one + other)
}

/// Times of the channel in use; `None` if the message is about another channel.
fn channel(message: &[u8]) -> Option<Channel> {
    let known = attribute(message, NL80211_ATTR_SURVEY_INFO)?;
    attribute(known, NL80211_SURVEY_INFO_IN_USE)?;
    let time = |kind| attribute(known, kind).and_then(long);
    Some(Channel { time: time(NL80211_SURVEY_INFO_TIME)?, busy: time(NL80211_SURVEY_INFO_TIME_BUSY)? })
}

fn long(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_ne_bytes)
}

// Constants of linux/nl80211.h.
const NL80211_CMD_GET_STATION: u8 = 17;
const NL80211_CMD_GET_SURVEY: u8 = 50;
const NL80211_ATTR_IFINDEX: u16 = 3;
const NL80211_ATTR_MAC: u16 = 6;
const NL80211_ATTR_STA_INFO: u16 = 21;
const NL80211_ATTR_SURVEY_INFO: u16 = 84;
const NL80211_STA_INFO_TX_BYTES: u16 = 3;
const NL80211_STA_INFO_SIGNAL: u16 = 7;
const NL80211_STA_INFO_TX_BITRATE: u16 = 8;
const NL80211_STA_INFO_TX_PACKETS: u16 = 10;
const NL80211_STA_INFO_TX_RETRIES: u16 = 11;
const NL80211_STA_INFO_TX_BYTES64: u16 = 24;
const NL80211_STA_INFO_EXPECTED_THROUGHPUT: u16 = 27;
const NL80211_STA_INFO_TID_STATS: u16 = 31;
const NL80211_RATE_INFO_BITRATE: u16 = 1;
const NL80211_RATE_INFO_BITRATE32: u16 = 5;
const NL80211_TID_STATS_TXQ_STATS: u16 = 6;
const NL80211_TXQ_STATS_BACKLOG_BYTES: u16 = 1;
const NL80211_SURVEY_INFO_IN_USE: u16 = 3;
const NL80211_SURVEY_INFO_TIME: u16 = 4;
const NL80211_SURVEY_INFO_TIME_BUSY: u16 = 5;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::Request;
    use super::super::message::tests::content;
    use super::*;

    type Part = fn(&mut Request) -> &mut Request;

    /// A message about a station as the kernel sends it: these attributes, and some that nobody requested.
    fn message(rate: &[u8], more: Part) -> Vec<u8> {
        let queue = |bytes: u32| {
            let counts = content(|request| {
                request.attribute(2, &[1; 4]).attribute(NL80211_TXQ_STATS_BACKLOG_BYTES, &bytes.to_ne_bytes())
            });
            content(|request| {
                request.attribute(1, &[9; 8]).attribute(NL80211_TID_STATS_TXQ_STATS | NESTED, &counts)
            })
        };
        let classes =
            content(|request| request.attribute(1 | NESTED, &queue(1_500)).attribute(7, &queue(64)));
        let known = content(|request| {
            request.attribute(1, &10_u32.to_ne_bytes());
            request.attribute(NL80211_STA_INFO_TX_BYTES, &7_u32.to_ne_bytes());
            request.attribute(NL80211_STA_INFO_SIGNAL, &[0xc4]);
            request.attribute(NL80211_STA_INFO_TX_BITRATE, rate);
            request.attribute(NL80211_STA_INFO_TX_PACKETS, &1_000_u32.to_ne_bytes());
            request.attribute(NL80211_STA_INFO_TX_RETRIES, &250_u32.to_ne_bytes());
            more(request).attribute(NL80211_STA_INFO_TID_STATS, &classes).attribute(500, &[1, 2, 3])
        });
        content(|request| {
            request.attribute(NL80211_ATTR_IFINDEX, &7_u32.to_ne_bytes());
            request.attribute(NL80211_ATTR_MAC, &[2, 0, 0, 0, 0, 5]);
            request.attribute(NL80211_ATTR_STA_INFO | NESTED, &known)
        })
    }

    fn rate_of(units: u16) -> Vec<u8> {
        content(|request| request.attribute(NL80211_RATE_INFO_BITRATE, &units.to_ne_bytes()))
    }

    #[test]
    fn stations_are_read() {
        let wanted = Station {
            address: [2, 0, 0, 0, 0, 5],
            sent_bytes: Some(7),
            sent_packets: Some(1_000),
            retries: Some(250),
            rate: Some(54_000_000),
            throughput: None,
            signal: Some(-60),
            waiting: Some(1_564),
        };
        assert_eq!(station(&message(&rate_of(540), |request| request)), Some(wanted));
        let fast = content(|request| {
            request.attribute(NL80211_RATE_INFO_BITRATE, &u16::MAX.to_ne_bytes());
            request.attribute(NL80211_RATE_INFO_BITRATE32, &86_470_u32.to_ne_bytes())
        });
        let newer = message(&fast, |request| {
            request.attribute(NL80211_STA_INFO_TX_BYTES64, &(1_u64 << 40).to_ne_bytes());
            request.attribute(NL80211_STA_INFO_EXPECTED_THROUGHPUT, &36_000_u32.to_ne_bytes())
        });
        let newer = station(&newer).unwrap();
        assert_eq!((newer.rate, newer.sent_bytes), (Some(8_647_000_000), Some(1 << 40)));
        assert_eq!(newer.throughput, Some(36_000_000));
        let unknown = station(&message(&rate_of(0), |request| request)).unwrap();
        assert_eq!(unknown.rate, None, "a card that does not tell");
    }

    #[test]
    fn the_channel_in_use_is_read() {
        let survey = |in_use: bool| {
            let known = content(|request| {
                request.attribute(1, &2_437_u32.to_ne_bytes());
                if in_use {
                    request.attribute(NL80211_SURVEY_INFO_IN_USE, &[]);
                }
                request.attribute(NL80211_SURVEY_INFO_TIME, &900_u64.to_ne_bytes());
                request.attribute(NL80211_SURVEY_INFO_TIME_BUSY, &300_u64.to_ne_bytes())
            });
            content(|request| request.attribute(NL80211_ATTR_SURVEY_INFO, &known))
        };
        assert_eq!(channel(&survey(true)), Some(Channel { time: 900, busy: 300 }));
        assert_eq!(channel(&survey(false)), None);
    }

    #[test]
    fn an_interface_without_wifi_has_no_stations() {
        match Wifi::open().unwrap() {
            // The loopback interface.
            Some(wifi) => assert_eq!(wifi.stations(1).unwrap(), None),
            None => println!("skipped: this kernel has no Wi-Fi"),
        }
    }

    proptest! {
        #[test]
        fn damaged_messages_are_no_harm(at in 0..400_usize, byte: u8, cut in 0..400_usize) {
            let mut bytes = message(&rate_of(540), |request| request);
            let length = bytes.len();
            bytes[at % length] = byte;
            let _ = (station(&bytes), channel(&bytes));
            bytes.truncate(cut);
            let _ = (station(&bytes), channel(&bytes));
        }

        #[test]
        fn nonsense_is_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (station(&bytes), channel(&bytes), rate(&bytes), waiting(&bytes));
        }
    }

    /// Flag of an attribute that contains attributes (linux/netlink.h).
    const NESTED: u16 = 0x8000;
}
