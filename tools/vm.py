#!/usr/bin/env python3
"""Run a command on another Linux kernel: Debian's, in a virtual machine that QEMU emulates.

    python3 tools/vm.py [--modules a,b] [--seconds 120] [--files DIR] [--icount shift=0,sleep=off] -- COMMAND

The machine sees the root file system of this one, read-only below an overlay in memory, so that the command
may change everything and nothing remains. The command runs as root in the current folder. Its output appears
here, and its exit code becomes that of the tool. `$VM_FILES` is a folder that remains: `--files`, or a
temporary one. The tool fails if the kernel warns, and ends with 124 after the time limit.

QEMU translates instructions (TCG), because the processor's own virtualisation is often missing: a program
runs about 10 to 30 times slower than outside. The tool needs Linux on x86-64, and Debian's packages
qemu-system-x86, seabios, ipxe-qemu, busybox-static and kmod. It unpacks the kernel package into
target/vm. Without these packages it prints one line that begins with `skipped:`.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import build

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "vm"
QEMU = "qemu-system-x86_64"
PROGRAMS = {QEMU: "qemu-system-x86", "busybox": "busybox-static", "depmod": "kmod"}
FILES = {"/usr/share/seabios/bios-256k.bin": "seabios", "/usr/lib/ipxe/qemu": "ipxe-qemu"}
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
"""Modules that mount the root file system. Debian's kernel has none of them built in."""

TIMED_OUT = 124
WARNING = re.compile(r"WARNING:|BUG:|Oops:|Kernel panic|INFO: (?:task .* blocked|rcu_)")


class MissingError(Exception):
    """A reason why no virtual machine runs here."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package."""

    folder: Path

    @property
    def image(self) -> Path:
        """File of the compressed kernel that QEMU boots."""
        return next((self.folder / "boot").glob("vmlinuz-*"))

    @property
    def modules(self) -> Path:
        """Folder of the kernel's modules, which also has `modules.dep`."""
        return next((self.folder / "lib" / "modules").iterdir())

    @property
    def release(self) -> str:
        """Version as `uname -r` prints it."""
        return self.modules.name


@dataclass(frozen=True)
class Machine:
    """Settings of a virtual machine."""

    modules: Sequence[str] = ()
    """Modules that are loaded before the command, each with its parameters: `mac80211_hwsim radios=0`."""
    seconds: float = 120.0
    """Limit of the run, wall-clock time."""
    memory: int = 1024
    """Memory of the virtual machine, MB."""
    icount: str | None = None
    """QEMU's `-icount`: the guest's clock counts instructions, for example `shift=0,sleep=off`."""
    package: str | None = None
    """Debian package of the kernel; None for the current one."""


@dataclass(frozen=True)
class Outcome:
    """Result of a command in a virtual machine."""

    code: int
    """Exit code of the command; 124 after the time limit."""
    warnings: Sequence[str]
    """Lines of the kernel's log that announce a mistake of the kernel."""
    log: Sequence[str]
    """Lines that the kernel has logged since its boot."""


