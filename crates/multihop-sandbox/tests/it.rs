//! Threads that enter a sandbox. Each test confines a thread of its own.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests; the test runner counts skipped tests")]

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::net::{TcpListener, ToSocketAddrs, UdpSocket};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use multihop_sandbox::{Needs, Right, Sandbox};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Calls a function in a sandbox.
fn confined<T: Send + 'static>(needs: Needs, function: impl FnOnce() -> T + Send + 'static) -> T {
    let confine = move || {
        Sandbox::prepare(needs).unwrap().enter().unwrap();
        function()
    };
    thread::spawn(confine).join().unwrap()
}

/// The value of a line in the status file of this thread.
fn status(name: &str) -> String {
    let text = fs::read_to_string("/proc/thread-self/status").unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    value.trim().to_owned()
}

fn capabilities(set: &str) -> u64 {
    u64::from_str_radix(&status(set), 16).unwrap()
}

/// A folder that is deleted with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("multihop-sandbox-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn has_landlock() -> bool {
    let has = confined(Needs::default(), || fs::read_dir("/etc").is_err());
    if !has {
        println!("skipped: this kernel has no Landlock");
    }
    has
}

fn kind<T>(result: io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn only_needed_rights_remain_in_every_set() {
    let sets = || ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(capabilities);
    let is_root = capabilities("CapEff") & (1 << 8) != 0;
    let [inheritable, permitted, effective, bounding, ambient] = confined(Needs::default(), sets);
    assert_eq!([inheritable, permitted, effective, ambient], [0; 4]);
    if !is_root {
        return println!("skipped: only root can drop the bounding set");
    }
    assert_eq!(bounding, 0);
    // The number of CAP_NET_BIND_SERVICE is 10.
    let needs = Needs { rights: vec![Right::NetBindService], ..Needs::default() };
    assert_eq!(confined(needs, sets), [0, 1 << 10, 1 << 10, 1 << 10, 0]);
}

#[test]
fn a_sandbox_forbids_new_rights_and_filters_calls() {
    let [rights, filter] = confined(Needs::default(), || ["NoNewPrivs", "Seccomp"].map(status));
    assert_eq!((&*rights, &*filter), ("1", "2"));
}

#[test]
fn files_are_written_only_beneath_given_folders() {
    if !has_landlock() {
        return;
    }
    let (folder, other) = (Folder::new("inside"), Folder::new("outside"));
    fs::write(other.0.join("old"), "old").unwrap();
    symlink(&other.0, folder.0.join("way out")).unwrap();
    let (inside, outside) = (folder.0.clone(), other.0.clone());
    let needs = Needs { write: vec![inside.clone()], ..Needs::default() };
    confined(needs, move || {
        fs::create_dir(inside.join("a")).unwrap();
        fs::write(inside.join("a/new"), "new").unwrap();
        fs::rename(inside.join("a/new"), inside.join("newer")).unwrap();
        fs::remove_dir(inside.join("a")).unwrap();
        for path in [outside.join("new"), outside.join("old"), inside.join("way out/new")] {
            assert_eq!(kind(fs::write(&path, "x")), Some(ErrorKind::PermissionDenied), "{}", path.display());
        }
        let old = outside.join("old");
        assert_eq!(kind(fs::read(&old)), Some(ErrorKind::PermissionDenied));
        assert_eq!(kind(fs::remove_file(&old)), Some(ErrorKind::PermissionDenied));
        assert!(fs::rename(&old, inside.join("old")).is_err());
    });
    assert_eq!(fs::read_to_string(other.0.join("old")).unwrap(), "old");
}

#[test]
fn files_to_read_cannot_be_written() {
    if !has_landlock() {
        return;
    }
    let folder = Folder::new("read");
    let path = folder.0.join("key");
    fs::write(&path, "old").unwrap();
    let needs = Needs { read: vec![folder.0.clone(), "/does/not/exist".into()], ..Needs::default() };
    confined(needs, move || {
        // The file is replaced as an editor does.
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(kind(fs::write(&path, "new")), Some(ErrorKind::PermissionDenied));
    });
}

#[test]
fn root_keeps_rights_over_files_of_others_only_if_it_needs_them() {
    if capabilities("CapEff") & (1 << 1) == 0 {
        return println!("skipped: only root reaches files of others");
    }
    let (own, other) = (Folder::new("own"), Folder::new("other"));
    chown(&other.0, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&other.0, Permissions::from_mode(0o700)).unwrap();
    let effective = |needs| confined(needs, || capabilities("CapEff"));
    assert_eq!(effective(Needs { write: vec![own.0.clone()], ..Needs::default() }), 0);
    // CAP_DAC_OVERRIDE is 1, CAP_DAC_READ_SEARCH 2, CAP_FOWNER 3.
    assert_eq!(effective(Needs { write: vec![other.0.clone()], ..Needs::default() }), 1 << 1 | 1 << 3);
    assert_eq!(effective(Needs { read: vec![other.0.clone()], ..Needs::default() }), 1 << 2);
    let path = other.0.join("new");
    let needs = Needs { write: vec![other.0.clone()], ..Needs::default() };
    confined(needs, move || fs::write(path, "new").unwrap());
}

#[test]
fn no_program_is_executed_and_no_namespace_entered() {
    confined(Needs::default(), || {
        assert_eq!(kind(Command::new("true").status()), Some(ErrorKind::PermissionDenied));
        let flags = nix::sched::CloneFlags::CLONE_NEWUSER;
        assert_eq!(nix::sched::unshare(flags), Err(nix::errno::Errno::EPERM));
        let itself = nix::unistd::Pid::from_raw(1);
        assert_eq!(nix::sys::signal::kill(itself, None), Err(nix::errno::Errno::EPERM));
    });
}

#[test]
fn only_needed_kinds_of_sockets_open() {
    let opens = |family| socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).is_ok();
    let families = [AddressFamily::Inet, AddressFamily::Netlink, AddressFamily::Unix, AddressFamily::Packet];
    let open = move |needs| confined(needs, move || families.map(opens));
    assert_eq!(open(Needs::default()), [false; 4]);
    assert_eq!(open(Needs { internet: true, ..Needs::default() }), [true, true, false, false]);
    let interfaces = Needs { internet: true, interfaces: true, ..Needs::default() };
    assert_eq!(open(interfaces), [true, true, true, false]);
    assert_eq!(open(Needs { abstract_sockets: true, ..Needs::default() }), [false, false, true, false]);
    confined(Needs::default(), || {
        let (mut one, _other) = UnixStream::pair().unwrap();
        one.write_all(b"between threads").unwrap();
    });
}

