//! Messages of the kernel's radios, whatever they contain, neither stop the medium nor give it frames twice.

pub fn fuzz(data: &[u8]) {
    multihop_air::fuzzing::exchange(data);
}