def main(arguments: Sequence[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--modules", default="", help="modules to load, separated by commas")
    parser.add_argument("--seconds", type=float, default=Machine.seconds, help="time limit")
    parser.add_argument("--memory", type=int, default=Machine.memory, help="memory, MB")
    parser.add_argument("--icount", help="QEMU's -icount: the guest's clock counts instructions")
    parser.add_argument("--package", help="Debian package of another kernel")
    parser.add_argument("--files", type=Path, help="folder for files that the command leaves in $VM_FILES")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    modules = [module for module in options.modules.split(",") if module]
    machine = Machine(modules, options.seconds, options.memory, options.icount, options.package)
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = (options.files or Path(folder)).resolve()
            files.mkdir(parents=True, exist_ok=True)
            outcome = run(machine, shlex.join(options.command), files)
    except MissingError as reason:
        print(f"skipped: virtual machine: {reason}")
        return 0
    for line in outcome.warnings:
        print(f"kernel: {line}", file=sys.stderr)
    if outcome.code == TIMED_OUT:
        print(f"vm: the command did not end within {machine.seconds:.0f} s", file=sys.stderr)
        print("\n".join(outcome.log[-20:]), file=sys.stderr)
    return outcome.code or (1 if outcome.warnings else 0)


def run(machine: Machine, script: str, files: Path) -> Outcome:
    """Boot the machine, run a shell script in the current folder, and end it.

    The script's output appears on standard output. `files` is writable for the script as `$VM_FILES`.
    """
    install_programs()
    kernel = unpacked(machine.package)
    with tempfile.TemporaryDirectory(prefix="multihop-vm-") as temporary:
        place = Path(temporary)
        log, code = place / "kernel.log", place / "code"
        (place / "script").write_text(f"cd {shlex.quote(str(Path.cwd()))}\n{script}\n")
        (place / "start").write_text(start(machine.modules))
        initrd = place / "initrd"
        initrd.write_bytes(gzip.compress(initial_root(kernel), compresslevel=1))
        words = qemu(machine, kernel, initrd, log, {"root": Path("/"), "run": place, "files": files})
        is_late = not output_of(words, machine.seconds)
        lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
        ended = TIMED_OUT if is_late else int(code.read_text()) if code.is_file() else 1
        warnings = [line for line in lines if WARNING.search(line)]
        if ended != TIMED_OUT and not code.is_file():
            warnings.append("the machine ended before the command")
        return Outcome(ended, warnings, lines)


def output_of(words: Sequence[str], seconds: float) -> bool:
    """Run QEMU, whose standard output is that of the guest's script; whether it ended in time."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=sys.stdout.fileno())
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    finally:
        process.kill()
        process.wait()
    return True


def qemu(
    machine: Machine, kernel: Kernel, initrd: Path, log: Path, shared: Mapping[str, Path]
) -> Sequence[str]:
    """The command line of QEMU. Serial ports have the kernel's log and the script's output."""
    words = [QEMU, "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "1", "-m", str(machine.memory)]
    words += ["-display", "none", "-monitor", "none", "-no-reboot", "-net", "none"]
    words += ["-serial", f"file:{log}", "-serial", "stdio"]
    words += ["-kernel", str(kernel.image), "-initrd", str(initrd)]
    words += ["-append", "console=ttyS0 quiet loglevel=5 panic=-1"]
    if machine.icount is not None:
        words += ["-icount", machine.icount]
    for tag, path in shared.items():
        access = ",readonly=on,multidevs=remap" if tag == "root" else ""
        words += ["-fsdev", f"local,id={tag},path={path},security_model=none{access}"]
        words += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    return words


def initial_root(kernel: Kernel) -> bytes:
    """The archive of the first root file system: busybox, modules, and a program that mounts the real one."""
    boot = module_files(kernel.modules / "modules.dep", BOOT_MODULES)
    busybox = Path(shutil.which("busybox") or "/bin/busybox").read_bytes()
    files = [("bin/busybox", busybox), ("init", init(kernel, boot).encode())]
    files += [(f"modules/{Path(name).name}", (kernel.modules / name).read_bytes()) for name in boot]
    return archive(["bin", "modules", "dev", "proc", "lower", "upper", "new"], files)


def init(kernel: Kernel, modules: Iterable[str]) -> str:
    """The first program of the guest: mounts an overlay over the host's root, and starts the script in it."""
    inserted = "\n".join(f"insmod /modules/{Path(name).name}" for name in modules)
    options = "trans=virtio,version=9p2000.L,msize=512000"
    return f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
{inserted}
mount -t 9p -o ro,cache=loose,{options} root /lower
mount -t tmpfs tmpfs /upper
mkdir /upper/upper /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/upper,workdir=/upper/work overlay /new
mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount -t devtmpfs dev /new/dev
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts devpts /new/dev/pts
mount -t tmpfs tmpfs /new/dev/shm
mount -t tmpfs tmpfs /new/run
mount -t tmpfs tmpfs /new/tmp
mkdir -p /new/run/vm /new/run/files /new/lib/modules
mount -t 9p -o {options} run /new/run/vm
mount -t 9p -o {options} files /new/run/files
mount -t cgroup2 cgroup2 /new/sys/fs/cgroup
mount -t bpf bpf /new/sys/fs/bpf
ln -s {kernel.modules} /new/lib/modules/{kernel.release}
exec switch_root /new /bin/sh /run/vm/start < /dev/null > /dev/ttyS1 2>&1
"""


def start(modules: Iterable[str]) -> str:
    """The script that loads modules, runs the command, and stores its exit code."""
    loaded = "\n".join(f"modprobe {module}" for module in modules)
    return f"""export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run
export VM_FILES=/run/files
stty -F /dev/ttyS1 -opost
ip link set lo up
{loaded}
{{ sh /run/vm/script; echo $? > /run/vm/code; }} 2>&1 | cat
sync
busybox poweroff -f
"""


def module_files(dependencies: Path, names: Iterable[str]) -> Sequence[str]:
    """Files of modules and of the modules that they need, in the order in which they are inserted."""
    lines = dependencies.read_text().splitlines()
    needs = {path: rest.split() for path, _, rest in (line.partition(":") for line in lines)}
    paths = {re.sub(r"\.ko.*", "", Path(path).name).replace("-", "_"): path for path in needs}
    ordered: dict[str, None] = {}
    for name in names:
        path = paths.get(name.replace("-", "_"))
        if path is None:
            raise MissingError(f"the kernel has no module {name}")
        # depmod lists the needed modules in the reverse order of their insertion.
        ordered.update(dict.fromkeys([*reversed(needs[path]), path]))
    return list(ordered)


def archive(folders: Iterable[str], files: Iterable[tuple[str, bytes]]) -> bytes:
    """A cpio archive of the format newc, as the kernel reads it; all files are executable."""
    entries = [(name, 0o040755, b"") for name in folders]
    entries += [(name, 0o100755, content) for name, content in files]
    entries.append(("TRAILER!!!", 0, b""))
    parts = []
    for number, (name, mode, content) in enumerate(entries, 1):
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        parts += [padded(header), padded(content)]
    return b"".join(parts)


def padded(content: bytes) -> bytes:
    """The content with zeros up to a multiple of four bytes."""
    return content + bytes(-len(content) % 4)


def install_programs() -> None:
    """Install what the machine needs, or raise the reason why it cannot be had."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise MissingError(f"it needs Linux on x86-64, not {sys.platform} on {platform.machine()}")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [package for name, package in PROGRAMS.items() if shutil.which(name, path=path) is None]
    missing += [package for name, package in FILES.items() if not Path(name).exists()]
    for package in missing:
        if not build.apt_install(package):
            raise MissingError(f"a package is missing and could not be installed: apt-get install {package}")


def unpacked(package: str | None) -> Kernel:
    """The kernel of a package, which is downloaded and unpacked once."""
    name = package or current_package()
    kernel = Kernel(CACHE / name)
    if kernel.folder.is_dir():
        return kernel
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        place = Path(temporary)
        if attempt(["apt-get", "download", "-qq", name], place) is None:
            attempt(["apt-get", "update", "-qq"], place)
            if attempt(["apt-get", "download", "-qq", name], place) is None:
                raise MissingError(f"the package {name} could not be downloaded")
        (package_file,) = place.glob("*.deb")
        subprocess.run(["dpkg", "-x", package_file, place / "kernel"], check=True)
        release = Kernel(place / "kernel").release
        path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        subprocess.run(
            ["depmod", "-b", place / "kernel", release], check=True, env={**os.environ, "PATH": path}
        )
        try:
            (place / "kernel").rename(kernel.folder)
        except OSError:
            # Another run of this tool was faster.
            if not kernel.folder.is_dir():
                raise
    return kernel


def current_package() -> str:
    """The package of Debian's current kernel, or the newest one that has been unpacked."""
    shown = attempt(["apt-cache", "depends", "linux-image-amd64"], ROOT)
    found = re.search(r"Depends: (linux-image-[\w.-]+)", shown or "")
    if found:
        return found[1]
    if not (CACHE.is_dir() and any(CACHE.iterdir())):
        raise MissingError("apt does not offer linux-image-amd64")
    return max(CACHE.iterdir(), key=lambda folder: folder.stat().st_mtime).name


def attempt(words: Sequence[str], folder: Path) -> str | None:
    """The output of a command; None if it fails."""
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
