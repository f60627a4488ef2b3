//! The keys of every protocol.

use multihop_routing_extra::{babel, batman, hwmp, olsrv2};
use multihop_testkit::every_key_changes;

#[test]
fn every_key_changes_the_configuration() {
    every_key_changes("batman", batman::Config::default);
    every_key_changes("hwmp", hwmp::Config::default);
    every_key_changes("babel", babel::Config::default);
    every_key_changes("olsrv2", olsrv2::Config::default);
}
