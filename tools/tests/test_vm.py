"""Parts of the virtual machine; none of these tests boots one."""

import platform
from pathlib import Path

import pytest

import vm

DEPENDENCIES = """\
kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/netfs/netfs.ko kernel/fs/fscache/fscache.ko
kernel/fs/netfs/netfs.ko: kernel/fs/fscache/fscache.ko
kernel/fs/fscache/fscache.ko:
kernel/net/9p/9pnet.ko:
kernel/drivers/net/tap-device.ko.xz:
"""


@pytest.fixture
def dependencies(tmp_path: Path) -> Path:
    path = tmp_path / "modules.dep"
    path.write_text(DEPENDENCIES)
    return path


@pytest.fixture
def kernel(tmp_path: Path) -> vm.Kernel:
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot" / "vmlinuz-6.1.0-1-amd64").write_bytes(b"")
    (tmp_path / "lib" / "modules" / "6.1.0-1-amd64").mkdir(parents=True)
    return vm.Kernel(tmp_path)


def test_modules_follow_those_that_they_need(dependencies: Path) -> None:
    names = [Path(path).name for path in vm.module_files(dependencies, ["9p"])]
    assert names == ["fscache.ko", "netfs.ko", "9pnet.ko", "9p.ko"]


def test_modules_are_inserted_once_and_may_have_dashes(dependencies: Path) -> None:
    names = [Path(path).name for path in vm.module_files(dependencies, ["netfs", "tap_device", "9p"])]
    assert names == ["fscache.ko", "netfs.ko", "tap-device.ko.xz", "9pnet.ko", "9p.ko"]


def test_a_module_that_the_kernel_lacks_is_named(dependencies: Path) -> None:
    with pytest.raises(vm.MissingError, match="no module warp_drive"):
        vm.module_files(dependencies, ["warp_drive"])


def test_the_archive_has_aligned_entries_and_a_trailer() -> None:
    packed = vm.archive(["bin"], [("init", b"#!/bin/sh\n")])
    assert packed.count(b"070701") == 3
    assert len(packed) % 4 == 0
    at = packed.index(b"init\0")
    header = packed[at - 110 : at]
    assert header[:6] == b"070701"
    assert int(header[14:22], 16) == 0o100755
    size = int(header[54:62], 16)
    # The name ends at a multiple of four bytes, 110 bytes after the beginning of the header.
    assert packed[at - 110 + 116 :][:size] == b"#!/bin/sh\n"
    assert b"TRAILER!!!\0" in packed


def test_the_root_file_system_is_read_only_and_files_are_not(kernel: vm.Kernel) -> None:
    shared = {"root": Path("/"), "files": Path("/srv/files")}
    words = vm.qemu(vm.Machine(), kernel, Path("initrd"), Path("log"), shared)
    (root,) = [word for word in words if "id=root" in word]
    (files,) = [word for word in words if "id=files" in word]
    assert "readonly=on" in root
    assert "readonly" not in files
    assert "-icount" not in words


def test_the_clock_of_the_guest_can_count_instructions(kernel: vm.Kernel) -> None:
    words = list(vm.qemu(vm.Machine(icount="shift=0,sleep=off"), kernel, Path("initrd"), Path("log"), {}))
    assert words[words.index("-icount") + 1] == "shift=0,sleep=off"


def test_modules_are_loaded_before_the_script() -> None:
    text = vm.start(["mac80211_hwsim radios=0"])
    assert text.index("modprobe mac80211_hwsim radios=0\n") < text.index("sh /run/vm/script")


@pytest.mark.parametrize(
    ("line", "is_warning"),
    [
        ("[    1.0] WARNING: CPU: 0 PID: 7 at net/mac80211/rx.c:5210", True),
        ("[    1.0] BUG: kernel NULL pointer dereference", True),
        ("[    1.0] INFO: task ping:12 blocked for more than 120 seconds.", True),
        ("[    1.0] clocksource: Long readout interval, skipping watchdog check", False),
    ],
)
def test_mistakes_of_the_kernel_are_recognised(line: str, is_warning: bool) -> None:
    assert bool(vm.WARNING.search(line)) == is_warning


def test_a_machine_that_cannot_run_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert vm.main(["--", "true"]) == 0
    assert capsys.readouterr().out.startswith("skipped: virtual machine: it needs Linux on x86-64")
