//! Rights that long-running commands have given up, as /proc shows them.

use std::fs;
use std::os::unix::fs::symlink;

use multihop_linux::netns::Namespace;

use super::*;

/// Capabilities as bits of a mask.
const NET_BIND_SERVICE: u64 = 1 << 10;
const NET_ADMIN: u64 = 1 << 12;
const NET_RAW: u64 = 1 << 13;

/// One thread of a process, by its status file.
struct Thread {
    /// Inheritable, permitted, effective, bounding and ambient capabilities.
    sets: [u64; 5],
    no_new_privs: bool,
    /// Whether system calls are filtered.
    filter: bool,
}

fn threads(process: u32) -> Vec<Thread> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    // A thread may end while the list is read.
    let texts = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    texts.map(|text| Thread::of(&text)).collect()
}

impl Thread {
    fn of(text: &str) -> Self {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
            value.trim().to_owned()
        };
        let set = |name| u64::from_str_radix(&field(name), 16).unwrap();
        Self {
            sets: ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(set),
            no_new_privs: field("NoNewPrivs") == "1",
            filter: field("Seccomp") == "2",
        }
    }

    fn has_only(&self, rights: u64) -> bool {
        self.no_new_privs && self.filter && self.sets.iter().all(|set| set & !rights == 0)
    }
}

/// Waits until every thread of a command has only these rights, in every set of capabilities.
#[track_caller]
fn keeps_only(rights: u64, command: &Running) {
    let confined = || threads(command.child.id()).iter().all(|thread| thread.has_only(rights));
    until(confined);
}

fn is_root() -> bool {
    let all = Thread::of(&fs::read_to_string("/proc/self/status").unwrap()).sets;
    // CAP_SETPCAP, which drops the bounding set.
    all[2] & (1 << 8) != 0
}

#[test]
fn every_thread_of_a_listener_gives_up_all_rights() {
    if !is_root() {
        return println!("skipped: only root has rights to give up");
    }
    let folder = Folder::new("sandbox-listeners");
    let listen = |first: &[&str]| {
        let usual = ["--plain", "--listen", "127.0.0.1:0"];
        let mut command = Running::new(&folder, &[first, &usual].concat());
        command.address();
        command
    };
    keeps_only(0, &listen(&["recv", "--to", "inbox"]));
    keeps_only(0, &listen(&["perf"]));
    keeps_only(NET_RAW, &listen(&["tunnel", "--allow", "localhost:*"]));
}

#[test]
fn every_thread_of_a_near_end_gives_up_all_rights() {
    if !is_root() {
        return println!("skipped: only root has rights to give up");
    }
    let folder = Folder::new("sandbox-near");
    let near = |more: &[&str]| {
        let usual = ["tunnel", "127.0.0.1:9", "--plain", "--socks", "0"];
        let mut command = Running::new(&folder, &[&usual, more].concat());
        assert!(command.line().contains("SOCKS5"));
        command
    };
    keeps_only(0, &near(&[]));
    keeps_only(NET_RAW, &near(&["--fallback-tcp"]));
}

#[test]
fn a_port_below_1024_needs_no_right_afterwards() {
    if !is_root() {
        return println!("skipped: only root has rights to give up");
    }
    let Ok(host) = Namespace::new() else { return println!("skipped: network namespaces need root") };
    let folder = Folder::new("sandbox-port");
    let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
    command.args(["perf", "--plain", "--listen", "127.0.0.1:99"]);
    let mut command = host.run(|| Running::of(&mut command, &folder)).unwrap();
    assert_eq!(command.address(), "127.0.0.1:99");
    keeps_only(0, &command);
}

#[test]
fn the_routing_daemon_keeps_two_rights_and_its_page_none() {
    if !is_root() {
        return println!("skipped: only root has rights to give up");
    }
    let Ok(host) = Namespace::new() else { return println!("skipped: network namespaces need root") };
    let folder = Folder::new("sandbox-route");
    let start = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
        host.run(|| Running::of(command.arg("route").args(args), &folder)).unwrap()
    };
    keeps_only(NET_ADMIN | NET_BIND_SERVICE, &start(&["none"]));
    let mut page = start(&["status", "--page", "127.0.0.1:0"]);
    if page.line().starts_with("open http://") {
        keeps_only(0, &page);
    } else {
        println!("skipped: the command was built without its pages");
    }
}

#[test]
fn an_option_keeps_everything() {
    let folder = Folder::new("sandbox-off");
    let mut command = Running::new(&folder, &["perf", "--plain", "--listen", "127.0.0.1:0", "--no-sandbox"]);
    command.address();
    // The command prints this after the point at which it would enter the sandbox.
    command.advice();
    let own = Thread::of(&fs::read_to_string("/proc/self/status").unwrap());
    for thread in threads(command.child.id()) {
        assert_eq!((thread.sets, thread.filter), (own.sets, own.filter));
    }
}

/// The folder of a receiver is replaced by a link to another one, which would mislead a receiver that is not confined.
#[test]
fn a_receiver_writes_nothing_outside_of_its_folder() {
    let transfer = |name: &str, option: &[&str]| {
        let folder = Folder::new(name).with("note", "hello\n");
        let listen = ["recv", "--to", "inbox", "--plain", "--listen", "127.0.0.1:0", "--patience", "3"];
        let mut receiver = Running::new(&folder, &[&listen, option].concat());
        let to = receiver.address();
        receiver.advice();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::rename(folder.path().join("inbox"), folder.path().join("away")).unwrap();
        symlink("outside", folder.path().join("inbox")).unwrap();
        let said = Running::new(&folder, &["send", "note", &to, "--plain", "--patience", "3"]).end(SOON);
        let written = fs::read_dir(folder.path().join("outside")).unwrap().count();
        (said, written)
    };
    let (said, written) = transfer("sandbox-link-off", &["--no-sandbox"]);
    assert_eq!((said.code, written), (Some(0), 1), "{said:?}");
    let (said, written) = transfer("sandbox-link", &[]);
    if written > 0 {
        return println!("skipped: this kernel has no Landlock");
    }
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("Permission denied"), "{said:?}");
}
