//! A long emulation with many programs leaves nothing behind.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::emulate::{Background, folder, is_possible, until};
use super::{code, stderr};

const STATIONS: usize = 24;

const PING: &[u8] = b"ping\0-n\0-q\0-i\x000.1\0-s\x00200\0";

/// A scenario in which each station requests an echo from its neighbour ten times a second.
fn scenario(seconds: u64) -> String {
    let programs = (0..STATIONS).map(|n| {
        let command = format!("exec ping -n -q -i 0.1 -s 200 10.0.0.{}", (n + 1) % STATIONS + 1);
        format!("[[program]]\nnode = {n}\ncommand = \"{command}\"\n")
    });
    let last = STATIONS - 1;
    let head =
        format!("name = \"long\"\nduration = {seconds}.0\n[topology]\nkind = \"chain\"\nhops = {last}\n");
    head + "[mac]\narp = \"queueing\"\n" + &programs.collect::<String>()
}

/// The network namespaces of all processes whose command line begins with these bytes.
fn namespaces(of: &[u8]) -> BTreeSet<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let chosen = processes
        .filter(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.starts_with(of)));
    chosen.filter_map(|entry| std::fs::read_link(entry.path().join("ns/net")).ok()).collect()
}

/// Open descriptors and resident kilobytes of a process.
fn use_of(process: &Path) -> (usize, u64) {
    let descriptors = std::fs::read_dir(process.join("fd")).unwrap().count();
    let status = std::fs::read_to_string(process.join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (descriptors, line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// The length is `MULTIHOP_LONG` seconds, ten minutes by default. One emulation ends by itself, another one
/// by `kill -9`.
#[test]
#[ignore = "takes ten minutes: run it by its name with --ignored"]
fn twenty_four_programs_for_ten_minutes_leave_nothing() {
    let seconds = std::env::var("MULTIHOP_LONG").map_or(600, |text| text.parse().unwrap());
    let folder = folder("emulate-long", &scenario(seconds));
    if !is_possible(&folder, &["ping"]) {
        return;
    }
    let begin = Instant::now();
    let emulation = Background::start(&folder, &["emulate", "x.toml"]);
    until("the start", || namespaces(PING).len() == STATIONS);
    let own = namespaces(PING);
    let process = Path::new("/proc").join(emulation.0.id().to_string());
    std::thread::sleep(Duration::from_secs(seconds / 10));
    let early = use_of(&process);
    std::thread::sleep(Duration::from_secs(seconds * 9 / 10).saturating_sub(begin.elapsed()));
    let late = use_of(&process);
    println!("descriptors and kB: {early:?} after a tenth of the time, {late:?} near the end");
    let done = emulation.output();
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    assert_eq!(late.0, early.0, "descriptors");
    assert!(late.1 < early.1 + 10_000, "{} kB after {} kB", late.1, early.1);
    until("the end of the namespaces", || namespaces(b"").is_disjoint(&own));

    let killed = Background::start(&folder, &["emulate", "x.toml"]);
    until("the start", || namespaces(PING).len() == STATIONS);
    let own = namespaces(PING);
    killed.signal("KILL");
    killed.output();
    until("the end of the namespaces", || namespaces(b"").is_disjoint(&own));
}
