//! Video streaming: segments of equal length are fetched into a buffer, from which they are played.

use multihop_core::{Duration, Instant, Rng};
use multihop_scenario::VideoParams;

use super::{Application, Step};
use crate::results::{ApplicationResult, VideoResult};

/// A video player and its server.
#[derive(Clone, Debug)]
pub(super) struct Video {
    params: VideoParams,
    began: Option<Instant>,
    /// Bytes of the requested segment that have not arrived; 0: none is requested.
    missing: u64,
    /// Seconds of video in the buffer at the instant `updated`.
    buffered: f64,
    updated: Instant,
    state: Playback,
    /// Time from the first request to the first picture, s; `None` before the first picture.
    startup: Option<f64>,
    /// Time played so far, in seconds.
    played: f64,
    stalls: u64,
    stalled: f64,
    segments: u64,
}

/// State of the player: whether it plays or fills its buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Playback {
    /// Playback has not begun, and the buffer fills up to the start-up length.
    Starting,
    Playing,
    /// Playback has stalled: the buffer was empty and is filled again.
    Stalled,
}

impl Video {
    pub(super) fn new(params: VideoParams) -> Self {
        Self {
            params,
            began: None,
            missing: 0,
            buffered: 0.0,
            updated: Instant::ZERO,
            state: Playback::Starting,
            startup: None,
            played: 0.0,
            stalls: 0,
            stalled: 0.0,
            segments: 0,
        }
    }

    /// Advances playback or stalling up to `now`.
    fn update(&mut self, now: Instant) {
        let mut passed = (now - self.updated).as_secs_f64();
        self.updated = now;
        if self.state == Playback::Playing {
            let played = passed.min(self.buffered);
            self.buffered -= played;
            self.played += played;
            passed -= played;
            if passed > 0.0 {
                self.state = Playback::Stalled;
                self.stalls += 1;
            }
        }
        if self.state == Playback::Stalled {
            self.stalled += passed;
        }
    }

    fn segment_bytes(&self) -> u64 {
        let bits = self.params.rate.as_f64() * self.params.segment.as_secs_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let bytes = (bits / 8.0).round() as u64;
        bytes.max(1)
    }

    /// Instant at which the buffer has room for another segment.
    fn room(&self, now: Instant) -> Instant {
        let excess = self.buffered + self.params.segment.as_secs_f64() - self.params.buffer.as_secs_f64();
        // The time is rounded up, so that there is room then.
        let wait = Duration::from_secs_f64(excess.max(0.0));
        if excess > 0.0 { now + wait + Duration::from_nanos(1) } else { now }
    }
}

impl Application for Video {
    fn step(&mut self, now: Instant, _: &mut Rng) -> Step {
        if self.began.is_none() {
            (self.began, self.updated) = (Some(now), now);
        }
        self.update(now);
        let room = self.room(now);
        if self.missing > 0 || room > now {
            return Step { bytes: 0, next: (self.missing == 0).then_some(room) };
        }
        self.missing = self.segment_bytes();
        Step { bytes: self.missing, next: None }
    }

    fn delivered(&mut self, now: Instant, bytes: u64, _: &mut Rng) -> Option<Instant> {
        if self.missing == 0 {
            return None;
        }
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing > 0 {
            return None;
        }
        self.update(now);
        self.segments += 1;
        self.buffered += self.params.segment.as_secs_f64();
        if self.state != Playback::Playing && self.buffered >= self.params.startup.as_secs_f64() {
            if self.state == Playback::Starting {
                self.startup = self.began.map(|began| (now - began).as_secs_f64());
            }
            self.state = Playback::Playing;
        }
        Some(self.room(now))
    }

    fn restart(&mut self, now: Instant) {
        if self.began.is_some() {
            self.update(now);
        }
        (self.played, self.stalls, self.stalled, self.segments) = (0.0, 0, 0.0, 0);
    }

    fn result(&self, now: Instant) -> ApplicationResult {
        let mut end = self.clone();
        if end.began.is_some() {
            end.update(now);
        }
        ApplicationResult::Video(VideoResult {
            startup_seconds: end.startup,
            stalls: end.stalls,
            stalled_seconds: end.stalled,
            played_seconds: end.played,
            segments: end.segments,
        })
    }
}

#[cfg(test)]
mod tests {
    use multihop_core::BitRate;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn video() -> Video {
        let seconds = Duration::from_secs;
        Video::new(VideoParams {
            rate: BitRate(800_000),
            segment: seconds(2),
            startup: seconds(4),
            buffer: seconds(6),
        })
    }

    fn result(video: &Video, now: Instant) -> VideoResult {
        match video.result(now) {
            ApplicationResult::Video(result) => result,
            other => panic!("{other:?}"),
        }
    }

    /// Requests a segment of the video at `from` ms. The segment arrives at `ms`. Returns the time of the next step.
    fn fetch(video: &mut Video, from: u64, ms: u64) -> Option<Instant> {
        let mut rng = Rng::stream(1, "test", 0);
        let step = video.step(at(from), &mut rng);
        assert_eq!(step, Step { bytes: 200_000, next: None });
        assert_eq!(video.delivered(at(ms), 150_000, &mut rng), None);
        video.delivered(at(ms), 50_000, &mut rng)
    }

    #[test]
    fn playing_starts_with_enough_in_the_buffer_and_stalls_when_it_is_empty() {
        let mut video = video();
        assert_eq!(fetch(&mut video, 1000, 1500), Some(at(1500)));
        assert_eq!(result(&video, at(1500)).startup_seconds, None);
        fetch(&mut video, 1500, 2500);
        assert_eq!(result(&video, at(2500)).startup_seconds, Some(1.5));
        // Playback of 4 s ends at 6.5 s. The next segment arrives at 9.5 s, and playback continues with the
        // one after it, at 10 s.
        fetch(&mut video, 2500, 9500);
        fetch(&mut video, 9500, 10_000);
        let found = result(&video, at(11_000));
        assert_eq!((found.stalls, found.segments), (1, 4));
        assert!((found.stalled_seconds - 3.5).abs() < 1e-9, "{found:?}");
        assert!((found.played_seconds - 5.0).abs() < 1e-9, "{found:?}");
        // A stall at the end of the run counts up to the end.
        let end = result(&video, at(16_000));
        assert_eq!(end.stalls, 2);
        assert!((end.stalled_seconds - 5.5).abs() < 1e-9, "{end:?}");
    }

    #[test]
    fn a_full_buffer_waits_for_room() {
        let mut video = video();
        let mut rng = Rng::stream(1, "test", 0);
        fetch(&mut video, 0, 0);
        fetch(&mut video, 0, 0);
        let room = fetch(&mut video, 0, 0).expect("a step is due");
        // Playback began at 0 s with 6 s in the buffer: after 2 s there is room for 2 s of video.
        assert!(room > at(2000) && room < at(2001), "{room}");
        assert_eq!(video.step(at(1000), &mut rng).bytes, 0);
        assert_eq!(video.step(room, &mut rng).bytes, 200_000);
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let mut video = video();
        fetch(&mut video, 0, 1000);
        fetch(&mut video, 1000, 2000);
        video.restart(at(4000));
        let found = result(&video, at(7000));
        assert_eq!((found.stalls, found.segments), (1, 0));
        assert!((found.played_seconds - 2.0).abs() < 1e-9 && (found.stalled_seconds - 1.0).abs() < 1e-9);
        assert_eq!(found.startup_seconds, Some(2.0));
    }
}
