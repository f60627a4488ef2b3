//! Seal of a hello with keys. It shows that the initiator has the listener's public key, and its check costs
//! one hash. A sender without the key causes no Diffie-Hellman operation and gets no answer from a silent
//! listener (like `mac1` of WireGuard).

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{FixedOutput, Update};
use subtle::ConstantTimeEq;

use crate::keys::PublicKey;

/// The seal of a hello to the listener with this key.
pub(super) fn of(listener: &PublicKey, hello: &[u8]) -> [u8; LEN] {
    let mut mac = Blake2sMac::<U16>::new_with_salt_and_personal(listener.as_bytes(), &[], b"mhseal 2")
        .expect("32 and 8 bytes, as BLAKE2s allows");
    mac.update(hello);
    mac.finalize_fixed().into()
}

/// The Noise message of a hello, if the hello ends with a valid seal. `datagram` is the hello, `noise` its
/// last part.
pub(crate) fn open<'a>(listener: &PublicKey, datagram: &[u8], noise: &'a [u8]) -> Option<&'a [u8]> {
    let (hello, found) = datagram.split_last_chunk::<LEN>()?;
    let is_valid: bool = of(listener, hello).ct_eq(found).into();
    let (message, _) = noise.split_last_chunk::<LEN>()?;
    is_valid.then_some(message)
}

/// Length of a seal, bytes.
pub(super) const LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_valid_for_its_key_and_bytes() {
        let [one, two] = [1, 2].map(|n| PublicKey::from_bytes([n; 32]));
        let mut datagram = b"header, message".to_vec();
        datagram.extend(of(&one, b"header, message"));
        assert_eq!(open(&one, &datagram, &datagram[8..]), Some(&b"message"[..]));
        assert_eq!(open(&two, &datagram, &datagram[8..]), None);
        for bit in 0..8 * datagram.len() {
            let mut other = datagram.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&one, &other, &other[8..]), None, "bit {bit}");
        }
        assert_eq!(open(&one, &datagram[..15], &datagram[8..15]), None);
    }
}
