//! `tpa_setsockopt` and `tpa_getsockopt`: the numbers of the options and the bytes of their values, as in
//! `include/tpa.h`.

use std::io;
use std::path::PathBuf;

use multihop_net::{Stats, tpa};
use nix::libc;

use crate::error::bad;
use crate::memory::{self, Packed};
use crate::socket::Socket;

pub(crate) const LEVEL: i32 = 253;
const PLAIN: i32 = 1;
const TOKEN: i32 = 2;
const IDENTITY: i32 = 3;
const PEER: i32 = 4;
const KNOWN_PEERS: i32 = 5;
const NONBLOCKING: i32 = 6;
const LINGER: i32 = 7;
const CWND_MAX: i32 = 8;
const AUTHORIZED_KEYS: i32 = 9;
const STRICT: i32 = 10;
const SHARED_KEY: i32 = 11;
const SILENT: i32 = 12;
const ERROR: i32 = 16;
const ERROR_TEXT: i32 = 17;
const STATS: i32 = 18;
const LOCAL_ADDRESS: i32 = 19;
const PEER_ADDRESS: i32 = 20;
const PEER_KEY: i32 = 21;

pub(crate) fn set(socket: &Socket, option: i32, value: &[u8]) -> io::Result<()> {
    let mut options = socket.options();
    match option {
        PLAIN => options.choice.plain = integer(value)? != 0,
        TOKEN => options.choice.token = Some(text(value)?),
        IDENTITY => options.choice.identity = Some(PathBuf::from(text(value)?)),
        PEER => options.choice.peer = Some(text(value)?),
        KNOWN_PEERS => options.choice.known_peers = Some(PathBuf::from(text(value)?)),
        AUTHORIZED_KEYS => options.choice.authorized_keys = Some(PathBuf::from(text(value)?)),
        STRICT => options.choice.strict = integer(value)? != 0,
        SHARED_KEY => options.choice.shared_key = Some(PathBuf::from(text(value)?)),
        SILENT => options.choice.silent = integer(value)? != 0,
        NONBLOCKING => options.nonblocking = integer(value)? != 0,
        LINGER => options.linger = within(integer(value)?, 0, i32::MAX)?,
        CWND_MAX => {
            options.cwnd_max = Some(u8::try_from(within(integer(value)?, 1, 12)?).expect("checked just now"));
        }
        _ => return Err(bad(libc::ENOPROTOOPT)),
    }
    Ok(())
}

pub(crate) fn get(socket: &Socket, option: i32) -> io::Result<Vec<u8>> {
    let of_int = |value: i32| Ok(value.to_ne_bytes().to_vec());
    match option {
        NONBLOCKING => of_int(socket.options().nonblocking.into()),
        LINGER => of_int(socket.options().linger),
        CWND_MAX => of_int(socket.options().cwnd_max.unwrap_or(tpa::Config::net().cwnd_max).into()),
        ERROR => of_int(socket.take_failure().map_or(0, |failure| failure.errno)),
        ERROR_TEXT => Ok(c_text(&socket.failure().map_or(String::new(), |failure| failure.text))),
        STATS => Ok(memory::raw(&RawStats::from(socket.stats()?))),
        LOCAL_ADDRESS => socket.local_address().map(memory::raw_address),
        PEER_ADDRESS => socket.peer_address().map(memory::raw_address),
        PEER_KEY => Ok(c_text(&socket.peer_key()?.to_string())),
        _ => Err(bad(libc::ENOPROTOOPT)),
    }
}

fn integer(value: &[u8]) -> io::Result<i32> {
    value.try_into().map(i32::from_ne_bytes).map_err(|_| bad(libc::EINVAL))
}

fn within(value: i32, least: i32, most: i32) -> io::Result<i32> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(bad(libc::EINVAL)) }
}

/// Text with or without a zero byte at its end.
fn text(value: &[u8]) -> io::Result<String> {
    let value = value.strip_suffix(&[0]).unwrap_or(value);
    String::from_utf8(value.to_vec()).map_err(|_| bad(libc::EINVAL))
}

fn c_text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// Statistics in the layout of the header's `struct tpa_stats`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct RawStats {
    bytes_sent: u64,
    bytes_received: u64,
    datagrams_sent: u64,
    datagrams_received: u64,
    wire_bytes_sent: u64,
    wire_bytes_received: u64,
    segments_sent: u64,
    segments_retransmitted: u64,
    timeouts: u64,
    freezes: u64,
    notices: u64,
    rtt_us: u64,
    rto_us: u64,
    mss: u32,
    cwnd: u32,
    phase: u32,
    hops: u32,
}

// SAFETY: `repr(C)`; 13 fields of 8 bytes, then 4 of 4 bytes, are aligned without padding, and 13 * 8 + 4 * 4 = 120 is a
// multiple of 8, so there is none at the end. The assertion below checks the size.
#[expect(unsafe_code, reason = "Packed is an unsafe trait")]
unsafe impl Packed for RawStats {}
const _: () = assert!(size_of::<RawStats>() == 13 * 8 + 4 * 4);

impl From<Stats> for RawStats {
    fn from(stats: Stats) -> Self {
        let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let counters = stats.counters;
        Self {
            bytes_sent: counters.bytes_acked,
            bytes_received: counters.bytes_delivered,
            datagrams_sent: stats.datagrams_sent,
            datagrams_received: stats.datagrams_received,
            wire_bytes_sent: stats.bytes_sent,
            wire_bytes_received: stats.bytes_received,
            segments_sent: counters.data_sent,
            segments_retransmitted: counters.retransmitted,
            timeouts: counters.timeouts,
            freezes: counters.freezes,
            notices: counters.notices,
            rtt_us: stats.rtt.map_or(0, micros),
            rto_us: micros(stats.rto),
            mss: stats.mss,
            cwnd: stats.cwnd,
            phase: match stats.phase {
                "congested" => 1,
                "freeze" => 2,
                _ => 0,
            },
            hops: stats.hops.unwrap_or(0).into(),
        }
    }
}
