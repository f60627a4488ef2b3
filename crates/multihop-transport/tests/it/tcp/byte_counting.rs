//! A window that grows by bytes, RFC 3465.

use multihop_transport::connection::Data;
use multihop_transport::tcp::Config;

use super::templates::*;

fn sent(config: Config) -> Tcp {
    let mut s = established(Config { sack: true, rack: true, initial_window: 4, ..config });
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=4).map(data));
    s
}

/// §2.2, without the limit of two segments.
#[test]
fn slow_start_grows_by_all_that_an_ack_acknowledges() {
    let mut s = sent(config());
    s.at_ms(100).gets([ack(4)]).expect((5..=8).map(data)).check(|tcp| tcp.cwnd(), 5 * MSS);
    let mut s = sent(Config { byte_counting: true, ..config() });
    s.at_ms(100).gets([ack(4)]).expect((5..=10).map(data)).check(|tcp| tcp.cwnd(), 7 * MSS);
}

/// Bytes that SACK has reported before do not count a second time.
#[test]
fn each_byte_counts_once() {
    let mut s = sent(Config { byte_counting: true, ..config() });
    s.at_ms(100).gets([ack(2)]).expect([data(5), data(6)]);
    // 2 and 3 change places.
    s.at_ms(101).gets([sack(2, &[(3, 4)])]).expect([data(7)]);
    s.at_ms(102).gets([ack(4)]).expect([data(8), data(9)]).check(|tcp| tcp.cwnd(), 6 * MSS);
}
