use core::num::{NonZeroU8, NonZeroU16};

use proptest::prelude::*;

use super::*;
use crate::testing::{control, damage};
use crate::tpa;

fn emitted(control: &Control) -> Vec<u8> {
    let mut out = Vec::new();
    control.emit(&mut out);
    out
}

/// A SYN with some options.
fn syn() -> Syn {
    let options = Options {
        version: VERSION,
        transports: Names::new(&["a/1", "tpa"]).unwrap(),
        initial_ttl: NonZeroU8::new(64),
        mss: NonZeroU16::new(1460),
        ..Options::default()
    };
    Syn { number: 5, attempt: 1, answers: None, window: 64, options }
}

/// A SYN with these bytes as options.
fn with_options(options: &[u8]) -> Result<Options, ParseError> {
    let mut bytes = emitted(&Control::Syn(Syn::default()));
    bytes.extend_from_slice(options);
    match Control::parse(&bytes)? {
        Control::Syn(syn) => Ok(syn.options),
        other => panic!("{other:?}"),
    }
}

#[test]
fn known_bytes() {
    let syn = syn();
    let options = b"\x01\x01\x03\x03\x08\x03a/1\x03tpa\x06\x01\x40\x08\x02\x05\xb4";
    let head = [0x30, 1, 0, 7, 0, 0, 0, 5, 0, 64];
    assert_eq!(emitted(&Control::Syn(syn.clone())), [&head[..], options].concat());
    let head = [0x31, 1, 0, 7, 0, 0, 0, 5, 0, 0, 0, 9, 0, 64];
    assert_eq!(emitted(&Control::Syn(Syn { answers: Some(9), ..syn })), [&head[..], options].concat());
    let reset =
        Reset { cause: Cause::TRANSPORT, number: 7, is_expected: true, text: String::from("only tpa") };
    let bytes = [&[0x32, 4, 1, 0, 0, 0, 0, 7][..], b"only tpa"].concat();
    assert_eq!(emitted(&Control::Reset(reset)), bytes);
    assert_eq!(emitted(&Control::KeepAlive(8)), [0x33, 0, 0, 0, 0, 0, 0, 8]);
}

#[test]
fn a_syn_is_not_a_segment_of_tpa() {
    let bytes = emitted(&Control::Syn(syn()));
    assert!(tpa::Segment::parse_in_udp(&bytes, 1, 2).is_err());
    let flags = bytes[3] & 7;
    assert_eq!(flags, 7, "RST, SYN and FIN of TPA");
}

#[test]
fn an_unknown_option_is_skipped_or_named() {
    let known = [1, 1, 3];
    let options = with_options(&[&[0, 0, 200, 2, 1, 2][..], &known].concat()).unwrap();
    assert_eq!(options, Options { version: 3, ..Options::default() });
    let options = with_options(&[&known[..], &[201, 2, 1, 2, 77, 0]].concat()).unwrap();
    assert_eq!(options, Options { version: 3, unknown: Some(201), ..Options::default() });
}

#[test]
fn another_version_and_unknown_mandatory_options_are_refused_by_number() {
    let refused = |change: fn(&mut Options)| {
        let mut syn = syn();
        change(&mut syn.options);
        syn.refusal().map(|reset| (reset.cause, reset.number, reset.text))
    };
    assert_eq!(refused(|_| {}), None);
    assert_eq!(refused(|options| options.unknown = Some(77)), Some((Cause::OPTION, 5, "77".into())));
    for version in [0, 2, 4] {
        let options = Options { version, unknown: Some(77), ..syn().options };
        let refusal = Syn { options, ..syn() }.refusal().unwrap();
        assert_eq!((refusal.cause, refusal.text.as_str()), (Cause::VERSION, "3"), "version {version}");
    }
}

#[test]
fn options_out_of_their_range_are_refused() {
    for (options, message) in [
        (&[1, 2, 3, 3][..], "option is 1, allowed: 1, 4, 6, 8 and 10 each with its own length and range"),
        (&[4, 1, 3], "option is 4, allowed: 1, 4, 6, 8 and 10 each with its own length and range"),
        (&[6, 1, 0], "option is 6, allowed: 1, 4, 6, 8 and 10 each with its own length and range"),
        (&[8, 2, 0, 0], "option is 8, allowed: 1, 4, 6, 8 and 10 each with its own length and range"),
        (&[3, 1, 0], "option is 3, allowed: 1 to 8 names of 1 to 28 visible ASCII characters"),
        (&[3, 2, 2, b'a'], "option is 3, allowed: 1 to 8 names of 1 to 28 visible ASCII characters"),
        (&[3, 2, 1, b' '], "option is 3, allowed: 1 to 8 names of 1 to 28 visible ASCII characters"),
        (&[1, 1], "1 bytes where at least 2 are needed"),
        (&[1], "0 bytes where at least 1 are needed"),
        (&[0; 1001], "length of the options is 1001, allowed: 0 to 1000"),
    ] {
        assert_eq!(with_options(options).unwrap_err().to_string(), message, "{options:?}");
    }
}

