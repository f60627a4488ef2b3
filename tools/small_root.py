#!/usr/bin/env python3
"""Run the package of OpenWrt in a root file system of 64 MB, as small routers have.

    python3 tools/small_root.py target/x86_64-unknown-linux-musl/release/multihop

The root is a tmpfs with busybox, the files of the package, and nothing else: no C library, and no shell but
busybox's. Three hosts on a line start the daemon that the package's service starts; a ping from the first
host reaches the last one. Printed are the sizes of the package and of busybox, and the memory of the daemons.
Needs root, make, busybox-static, and a static program: `cargo zigbuild --release
--target x86_64-unknown-linux-musl -p multihop-cli --no-default-features --features network`.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import openwrt
from cabled import Host, cabled, wait_for
from tree import ROOT

SIZE = 64
"""Size of the file system, MB."""
HOSTS = 3


@contextlib.contextmanager
def small_root(multihop: Path) -> Iterator[Path]:
    """A root file system with busybox and the package."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}m", "small", root], check=True)
        try:
            for name in ("bin", "dev", "etc", "proc", "run", "sys", "tmp"):
                (root / name).mkdir()
            openwrt.install(multihop, root)
            shutil.copy2(ROOT / "tools/openwrt.sh", root / "etc/openwrt.sh")
            shutil.copy2(shutil.which("busybox") or "busybox", root / "bin/busybox")
            (root / "bin/sed").symlink_to("busybox")
            (root / "dev/null").touch()
            subprocess.run(["mount", "--bind", "/dev/null", root / "dev/null"], check=True)
            subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
            yield root
        finally:
            for name in ("proc", "dev/null", "."):
                subprocess.run(["umount", "--lazy", root / name], check=False)


def command(root: Path, host: Host) -> list[str]:
    """Words of the command that the package's service starts on a host."""
    devices = "".join(f"\tlist device '{name}'\n" for name in host.interfaces)
    (root / "etc/config/multihop").write_text(f"config route 'mesh'\n{devices}\toption protocol 'olsr'\n")
    shell = ["/bin/busybox", "sh", "/etc/openwrt.sh", "/etc/init.d/multihop", "/etc/config/multihop"]
    done = subprocess.run(["chroot", root, *shell], check=True, capture_output=True, text=True)
    return done.stdout.split()


def main() -> int:
    """Start the daemons, wait for their routes, and ping."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("multihop", type=Path, help="the static program")
    multihop: Path = parser.parse_args().multihop
    hosts = [Host(number) for number in range(HOSTS)]
    with small_root(multihop) as root, cabled(hosts, [(0, 1), (1, 2)]):

        def words(host: Host, *command: str) -> list[str]:
            return host.words("chroot", root, *command)

        for host in hosts:
            host.daemon = subprocess.Popen(words(host, *command(root, host)))

        def ping(count: int, output: int | None = None) -> int:
            ping = words(hosts[0], "/bin/busybox", "ping", "-c", str(count), "-W", "1", "10.1.1.2")
            return subprocess.run(ping, check=False, stdout=output, stderr=output).returncode

        wait_for(lambda: ping(1, subprocess.DEVNULL) == 0)
        code = ping(3)
        busybox = (root / "bin/busybox").stat().st_size / 1e6
        package = shutil.disk_usage(root).used / 1e6 - busybox
        memory = max(host.usage()[1] for host in hosts) / 1e3
        print(
            f"{package:.1f} MB for the package and {busybox:.1f} MB for busybox in a root of {SIZE} MB, "
            f"at most {memory:.1f} MB of memory for a daemon"
        )
        return code


if __name__ == "__main__":
    sys.exit(main())
