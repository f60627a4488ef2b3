//! What the targets share. Run them with `tools/fuzz.sh`.

/// Puts the right checksum at `at`, if that is inside the packet: a fuzzer does not guess it, and
/// most of a decoder lies behind it.
pub fn set_checksum(packet: &mut [u8], at: usize, checksum: impl Fn(&[u8]) -> u16) {
    if packet.len() >= at + 2 {
        packet[at..at + 2].fill(0);
        let sum = checksum(packet);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}
