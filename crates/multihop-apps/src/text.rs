//! Escaping of text from peers for messages and logs.

use std::fmt::Write;

/// The text with all unprintable characters escaped.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        if is_unprintable(ch) {
            write!(out, "{}", ch.escape_unicode()).expect("writing to a string cannot fail");
        } else {
            out.push(ch);
        }
    }
    out
}

/// Whether a character is escaped: it controls a terminal or the order of other characters, ends a line, or
/// is invisible. These are controls (C0, C1, DEL), format characters, separators other than a blank, and
/// characters that Unicode does not assign.
pub fn is_unprintable(ch: char) -> bool {
    // The standard library contains the table. Unlike `char`, `str` leaves combining characters unchanged.
    let mut bytes = [b'a', 0, 0, 0, 0];
    let len = 1 + ch.encode_utf8(&mut bytes[1..]).len();
    let text = str::from_utf8(&bytes[..len]).expect("a letter and a character");
    !matches!(ch, '\'' | '"' | '\\') && text.escape_debug().nth(2).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_show_as_itself_is_escaped() {
        let controls = ('\0'..' ').chain('\u{7f}'..'\u{a0}');
        let turns =
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        let others =
            "\u{ad}\u{180e}\u{200b}\u{200d}\u{2028}\u{2029}\u{2060}\u{feff}\u{fff9}\u{e0001}\u{e0041}";
        for ch in controls.chain(turns.chars()).chain(others.chars()) {
            assert_eq!(printable(&format!("a{ch}b")), format!("a\\u{{{:x}}}b", u32::from(ch)));
        }
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "",
            "it's \"so\" \\ plain",
            "b\u{fc}cher, bu\u{308}cher",
            "\u{65e5}\u{672c}\u{8a9e}",
            "\u{928}\u{94d}\u{928}",
            "\u{1f600}",
        ] {
            assert_eq!(printable(text), text);
        }
    }
}
