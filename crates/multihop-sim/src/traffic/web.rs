//! Web pages: a main object, its embedded objects, and the user's reading time.

use multihop_core::{Duration, Instant, Rng};
use multihop_scenario::WebParams;
use multihop_scenario::draw::{TruncatedLogNormal, embedded_objects, exponential};

use super::{Application, Step};
use crate::results::{ApplicationResult, WebResult};
use crate::stats::Histogram;

/// A user who opens one web page after another.
#[derive(Clone, Debug)]
pub(super) struct Web {
    params: WebParams,
    phase: Phase,
    /// Instant at which the current page was opened.
    opened: Instant,
    /// Bytes of the current objects that have not arrived.
    missing: u64,
    opened_pages: u64,
    load: Histogram,
}

/// Stage of loading a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// The user opens a page, and the main object is requested.
    Open,
    /// The main object of the page arrives.
    Main,
    /// The browser has parsed the main object, and requests the embedded objects.
    Embedded,
    /// The embedded objects of the page arrive.
    Rest,
}

impl Web {
    pub(super) fn new(params: WebParams) -> Self {
        let (phase, opened) = (Phase::Open, Instant::ZERO);
        Self { params, phase, opened, missing: 0, opened_pages: 0, load: Histogram::default() }
    }

    /// Completes the page; the user reads it and then opens the next one.
    fn complete(&mut self, now: Instant, rng: &mut Rng) -> Instant {
        self.load.add(now - self.opened);
        self.phase = Phase::Open;
        now + exponential(rng, self.params.reading)
    }
}

impl Application for Web {
    fn step(&mut self, now: Instant, rng: &mut Rng) -> Step {
        match self.phase {
            Phase::Open => {
                self.opened = now;
                self.opened_pages += 1;
                self.phase = Phase::Main;
                self.missing = MAIN_OBJECT.draw(rng);
            }
            Phase::Embedded => {
                let objects = embedded_objects(rng);
                if objects == 0 {
                    let next = self.complete(now, rng);
                    return Step { bytes: 0, next: Some(next) };
                }
                self.phase = Phase::Rest;
                self.missing = (0..objects).map(|_| EMBEDDED_OBJECT.draw(rng)).sum();
            }
            Phase::Main | Phase::Rest => return Step { bytes: 0, next: None },
        }
        Step { bytes: self.missing, next: None }
    }

    fn delivered(&mut self, now: Instant, bytes: u64, rng: &mut Rng) -> Option<Instant> {
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing > 0 {
            return None;
        }
        match self.phase {
            Phase::Main => {
                self.phase = Phase::Embedded;
                Some(now + exponential(rng, PARSING))
            }
            Phase::Rest => Some(self.complete(now, rng)),
            Phase::Open | Phase::Embedded => None,
        }
    }

    fn restart(&mut self, _now: Instant) {
        self.opened_pages = u64::from(self.phase != Phase::Open);
        self.load = Histogram::default();
    }

    fn result(&self, _now: Instant) -> ApplicationResult {
        let unfinished = u64::from(self.phase != Phase::Open);
        ApplicationResult::Web(WebResult {
            pages: self.opened_pages - unfinished,
            unfinished_pages: unfinished,
            page_load_ms: self.load.summary_ms(),
        })
    }
}

/// Size of the main object (IEEE 802.16m evaluation methodology, HTTP traffic): mean 10,710 bytes.
const MAIN_OBJECT: TruncatedLogNormal =
    TruncatedLogNormal { mu: 8.37, sigma: 1.37, smallest: 100, largest: 2_000_000 };
/// Size of an embedded object: mean 7758 bytes.
const EMBEDDED_OBJECT: TruncatedLogNormal =
    TruncatedLogNormal { mu: 6.17, sigma: 2.36, smallest: 50, largest: 2_000_000 };
/// Mean time for which the browser reads the main object.
const PARSING: Duration = Duration::from_millis(130);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn result(web: &Web) -> WebResult {
        match web.result(Instant::ZERO) {
            ApplicationResult::Web(result) => result,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_page_is_loaded_when_its_last_byte_arrives() {
        let mut rng = Rng::stream(3, "test", 0);
        let mut web = Web::new(WebParams { reading: Duration::from_secs(30) });
        let main = web.step(at(1000), &mut rng);
        assert!(main.bytes >= 100 && main.next.is_none());
        assert_eq!(web.delivered(at(1200), main.bytes - 1, &mut rng), None);
        let parsed = web.delivered(at(1300), 1, &mut rng).expect("the main object is complete");
        assert!(parsed >= at(1300));
        let embedded = web.step(parsed, &mut rng);
        let done = parsed + Duration::from_millis(500);
        if embedded.bytes > 0 {
            assert_eq!((result(&web).pages, result(&web).unfinished_pages), (0, 1));
            assert!(web.delivered(done, embedded.bytes, &mut rng).is_some());
            let expected = 1e3 * (done - at(1000)).as_secs_f64();
            let found = result(&web).page_load_ms.expect("one page").mean;
            assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
        }
        assert_eq!((result(&web).pages, result(&web).unfinished_pages), (1, 0));
        web.restart(done);
        assert_eq!((result(&web).pages, result(&web).page_load_ms), (0, None));
    }

    #[test]
    fn an_instant_network_loads_as_many_pages_as_the_user_reads() {
        let mut rng = Rng::stream(3, "test", 1);
        let mut web = Web::new(WebParams { reading: Duration::from_secs(10) });
        let (mut now, end) = (at(0), at(36_000_000));
        while now < end {
            let step = web.step(now, &mut rng);
            let due = if step.bytes > 0 { web.delivered(now, step.bytes, &mut rng) } else { step.next };
            now = due.expect("the next page follows");
        }
        // Each page takes 10 s of reading and 0.13 s of parsing, so that ten hours have 3554 pages, with a
        // standard deviation of 59.
        let pages = result(&web).pages;
        assert!((3554 - 250..3554 + 250).contains(&pages), "{pages}");
    }
}
