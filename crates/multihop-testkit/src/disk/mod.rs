//! Loss of power, simulated: which states of a folder may be on the disk if power fails during a program.
//!
//! A [`Recorder`] records what real programs change below a folder, and what they print. From the [`Trace`] the model
//! derives states of the folder after a loss of power at any point ([`Trace::cut`]):
//!
//! * Everything that `fsync`, `fdatasync` or `syncfs` has written to the disk is there.
//! * A change of a file's contents since then is there or not, for each page of 4 KiB or each sector of 512 bytes. If
//!   the file has grown, missing parts are zeros.
//! * A change of a folder (creation, link, rename, removal) that was not followed by a sync of that folder is there or
//!   not: in the order of the changes, as with a journal; in the order within each folder; or in any order of changes of
//!   different names.
//! * A change of a mode is there or not until `fsync` of that file or folder.
//!
//! POSIX guarantees no more. Real file systems guarantee more, each of them something else.

mod image;
mod namespace;
mod pages;
mod recorder;
mod trace;

use std::fmt::{self, Display};

pub use image::{Image, Kept};
pub use recorder::Recorder;
pub use trace::Trace;

use multihop_core::Rng;

/// The result of simulated losses of power.
#[derive(Clone, Debug)]
pub struct Cuts {
    /// The name of the program that was recorded.
    pub program: String,
    /// Seed that selects the instants of the losses and what is lost.
    pub seed: u64,
    /// Number of cuts that were tried.
    pub count: usize,
    /// Number of different states among the cuts.
    pub states: usize,
    /// The problems that were found, each with the loss of power at which it occurred.
    pub violations: Vec<String>,
}

impl Cuts {
    /// Prints the number of cuts.
    ///
    /// # Panics
    ///
    /// If a cut has violated the property.
    #[expect(clippy::print_stdout, reason = "the figures of a test")]
    pub fn assert_none_is_violated(&self) {
        println!("{self}");
        assert!(self.violations.is_empty(), "{self}; the first of them:\n{}", self.violations[0]);
    }
}

impl Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, seed, count, states, violations } = self;
        write!(f, "{program}: {count} cuts, {states} different states, {} violations", violations.len())?;
        write!(f, " ({SEED}={seed})")
    }
}

impl Trace {
    /// Simulates losses of power at random points; `check` judges each resulting state of the folder.
    /// `MULTIHOP_CUTS` sets the number of cuts, `MULTIHOP_CUT_SEED` which ones.
    ///
    /// # Panics
    ///
    /// If one of the two variables is not a number.
    pub fn try_cuts(&self, program: &str, mut check: impl FnMut(&Image) -> Result<(), String>) -> Cuts {
        let seed = number(SEED).unwrap_or(1);
        let count =
            number(COUNT).map_or(USUAL_COUNT, |count| usize::try_from(count).expect("a number of cuts"));
        let mut states = std::collections::BTreeSet::new();
        let mut violations = Vec::new();
        for index in 0..count {
            let mut rng = Rng::stream(seed, program, index as u64);
            let image = self.cut(self.instant(&mut rng), &mut rng);
            states.insert(image.clone().into_files());
            if let Err(problem) = check(&image) {
                violations.push(format!("cut {index}: {problem}\n{image}"));
            }
        }
        Cuts { program: program.to_owned(), seed, count, states: states.len(), violations }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}, allowed: a whole number")))
}

const COUNT: &str = "MULTIHOP_CUTS";
const SEED: &str = "MULTIHOP_CUT_SEED";
/// Number of losses of power per program in a usual run of the tests.
const USUAL_COUNT: usize = 100;

#[cfg(test)]
mod tests;
