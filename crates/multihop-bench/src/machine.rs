//! The load of the machine during a measurement.

use std::fs;
use std::thread;

use serde::Serialize;

/// The state of the machine at one time; Linux only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Time since boot, in seconds. The next fields are CPU seconds: of all processes, and of this process and the
    /// children it has waited for.
    up: f64,
    busy: f64,
    own: f64,
    load: [f64; 3],
}

/// The load between two times.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Load {
    processors: usize,
    /// Load averages over 1, 5 and 15 minutes at the beginning.
    average_before: [f64; 3],
    /// Load averages over 1, 5 and 15 minutes at the end.
    average_after: [f64; 3],
    /// Mean number of processors busy with other work.
    pub(crate) others: f64,
}

/// The number of threads that can run in parallel.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

impl Moment {
    pub(crate) fn now() -> Option<Self> {
        let up = numbers(&fs::read_to_string("/proc/uptime").ok()?).next()?;
        let stat = fs::read_to_string("/proc/stat").ok()?;
        // The fields are user, nice, system, idle, waiting, interrupts (two kinds) and stolen time.
        let times: Vec<_> = numbers(stat.lines().next()?.strip_prefix("cpu ")?).collect();
        let busy: f64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|&n| times.get(n)).sum();
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        // The text begins with the third field; the 14th to 17th fields are the times of this process and its
        // children.
        let own: f64 =
            numbers(own.rsplit_once(") S ").or_else(|| own.rsplit_once(") R "))?.1).skip(10).take(4).sum();
        let averages = fs::read_to_string("/proc/loadavg").ok()?;
        let load: Vec<_> = numbers(&averages).take(3).collect();
        Some(Self { up, busy: busy / TICKS, own: own / TICKS, load: load.try_into().ok()? })
    }

    /// The load between this moment and `after`.
    pub(crate) fn until(self, after: Self) -> Load {
        let others = (after.busy - self.busy) - (after.own - self.own);
        Load {
            processors: processors(),
            average_before: self.load,
            average_after: after.load,
            others: (others / (after.up - self.up).max(1.0 / TICKS)).max(0.0),
        }
    }
}

impl Load {
    /// Whether times measured during this load are meaningful.
    pub(crate) fn is_quiet(&self) -> bool {
        self.others <= QUIET
    }

    pub(crate) fn text(&self) -> String {
        let Self { processors, average_before: [before, ..], average_after: [after, ..], others } = self;
        let verdict = if self.is_quiet() {
            "quiet"
        } else {
            "BUSY: times are unreliable; counts of instructions, events and bytes are valid"
        };
        format!(
            "machine: {processors} processors, load average {before:.2} before and {after:.2} after; \
             others kept {others:.2} processors busy ({verdict})"
        )
    }
}

fn numbers(text: &str) -> impl Iterator<Item = f64> {
    text.split_whitespace().map_while(|word| word.parse().ok())
}

/// Clock ticks per second, the unit of CPU times in Linux.
const TICKS: f64 = 100.0;
/// Largest number of processors that other processes may use on a machine that counts as idle.
const QUIET: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Moment = Moment { up: 100.0, busy: 50.0, own: 10.0, load: [0.5, 0.2, 0.1] };

    #[test]
    fn load_of_other_processes_is_separated_from_our_own() {
        let after = Moment { up: 110.0, busy: 65.0, own: 20.0, load: [2.0, 0.5, 0.2] };
        let load = MOMENT.until(after);
        assert!((load.others - 0.5).abs() < 1e-12);
        assert!(!load.is_quiet());
        assert!(load.text().contains("load average 0.50 before and 2.00 after; others kept 0.50"));
    }

    #[test]
    fn an_idle_machine_is_quiet() {
        assert!(MOMENT.until(Moment { up: 110.0, busy: 60.0, own: 20.0, ..MOMENT }).is_quiet());
    }

    #[test]
    fn the_system_reports_its_load() {
        if !cfg!(target_os = "linux") {
            return println!("skipped: needs Linux");
        }
        assert!(Moment::now().expect("/proc exists").up > 0.0);
    }
}
