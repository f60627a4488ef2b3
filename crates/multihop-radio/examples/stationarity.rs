//! Prints speeds and positions of many random-waypoint nodes over time, as CSV.
//!
//! `stationarity START MIN MAX PAUSE`: `stationary` or `classic`, speeds in m/s, the pause in s.
//! `multihop papers run validation-stationarity` compares the output with closed forms.

use std::io::{self, Write};
use std::process::ExitCode;

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::grid::Point;
use multihop_radio::mobility::{Area, Leg, Movement, RandomWaypoint, RandomWaypointParams, Start, Track};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let Some(params) = params(&arguments) else {
        eprintln!("found {arguments:?}, allowed: stationary|classic, slowest and fastest in m/s, pause in s");
        return ExitCode::from(2);
    };
    match print(params) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn params(arguments: &[String]) -> Option<RandomWaypointParams> {
    let [start, numbers @ ..] = arguments else { return None };
    let numbers = numbers.iter().map(|n| n.parse().ok()).collect::<Option<Vec<f64>>>()?;
    let &[min_speed, max_speed, pause] = numbers.as_slice() else { return None };
    let start = match start.as_str() {
        "stationary" => Start::Stationary,
        "classic" => Start::Classic,
        _ => return None,
    };
    Some(RandomWaypointParams {
        area: AREA,
        min_speed,
        max_speed,
        pause: Duration::from_secs_f64(pause),
        start,
    })
}

fn print(params: RandomWaypointParams) -> io::Result<()> {
    let movement = |node| RandomWaypoint::new(params, SEED, NodeId(node));
    let mut tracks: Vec<_> =
        (0..NODES).map(|node| Track::new(Movement::RandomWaypoint(movement(node)))).collect();
    let mut out = io::stdout().lock();
    writeln!(out, "time,quantity,mean,error")?;
    for sample in 0..=SAMPLES {
        let time = sample * STEP;
        let states: Vec<_> = tracks.iter_mut().map(|track| State::of(track, time)).collect();
        let mut row = |quantity: &str, measure: &dyn Fn(&State) -> f64| {
            let values: Vec<_> = states.iter().map(measure).collect();
            let (mean, error) = estimate(&values);
            writeln!(out, "{time},{quantity},{mean},{error}")
        };
        row("speed", &|state| state.speed)?;
        row("pausing", &|state| share(state.speed <= 0.0))?;
        row("middle", &|state| share(state.in_the_middle()))?;
        for strip in 0..STRIPS {
            let strip_width = AREA.width / f64::from(STRIPS);
            let left = f64::from(strip) * strip_width;
            let inside = left..left + strip_width;
            row(&format!("strip{strip}"), &|state| share(inside.contains(&state.place.x)))?;
        }
    }
    Ok(())
}

/// One node at one time.
struct State {
    /// m/s, 0 in a pause.
    speed: f64,
    place: Point,
}

impl State {
    fn of(track: &mut Track, seconds: u64) -> Self {
        let now = Instant::ZERO + Duration::from_secs(seconds);
        let leg: &Leg = track.leg(now);
        let (x, y) = leg.velocity();
        Self { speed: (x * x + y * y).sqrt(), place: leg.at(now) }
    }

    /// Whether the node is in the central square with half the side length of the area.
    fn in_the_middle(&self) -> bool {
        let central = |x: f64, side: f64| (x - side / 2.0).abs() < side / 4.0;
        central(self.place.x, AREA.width) && central(self.place.y, AREA.height)
    }
}

fn share(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

/// Mean and standard error.
fn estimate(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

const AREA: Area = Area { width: 1000.0, height: 1000.0 };
const NODES: u32 = 20_000;
const SEED: u64 = 1;
/// Interval between two samples of the nodes' positions, in seconds.
const STEP: u64 = 20;
const SAMPLES: u64 = 100;
/// Equal parts of the width.
const STRIPS: u32 = 20;
