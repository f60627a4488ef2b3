//! The keys of every protocol.

use multihop_routing::protocol::PROTOCOLS;
use multihop_testkit::every_key_changes;

#[test]
fn every_key_changes_the_configuration() {
    for protocol in PROTOCOLS {
        every_key_changes(protocol.name, protocol.config);
    }
}
