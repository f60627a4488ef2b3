//! Windows of thousands of segments, with losses, in virtual time.

use multihop_core::{Duration, Instant};
use multihop_transport::mesh::Config;

use super::paths::{Bottleneck, MS};

const US: Duration = Duration::from_micros(1);

/// About 1 Gb/s over 20 ms and 200 Mb/s over 100 ms: 1700 segments are on the way. A lost segment must not keep the
/// sender from learning what has arrived behind it.
#[test]
fn a_window_of_thousands_fills_the_path_whatever_is_lost() {
    for (service, delay) in [(US * 12, MS * 10), (US * 58, MS * 50)] {
        for loss in [0.0, 0.001, 0.02] {
            // A segment that is lost three times keeps four round trips waiting.
            let config = Config { recv_buffer: 8192, ..Config::default() };
            let mut path = Bottleneck::new(1, &config, service, delay);
            path.loss = loss;
            path.start(0);
            path.run_until(Instant::ZERO + Duration::from_secs(6));
            let carried = path.measure(2)[0];
            let most = 2_000_000_000 / service.as_nanos();
            println!("{carried} of {most}, {service}, {delay}, loss {loss}");
            assert!(carried * 100 >= most * 90, "{carried} of {most}, {service}, {delay}, loss {loss}");
        }
    }
}
