//! `bpf/trains_math.h`, compiled for the host.

use std::fmt::Write;

use crate::host;

/// State of the trains after an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    halves: u32,
    is_probing: bool,
    fills_the_path: bool,
}

/// ACKs in the order of their arrival.
struct Acks {
    us: u64,
    lines: String,
}

impl Acks {
    fn new() -> Self {
        Self { us: 1_000, lines: String::new() }
    }

    /// Adds ACKs for two segments each that arrive `gap` us apart, `pause` us after the ACK before, and end a round trip of `rtt` us.
    fn add(&mut self, pause: u64, acks: u64, gap: u64, rtt: u64) {
        self.us += pause;
        for n in 0..acks {
            self.us += if n == 0 { 0 } else { gap };
            writeln!(self.lines, "{} 2 {rtt}", self.us).unwrap();
        }
    }

    /// The state after each ACK; `None` without a compiler.
    fn states(self, name: &str) -> Option<Vec<State>> {
        let output = host::filter("trains.c", name, self.lines)?;
        let state = |line: &str| {
            let numbers: Vec<u32> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            let &[halves, probing, fills] = numbers.as_slice() else { panic!("{line}") };
            State { halves, is_probing: probing != 0, fills_the_path: fills != 0 }
        };
        Some(output.lines().map(state).collect())
    }
}

#[test]
fn trains_are_as_long_as_frames_and_end_with_them() {
    let mut acks = Acks::new();
    let marks = [
        (5, 1, "one ACK is no frame"),
        (1, 2, "one frame alone may be a host that was late"),
        (1, 2, "trains are at least 12 segments long"),
        (100, 8, "frames have 16: 17 or 17.5"),
        (100, 30, "at most 24"),
        (200, 3, "12 again"),
        (200, 1, "no frames any more"),
    ];
    let mut ends = Vec::new();
    let mut count = 0;
    for (runs, length, _) in marks {
        (0..runs).for_each(|_| acks.add(10_000, length, 30, 0));
        count += usize::try_from(runs * length).unwrap();
        ends.push(count);
    }
    acks.add(10_000, 1, 30, 0);
    let Some(states) = acks.states("sizes") else { return };
    // The first ACK of the next mark ends the last run of this mark.
    let found: Vec<u32> = ends.iter().map(|&end| states[end].halves).collect();
    assert_eq!(found, [2, 2, 24, 35, 48, 24, 2], "{marks:?}");
}

#[test]
fn acks_of_a_fast_wire_and_those_of_other_radios_are_no_frames() {
    for (name, pause, gap) in [("wire", 120, 20), ("radio", 10_000, 150)] {
        let mut acks = Acks::new();
        (0..500).for_each(|_| acks.add(pause, 6, gap, 10_000));
        let Some(states) = acks.states(name) else { return };
        assert!(states.iter().all(|state| state.halves == 2), "{name}");
    }
}

#[test]
fn probes_become_rare() {
    let mut acks = Acks::new();
    (0..400).for_each(|_| acks.add(10_000, 1, 30, 10_000));
    let Some(states) = acks.states("probes") else { return };
    let probes: Vec<usize> = (0..states.len()).filter(|&n| states[n].is_probing).collect();
    assert_eq!(probes, [4, 20, 84, 340]);
}

#[test]
fn segments_leave_alone_where_trains_take_hardly_longer_than_a_segment() {
    for (name, train, halves, fills) in
        [("wire", 119_000, 2, false), ("half", 121_000, 24, false), ("chain", 320_001, 24, true)]
    {
        let mut acks = Acks::new();
        acks.add(10_000, 1, 30, 80_000);
        (0..40).for_each(|_| acks.add(200_000, 5, 30, train));
        let Some(states) = acks.states(name) else { return };
        let last = states[states.len() - 1];
        assert_eq!((last.halves, last.fills_the_path), (halves, fills), "{name}");
    }
}

#[test]
fn extreme_acks_overflow_nothing() {
    let mut acks = Acks::new();
    for n in 1..4000_u64 {
        acks.us += [0, 1, 300, 1 << 40][(n % 4) as usize];
        let round_trip = [0, 1, u64::from(u32::MAX)][(n % 3) as usize];
        writeln!(acks.lines, "{} {} {round_trip}", acks.us, n % 5 * 1_000_000_000).unwrap();
    }
    let Some(states) = acks.states("extreme") else { return };
    assert!(states.iter().all(|state| (2..=48).contains(&state.halves)));
}
