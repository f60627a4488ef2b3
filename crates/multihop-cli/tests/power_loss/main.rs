//! Tests of a loss of power: a real run of each program is recorded, and each state that its folder may have after a
//! cut at a random point is judged by the code that reads it. `MULTIHOP_CUTS=1000` tries 1000 cuts of each program.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]
#![expect(clippy::print_stdout, reason = "it says why a test is skipped")]

mod keys;
mod outputs;
mod received;
mod sweeps;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use multihop_testkit::disk::{Image, Kept, Recorder, Trace};

/// A folder `disk` that may lose power, and a folder beside it that does not.
struct Lab(PathBuf);

impl Lab {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("multihop-power-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("disk")).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// A recorder of changes in `disk`; without one, the reason is printed and the test is skipped.
    fn recorder(&self) -> Option<Recorder> {
        let recorder = Recorder::new(&self.path("disk"), &self.0);
        recorder.inspect_err(|why| println!("skipped: {why}")).ok()
    }

    /// Records commands of a shell in `disk`, in which `multihop` is the program; the last output is [`EXIT`].
    fn record(&self, script: &str) -> Option<Trace> {
        let recorder = self.recorder()?;
        let mut shell = Command::new("sh");
        let script = format!("set -e; multihop() {{ {} \"$@\"; }}; {script}", env!("CARGO_BIN_EXE_multihop"));
        shell
            .args(["-c", &script])
            .current_dir(self.path("disk"))
            .env("XDG_DATA_HOME", self.path("disk/data"));
        let output = recorder.prepare(&mut shell).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut trace = recorder.finish();
        trace.add_output(EXIT);
        Some(trace)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes an image into a new folder, in memory if possible, and lets `check` look at it.
fn mounted<T>(image: &Image, check: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("test").replace("::", "-");
    let folder = place.join(format!("multihop-power-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    image.write(&folder).unwrap();
    let checked = check(&folder);
    fs::remove_dir_all(folder).unwrap();
    checked
}

/// Checks that files whose names do not show that they are incomplete are as they are at the end, and that
/// all are there if the program has ended.
fn are_absent_or_whole(image: &Image, last: &BTreeMap<PathBuf, Kept>) -> Result<(), String> {
    for (path, kept) in image.files() {
        let is_incomplete = path.extension().is_some_and(|end| end == "part");
        if matches!(kept, Kept::File(..)) && !is_incomplete && last.get(path) != Some(kept) {
            return Err(format!("{} looks whole", path.display()));
        }
    }
    let missing = last.keys().find(|path| !image.files().contains_key(*path));
    match missing {
        Some(path) if image.outputs().contains(EXIT) => Err(format!("{} is lost", path.display())),
        _ => Ok(()),
    }
}

/// Output that marks the successful end of a program.
const EXIT: &str = "[the program has ended]";

/// Scenario of one hop, which runs for 0.3 s.
const SHORT: &str = "\
duration = 0.3
[topology]
kind = \"chain\"
hops = 1
[[flow]]
transport = \"newreno\"
[record]
what = [\"cwnd\"]
every = 0.1
";
