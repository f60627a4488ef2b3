//! Root folder of a program that runs in an image: a copy of the image in memory, with the devices, the processes and
//! the hosts file of the emulation.
//!
//! The calling thread moves into a new mount namespace, which ends with the last program in it.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::pivot_root;

/// Moves this thread into the root of an image, and into `directory` there. `root` is never written.
pub(crate) fn enter(root: &Path, directory: &Path) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    // The image may be below the folder that the file system in memory covers: it is the working directory.
    std::env::set_current_dir(root)?;
    let memory = std::env::temp_dir();
    mount(Some("multihop"), &memory, Some("tmpfs"), MsFlags::empty(), Some(MAX_WRITTEN))?;
    for folder in ["written", "work", "root"] {
        fs::create_dir(memory.join(folder))?;
    }
    let new = memory.join("root");
    let [written, work] = ["written", "work"].map(|folder| memory.join(folder).display().to_string());
    let layers = format!("lowerdir=.,upperdir={written},workdir={work},userxattr");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("overlay"), &new, Some("overlay"), flags, Some(layers.as_str())).map_err(|error| {
        let needs = "an image needs overlay file systems in user namespaces, which Linux has since 5.11";
        io::Error::new(io::Error::from(error).kind(), format!("{needs}: {error}"))
    })?;
    std::env::set_current_dir(&new)?;
    // Nobody who made an image can have guessed this name.
    let old = format!(".machine-{:016x}", RandomState::new().hash_one(0));
    fs::create_dir(&old)?;
    pivot_root(".", old.as_str())?;
    std::env::set_current_dir("/")?;
    let old = Path::new("/").join(old);
    fill(&old)?;
    umount2(&old, MntFlags::MNT_DETACH)?;
    fs::remove_dir(&old)?;
    fs::create_dir_all(directory)?;
    std::env::set_current_dir(directory)
}

/// Adds to the new root what programs expect from the machine, whose root is in the folder `old`.
fn fill(old: &Path) -> io::Result<()> {
    for folder in ["proc", "sys", "dev", "tmp", "etc"] {
        fs::create_dir_all(Path::new("/").join(folder))?;
    }
    bind(&old.join("proc"), "/proc", MsFlags::MS_REC)?;
    // Only a process that owns the network namespace can mount a new one, and few programs need it.
    let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::MS_RDONLY, None::<&str>);
    mount(Some("multihop"), "/dev", Some("tmpfs"), MsFlags::MS_NOSUID, Some("mode=755,size=64m"))?;
    fs::create_dir_all("/dev/net")?;
    fs::create_dir("/dev/pts")?;
    fs::create_dir("/dev/shm")?;
    fs::set_permissions("/dev/shm", fs::Permissions::from_mode(0o1777))?;
    for device in ["null", "zero", "full", "random", "urandom", "tty", "net/tun"] {
        let place = format!("/dev/{device}");
        if old.join("dev").join(device).exists() {
            File::create_new(&place)?;
            bind(&old.join("dev").join(device), &place, MsFlags::empty())?;
        }
    }
    for (link, target) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        symlink(format!("/proc/self/{target}"), format!("/dev/{link}"))?;
    }
    let terminals = mount(
        Some("devpts"),
        "/dev/pts",
        Some("devpts"),
        MsFlags::MS_NOSUID,
        Some("newinstance,ptmxmode=666"),
    );
    if terminals.is_ok() {
        symlink("pts/ptmx", "/dev/ptmx")?;
    }
    for name in ["/etc/hosts", "/etc/resolv.conf"] {
        // In some images this is a link.
        let _ = fs::remove_file(name);
        let text = fs::read(old.join(&name[1..])).unwrap_or_default();
        fs::write(name, text)?;
    }
    Ok(())
}

fn bind(from: &Path, to: &str, more: MsFlags) -> io::Result<()> {
    Ok(mount(Some(from), to, None::<&str>, MsFlags::MS_BIND | more, None::<&str>)?)
}

/// Largest size of the files that a program writes into its copy of an image.
const MAX_WRITTEN: &str = "mode=755,size=1g";