#[test]
fn names_are_few_short_and_visible() {
    let long = "n".repeat(28);
    let names = Names::new(&["mesh/3", &long]).unwrap();
    assert_eq!(names.iter().collect::<Vec<_>>(), ["mesh/3", &long]);
    assert!(Names::default().is_empty() && !names.is_empty());
    assert_eq!(Names::default().iter().next(), None);
    for refused in [&[""][..], &["two words"], &["\u{1b}[2J"], &["é"], &[&"n".repeat(29)], &["n"; 9]] {
        assert_eq!(Names::new(refused), None, "{refused:?}");
    }
}

#[test]
fn both_ends_use_the_features_that_both_have() {
    let ours = Features::default().with(0).with(9).with(63);
    let theirs = with_options(&[2, 10, 0, 2, 0, 0, 0, 0, 0, 0xc0, 0xff, 0xff]).unwrap().features;
    let both = ours.and(theirs);
    let found: Vec<u8> = (0..=u8::MAX).filter(|&feature| both.has(feature)).collect();
    assert_eq!(found, [9, 63], "features above 63 are unknown");
    assert_eq!(Features::default().with(64), Features::default());
}

#[test]
fn padding_lengthens_a_syn_and_is_skipped() {
    let Syn { options, .. } = syn();
    let padded = Control::Syn(Syn { options: Options { padding: 300, ..options }, ..syn() });
    let bytes = emitted(&padded);
    let plain = Control::Syn(syn());
    assert_eq!((bytes.len(), padded.wire_len()), (plain.wire_len() + 300, bytes.len()));
    assert_eq!(Control::parse(&bytes), Ok(plain));
}

#[test]
fn the_text_of_a_reset_is_short_and_visible() {
    let sent = |text: &str| {
        let reset = Control::Reset(Reset { text: text.into(), ..Reset::default() });
        let bytes = emitted(&reset);
        assert_eq!(bytes.len(), reset.wire_len());
        bytes
    };
    assert_eq!(&sent("a\u{1b}é b")[8..], b"a?? b");
    let mut longest = sent(&"n".repeat(300));
    assert_eq!(longest.len(), 208);
    let refused = |bytes: &[u8]| Control::parse(bytes).unwrap_err().to_string();
    longest.push(b'n');
    assert_eq!(refused(&longest), "length of the text is 201, allowed: 0 to 200");
    longest.pop();
    longest[20] = 0x1b;
    assert_eq!(refused(&longest), "character of the text is 27, allowed: 0x20 to 0x7e");
}

#[test]
fn refused_bytes_are_named() {
    let refused = |bytes: &[u8]| Control::parse(bytes).unwrap_err().to_string();
    assert_eq!(refused(&[]), "0 bytes where at least 1 are needed");
    assert_eq!(refused(&[0x34; 8]), "kind is 52, allowed: 0x30 to 0x33");
    assert_eq!(
        refused(&[0x30, 0, 0, 6, 0, 0, 0, 1, 0, 1]),
        "fourth byte of a SYN is 6, allowed: those with the bits 1, 2 and 4"
    );
    assert_eq!(refused(&[0x33; 9]), "bytes after the segment is 1, allowed: none");
    assert_eq!(refused(&[0x33; 7]), "7 bytes where at least 8 are needed");
}

#[test]
fn causes_have_names() {
    let names: Vec<&str> = (0..=8).map(|cause| Cause(cause).name()).collect();
    let all = [
        "aborted",
        "unknown connection",
        "version",
        "option",
        "transport",
        "busy",
        "not plain",
        "channel",
        "unknown cause",
    ];
    assert_eq!(names, all);
}

#[test]
fn a_notice_quotes_a_syn_by_its_connection_number() {
    let start = |control: &Control| {
        let mut bytes = emitted(control);
        bytes.resize(16, 0);
        *bytes.first_chunk().unwrap()
    };
    assert_eq!(Control::quoted_syn(&start(&Control::Syn(syn()))), Some(5));
    assert_eq!(Control::quoted_syn(&start(&Control::Syn(Syn { answers: Some(9), ..syn() }))), Some(5));
    assert_eq!(Control::quoted_syn(&start(&Control::KeepAlive(5))), None);
}

proptest! {
    #[test]
    fn parse_undoes_emit(control in control()) {
        let bytes = emitted(&control);
        prop_assert_eq!(bytes.len(), control.wire_len());
        prop_assert!(Control::has_kind(bytes[0]));
        prop_assert_eq!(Control::parse(&bytes), Ok(control));
    }

    #[test]
    fn parse_never_panics(bytes in any::<Vec<u8>>(), control in control(), damage in damage()) {
        let _ = Control::parse(&bytes);
        let mut bytes = emitted(&control);
        damage.apply(&mut bytes);
        if let Ok(control) = Control::parse(&bytes) {
            prop_assert_eq!(Control::parse(&emitted(&control)), Ok(control));
        }
    }
}
