//! Targets of a tunnel: parsed from bytes or text, they emit the same bytes or text.

use multihop_apps::fuzzing::tunnel;
use multihop_apps::tunnel::{Address, Entrance, Rule, local};

pub fn fuzz(data: &[u8]) {
    tunnel(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(address) = text.parse::<Address>() {
        assert_eq!(address.to_string().parse(), Ok(address));
    }
    if let Ok(Entrance { target, .. }) = text.parse::<Entrance>() {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
    // These types are only parsed, never written.
    let _ = (text.parse::<Rule>(), local(text));
}
