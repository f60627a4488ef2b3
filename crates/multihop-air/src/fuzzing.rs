//! Entry points of the fuzz targets.

use std::sync::OnceLock;

use multihop_core::{Duration, Instant};
use multihop_linux::netlink::Request;
use multihop_scenario::{Extensions, Scenario, Source};

use crate::hwsim;
use crate::medium::{Medium, Outgoing};

/// Passes messages of the kernel to a medium of three radios, and checks that each outcome belongs to a frame and is reported once.
///
/// The first byte selects a medium without contention. Each message follows as the time since the previous one (0.1 ms), its command,
/// a quarter of the length of its attributes, and the attributes.
pub fn exchange(data: &[u8]) {
    let [variant, rest @ ..] = data else { return };
    let mut medium = Medium::new(scenario(), variant & 1 == 1, &[]).expect("a valid scenario");
    let (mut rest, mut now) = (rest, Instant::ZERO);
    let mut waiting = Vec::new();
    while let [pause, command, length, after @ ..] = rest {
        let (attributes, left) = after.split_at((4 * usize::from(*length)).min(after.len()));
        rest = left;
        now = now + Duration::from_micros(100 * u64::from(*pause)) + Duration::from_nanos(1);
        medium.advance(now);
        if let Some(report) = hwsim::parse(*command, attributes) {
            if let hwsim::Report::Frame(frame) = &report {
                waiting.push(frame.cookie);
            }
            medium.handle(report);
        }
        drain(&mut medium, &mut waiting);
    }
    medium.advance(now + Duration::from_secs(1));
    drain(&mut medium, &mut waiting);
    medium.finish().expect("the network is whole");
}

/// Writes what the kernel would get.
fn drain(medium: &mut Medium<'_>, waiting: &mut Vec<u64>) {
    while let Some(message) = medium.poll() {
        let mut request = Request::new(0, 0);
        match message {
            Outgoing::Received { radio, bytes, rate, dbm, mhz, .. } => {
                hwsim::received(&mut request, radio, &bytes, rate, dbm, mhz);
            }
            Outgoing::Finished { outcome, .. } => {
                let place = waiting.iter().position(|cookie| *cookie == outcome.cookie);
                waiting.swap_remove(place.expect("an outcome of a frame that waits"));
                hwsim::finished(&mut request, &outcome);
            }
        }
    }
}

fn scenario() -> &'static Scenario {
    static SCENARIO: OnceLock<Scenario> = OnceLock::new();
    SCENARIO.get_or_init(|| {
        let text = "duration = 100.0\n\
                    topology = { kind = \"chain\", hops = 2 }\n\
                    radio = { phy = \"802.11g\" }\n\
                    mac = { rate_control = \"kernel\", llc = true }\n";
        let source = Source::Toml { text: text.to_owned(), name: "air".to_owned() };
        Scenario::load_network(&source, &[], &Extensions::default()).expect("a valid scenario")
    })
}
