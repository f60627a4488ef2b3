//! Cookies: a listener answers a new peer with a cookie and keeps no state until the peer returns it.

use core::net::{IpAddr, SocketAddr};

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{FixedOutput, Update};
use multihop_core::{Duration, Instant};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Proof that a peer receives datagrams sent to its address.
pub(crate) type Cookie = [u8; 16];

/// Secret key from which cookies are computed. A cookie is a keyed hash of address, port and time, so that
/// none needs to be stored.
#[derive(Clone)]
pub(crate) struct CookieKey(Zeroizing<[u8; 32]>);

impl CookieKey {
    /// Makes a key for cookies from secret random bytes.
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }

    /// The cookie for this address, valid for one to two times [`BUCKET`].
    pub(crate) fn make(&self, now: Instant, to: SocketAddr) -> Cookie {
        self.of_bucket(bucket(now), to)
    }

    /// Whether the cookie was made for this address, and is still valid.
    pub(crate) fn verify(&self, now: Instant, from: SocketAddr, cookie: &Cookie) -> bool {
        let now = bucket(now);
        let fresh = self.of_bucket(now, from).ct_eq(cookie);
        // In bucket 0 the current and the previous bucket are the same.
        let older = self.of_bucket(now.saturating_sub(1), from).ct_eq(cookie);
        (fresh | older).into()
    }

    fn of_bucket(&self, bucket: u64, address: SocketAddr) -> Cookie {
        let mut mac = Blake2sMac::<U16>::new_with_salt_and_personal(&self.0[..], &[], b"mhcookie")
            .expect("32 and 8 bytes, as BLAKE2s allows");
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        mac.update(&ip.octets());
        mac.update(&address.port().to_be_bytes());
        mac.update(&bucket.to_be_bytes());
        mac.finalize_fixed().into()
    }
}

fn bucket(now: Instant) -> u64 {
    now.saturating_since(Instant::ZERO).whole(BUCKET)
}

/// Time for which an address gets the same cookie.
const BUCKET: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_cookie_is_valid_for_its_address_and_for_one_to_two_minutes() {
        let cookies = CookieKey::new([1; 32]);
        let peer = address("10.0.0.1:7000");
        let cookie = cookies.make(at(90), peer);
        for (second, good) in [(90, true), (119, true), (179, true), (180, false), (59, false), (9999, false)]
        {
            assert_eq!(cookies.verify(at(second), peer, &cookie), good, "at {second} s");
        }
        for other in ["10.0.0.2:7000", "10.0.0.1:7001", "[::1]:7000"] {
            assert!(!cookies.verify(at(90), address(other), &cookie), "{other}");
        }
        assert!(!CookieKey::new([2; 32]).verify(at(90), peer, &cookie));
        assert!(
            cookies.verify(at(90), address("[::ffff:10.0.0.1]:7000"), &cookie),
            "the same host as a mapped IPv6 address"
        );
    }

    #[test]
    fn a_cookie_equals_that_of_pythons_hashlib() {
        // python3 -c 'import hashlib; print(hashlib.blake2s(bytes(10) + b"\xff\xff\x0a\0\0\1" + b"\x1b\x58" +
        // bytes(7) + b"\1", key=b"\1" * 32, digest_size=16, person=b"mhcookie").hexdigest())'
        let cookie = CookieKey::new([1; 32]).make(at(60), address("10.0.0.1:7000"));
        assert_eq!(u128::from_be_bytes(cookie), COOKIE);
    }

    proptest! {
        #[test]
        fn no_other_cookie_is_accepted(cookie: Cookie, flip in 0_usize..128) {
            let (cookies, peer) = (CookieKey::new([1; 32]), address("10.0.0.1:7000"));
            prop_assert!(!cookies.verify(at(0), peer, &cookie));
            let mut near = cookies.make(at(0), peer);
            near[flip / 8] ^= 1 << (flip % 8);
            prop_assert!(!cookies.verify(at(0), peer, &near));
        }
    }

    const COOKIE: u128 = 0x17cf_6364_98fc_cfe7_ac32_0c2a_a4a5_e74d;
}