#[test]
fn marks_can_be_set_and_raw_sockets_cannot_be_opened() {
    if capabilities("CapEff") & (1 << 13) == 0 {
        return println!("skipped: only root sets marks");
    }
    let needs = Needs { rights: vec![Right::Marks], internet: true, ..Needs::default() };
    confined(needs, || {
        let udp = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        nix::sys::socket::setsockopt(&udp, nix::sys::socket::sockopt::Mark, &1).unwrap();
        let raw = socket(AddressFamily::Inet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None);
        assert_eq!(raw.err(), Some(nix::errno::Errno::EPERM));
    });
}

#[test]
fn tcp_listens_only_if_it_is_needed() {
    if !has_landlock() {
        return;
    }
    let listens = |tcp| {
        let needs = Needs { internet: true, tcp, ..Needs::default() };
        confined(needs, || TcpListener::bind(("127.0.0.1", 0)).is_ok())
    };
    assert!(listens(true));
    let is_older = !listens(false);
    if !is_older {
        println!("skipped: Landlock of this kernel knows no TCP (before Linux 6.7)");
    }
}

#[test]
fn threads_names_and_datagrams_still_work() {
    let needs = Needs { names: true, internet: true, tcp: true, ..Needs::default() };
    confined(needs, || {
        assert!(("localhost", 1).to_socket_addrs().unwrap().count() > 0);
        thread::spawn(|| UdpSocket::bind(("127.0.0.1", 0)).unwrap()).join().unwrap();
        assert!(thread::available_parallelism().is_ok());
        assert!(Path::new("/etc").read_dir().is_ok());
    });
}

#[test]
fn a_panic_in_a_sandbox_ends_its_thread_only() {
    let confine = || {
        Sandbox::prepare(Needs::default()).unwrap().enter().unwrap();
        panic!("a test");
    };
    assert!(thread::spawn(confine).join().is_err());
}
