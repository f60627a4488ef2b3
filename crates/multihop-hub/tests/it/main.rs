//! Hubs in virtual time.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod hubs;
