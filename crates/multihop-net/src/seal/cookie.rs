use std::net::{IpAddr, SocketAddr};

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{FixedOutput, Update};
use multihop_core::{Duration, Instant};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// What a stranger must show to prove that it gets what is sent to its address.
pub(crate) type Cookie = [u8; 16];

/// Makes and checks cookies without remembering any: a keyed hash of address, port and time.
#[derive(Clone)]
pub(crate) struct Baker(Zeroizing<[u8; 32]>);

impl Baker {
    /// With a key that nobody can guess.
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }

    /// The cookie for this address, good for one to two times [`BUCKET`].
    pub(crate) fn bake(&self, now: Instant, to: SocketAddr) -> Cookie {
        self.of_bucket(bucket(now), to)
    }

    /// Whether the cookie was baked for this address, and not too long ago.
    pub(crate) fn accepts(&self, now: Instant, from: SocketAddr, cookie: &Cookie) -> bool {
        let now = bucket(now);
        let fresh = self.of_bucket(now, from).ct_eq(cookie);
        // At bucket 0 the same twice.
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

/// How long the same address gets the same cookie.
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
    fn good_for_its_address_and_for_one_to_two_minutes() {
        let baker = Baker::new([1; 32]);
        let peer = address("10.0.0.1:7000");
        let cookie = baker.bake(at(90), peer);
        for (second, good) in [(90, true), (119, true), (179, true), (180, false), (59, false), (9999, false)]
        {
            assert_eq!(baker.accepts(at(second), peer, &cookie), good, "at {second} s");
        }
        for other in ["10.0.0.2:7000", "10.0.0.1:7001", "[::1]:7000"] {
            assert!(!baker.accepts(at(90), address(other), &cookie), "{other}");
        }
        assert!(!Baker::new([2; 32]).accepts(at(90), peer, &cookie));
        assert!(baker.accepts(at(90), address("[::ffff:10.0.0.1]:7000"), &cookie), "the same host by IPv6");
    }

    #[test]
    fn as_another_implementation_reckons_it() {
        // python3 -c 'import hashlib; print(hashlib.blake2s(bytes(10) + b"\xff\xff\x0a\0\0\1" + b"\x1b\x58" +
        // bytes(7) + b"\1", key=b"\1" * 32, digest_size=16, person=b"mhcookie").hexdigest())'
        let cookie = Baker::new([1; 32]).bake(at(60), address("10.0.0.1:7000"));
        assert_eq!(u128::from_be_bytes(cookie), COOKIE);
    }

    proptest! {
        #[test]
        fn nothing_else_is_accepted(cookie: Cookie, flip in 0_usize..128) {
            let (baker, peer) = (Baker::new([1; 32]), address("10.0.0.1:7000"));
            prop_assert!(!baker.accepts(at(0), peer, &cookie));
            let mut near = baker.bake(at(0), peer);
            near[flip / 8] ^= 1 << (flip % 8);
            prop_assert!(!baker.accepts(at(0), peer, &near));
        }
    }

    const COOKIE: u128 = 0x17cf_6364_98fc_cfe7_ac32_0c2a_a4a5_e74d;
}
