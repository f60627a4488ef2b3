//! Strategies shared by the property tests of several formats.

use core::num::{NonZeroU8, NonZeroU16};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use multihop_core::Payload;

pub(crate) use multihop_testkit::damage::{Damage, damage};

use crate::control::{Cause, ChannelLimits, Control, Features, Names, Options, Reset, Syn};

/// Some data, or none.
pub(crate) fn payload() -> impl Strategy<Value = Payload> {
    vec(any::<u8>(), 0..64)
        .prop_map(|bytes| if bytes.is_empty() { Payload::EMPTY } else { Payload::Bytes(bytes) })
}

fn names() -> impl Strategy<Value = Names> {
    vec("[!-~]{1,28}", 0..=Names::MAX_NAMES).prop_map(|names| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Names::new(&names).unwrap()
    })
}

fn options() -> impl Strategy<Value = Options> {
    let unknown = option::of((4_u8..=127).prop_map(|half| 2 * half + 1));
    let numbers = (any::<Option<NonZeroU8>>(), any::<Option<NonZeroU16>>(), unknown);
    let limits = option::of(any::<(u16, u32, u64)>());
    (any::<u8>(), names(), any::<u64>(), any::<Option<[u8; 16]>>(), numbers, limits).prop_map(
        |(version, transports, features, cookie, (initial_ttl, mss, unknown), limits)| Options {
            version,
            transports,
            features: Features(features),
            cookie,
            initial_ttl,
            mss,
            channels: limits.map(|(channels, credit, message)| ChannelLimits { channels, credit, message }),
            padding: 0,
            unknown,
        },
    )
}

/// Any control segment, with an unknown option or without.
pub(crate) fn control() -> impl Strategy<Value = Control> {
    let syn = (any::<(u32, u8, Option<u32>, u16)>(), options()).prop_map(
        |((number, attempt, answers, window), options)| {
            Control::Syn(Syn { number, attempt, answers, window, options })
        },
    );
    let reset =
        (any::<(u8, u32, bool)>(), "[ -~]{0,200}").prop_map(|((cause, number, is_expected), text)| {
            Control::Reset(Reset { cause: Cause(cause), number, is_expected, text })
        });
    prop_oneof![syn, reset, any::<u32>().prop_map(Control::KeepAlive)]
}

/// Writes the correct checksum at offset `at`, if that is inside the packet.
pub(crate) fn set_checksum(packet: &mut [u8], at: usize, checksum: impl Fn(&[u8]) -> u16) {
    if packet.len() >= at + 2 {
        packet[at..at + 2].fill(0);
        let sum = checksum(packet);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}
