//! Codes: their text, the exchange of proofs, and questions for senders in the local network.

use multihop_apps::code::Code;
use multihop_apps::fuzzing::code;

pub fn fuzz(data: &[u8]) {
    code(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(code) = text.parse::<Code>() {
        assert_eq!(code.to_string().parse(), Ok(code));
    }
}
