use multihop_linux::netlink::attributes;
use proptest::prelude::*;

use super::*;

/// Frame message with these rates, as the kernel builds it.
fn frame_message(rates: &[u8], flags_of_rates: &[u8]) -> Vec<u8> {
    let mut request = Request::new(0, 0);
    request
        .attribute(ADDR_TRANSMITTER, &[2, 0, 0, 0, 0, 1])
        .attribute(FRAME, &[0x88, 2, 0, 0, 2, 0, 0, 0, 0, 7, 9, 9])
        .attribute(FLAGS, &2_u32.to_ne_bytes())
        .attribute(FREQ, &2412_u32.to_ne_bytes())
        .attribute(TX_INFO, rates)
        .attribute(TX_INFO_FLAGS, flags_of_rates)
        .attribute(COOKIE, &77_u64.to_ne_bytes());
    request.body().to_vec()
}

#[test]
fn frames_of_the_kernel_are_read() {
    let message = frame_message(&[3, 4, 1, 2, 0xff, 0, 0xff, 0], &[3, 0, 0, 1, 0, 0]);
    let Some(Report::Frame(frame)) = parse(CMD_FRAME, &message) else { panic!("a frame") };
    assert_eq!((frame.radio, frame.cookie, frame.flags, frame.mhz), ([2, 0, 0, 0, 0, 1], 77, 2, 2412));
    assert_eq!(frame.receiver(), Some([2, 0, 0, 0, 0, 7]));
    let rate = |index, count| TxRate { index, count, flags: 0 };
    assert_eq!(frame.rates, [rate(3, 4), rate(1, 2), TxRate::NONE, TxRate::NONE]);
    assert!(!frame.rates[0].is_mcs() && !frame.is_beacon());
    let mcs = frame_message(&[3, 4], &[3, 8, 0]);
    let Some(Report::Frame(frame)) = parse(CMD_FRAME, &mcs) else { panic!("a frame") };
    assert_eq!(frame.rates[0].mcs_rate(), Some(BitRate(26_000_000)));
}

#[test]
fn an_mcs_has_the_bit_rate_of_its_streams_width_and_guard_interval() {
    let mbps = |index, flags| {
        let rate = TxRate { index, count: 1, flags }.mcs_rate();
        rate.map(|rate| (rate.0 + 50_000) / 100_000)
    };
    assert_eq!(mbps(7, 0), None, "a rate of the band");
    assert_eq!(mbps(7, RATE_IS_MCS), Some(650));
    assert_eq!(mbps(15, RATE_IS_MCS | RATE_HAS_SHORT_GUARD), Some(1444));
    assert_eq!(mbps(7, RATE_IS_MCS | RATE_IS_40_MHZ), Some(1350));
    assert_eq!(mbps(0x19, RATE_IS_VHT_MCS | RATE_IS_80_MHZ), Some(7800));
    assert_eq!(mbps(0x09, RATE_IS_VHT_MCS | RATE_IS_160_MHZ), Some(7800));
    assert_eq!(mbps(0xf, RATE_IS_VHT_MCS), None, "no such scheme");
    assert_eq!(mbps(-1, RATE_IS_MCS), None);
}

#[test]
fn a_beacon_of_linux_6_1_is_read() {
    let Some(Report::Frame(frame)) = parse(CMD_FRAME, BEACON_OF_LINUX) else { panic!("a frame") };
    assert!(frame.is_beacon());
    assert_eq!(frame.radio, [2, 0, 0, 0, 0, 0]);
    assert_eq!(frame.receiver(), Some([0xff; 6]));
    assert_eq!((frame.mhz, frame.rates[0].index), (2412, 0));
}

#[test]
fn addresses_of_interfaces_are_read() {
    let mut request = Request::new(0, 0);
    request.attribute(ADDR_TRANSMITTER, &[2; 6]).attribute(ADDR_RECEIVER, &[3; 6]);
    let report = |is_added| Some(Report::Address { radio: [2; 6], address: [3; 6], is_added });
    assert_eq!(parse(CMD_ADD_MAC_ADDR, request.body()), report(true));
    assert_eq!(parse(CMD_DEL_MAC_ADDR, request.body()), report(false));
    assert_eq!(parse(CMD_NEW_RADIO, request.body()), None);
}

#[test]
fn outcomes_repeat_flags_and_cookie() {
    let rates = [TxRate { index: 2, count: 3, flags: 0 }, TxRate::NONE, TxRate::NONE, TxRate::NONE];
    let outcome = Outcome { radio: [2; 6], flags: 1, is_acknowledged: true, rates, dbm: -60, cookie: 5 };
    let mut request = Request::new(0, 0);
    finished(&mut request, &outcome);
    let found: Vec<_> = attributes(request.body()).collect();
    let (flags, dbm) = (5_u32.to_ne_bytes(), (-60_i32).to_ne_bytes());
    assert_eq!(found[1], (FLAGS, &flags[..]));
    assert_eq!(found[2], (TX_INFO, &[2, 3, 0xff, 0, 0xff, 0, 0xff, 0][..]));
    assert_eq!(found[3], (SIGNAL, &dbm[..]));
    assert_eq!(found[4], (COOKIE, &5_u64.to_ne_bytes()[..]));
}

proptest! {
    #[test]
    fn damaged_messages_are_no_harm(at in 0..200_usize, byte: u8, cut in 0..200_usize) {
        let mut bytes = frame_message(&[3, 4, 1, 2, 0xff, 0, 0xff, 0], &[3, 0, 0]);
        let length = bytes.len();
        bytes[at % length] = byte;
        let _ = parse(CMD_FRAME, &bytes);
        bytes.truncate(cut);
        let _ = parse(CMD_FRAME, &bytes);
    }

    #[test]
    fn nonsense_is_no_harm(command: u8, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Some(Report::Frame(frame)) = parse(command, &bytes) {
            let _ = (frame.receiver(), frame.is_beacon());
        }
    }
}

/// Attributes of a frame message of Linux 6.1.0-57: a beacon of a mesh point on channel 1.
#[rustfmt::skip]
const BEACON_OF_LINUX: &[u8] = &[
    0x0a, 0x00, 0x02, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x51, 0x00, 0x03, 0x00, 0x80, 0x00, 0x00, 0x00,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xc4, 0x00, 0xf2, 0x6a, 0x81, 0x61, 0x06, 0x00, 0xe8, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x82, 0x04, 0x0b, 0x16,
    0x0c, 0x12, 0x18, 0x24, 0x03, 0x01, 0x01, 0x05, 0x04, 0x00, 0x02, 0x00, 0x00, 0x32, 0x04, 0x30, 0x48, 0x60, 0x6c, 0x72,
    0x03, 0x61, 0x69, 0x72, 0x71, 0x07, 0x01, 0x01, 0x00, 0x01, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x08, 0x00, 0x04, 0x00,
    0x02, 0x00, 0x00, 0x00, 0x08, 0x00, 0x13, 0x00, 0x6c, 0x09, 0x00, 0x00, 0x0c, 0x00, 0x07, 0x00, 0x00, 0x01, 0xff, 0x00,
    0xff, 0x00, 0xff, 0x00, 0x10, 0x00, 0x15, 0x00, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00, 0xff, 0x00, 0x00, 0xff, 0x00, 0x00,
    0x0c, 0x00, 0x08, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
];
