//! The keys of every protocol.

use multihop_routing_extra::{babel, batman, hwmp, olsrv2};

use crate::change::every_key_changes;

#[test]
fn every_key_changes_the_configuration() {
    every_key_changes("batman", || Box::new(batman::Config::default()));
    every_key_changes("hwmp", || Box::new(hwmp::Config::default()));
    every_key_changes("babel", || Box::new(babel::Config::default()));
    every_key_changes("olsrv2", || Box::new(olsrv2::Config::default()));
}
