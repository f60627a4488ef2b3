//! Tests of the whole crate through its public face.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]
#![expect(clippy::float_cmp, reason = "what is compared was written down exactly")]

mod extension;
mod scenario;
mod sweep;
