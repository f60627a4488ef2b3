"""The recipe of the package of OpenWrt, and the commands of its service."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

import openwrt
from tree import ROOT

CONFIG = """
config route 'mesh'
	list device 'wlan0'
	list device 'wlan1'
	option protocol 'olsr'
	list announce '192.168.1.0/24'
	list announce 'default'
	list neighbor '10.0.0.2'
	list within '10.0.0.0/8'
	option key '/etc/multihop/mesh.key'
	option metrics '127.0.0.1:9464'

config route 'other'
	option enabled '0'
	list device 'wlan5'

config route 'six'
	option ipv6 '1'
	option config '/etc/multihop/route.toml'
	list set 'routing.hello_interval=1'
"""
COMMANDS = [
    "/usr/bin/multihop route --quiet wlan0 wlan1 --set routing.protocol=olsr --announce 192.168.1.0/24"
    " --announce default --neighbor 10.0.0.2 --within 10.0.0.0/8 --key /etc/multihop/mesh.key"
    " --metrics 127.0.0.1:9464",
    "/usr/bin/multihop route --quiet --config /etc/multihop/route.toml --ipv6 --set routing.hello_interval=1",
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "multihop").write_text("a program")
    openwrt.install(tmp_path / "multihop", tmp_path / "root")
    return tmp_path / "root"


def commands(package: Path) -> list[str]:
    files = [package / "etc/init.d/multihop", package / "etc/config/multihop"]
    words = ["sh", str(ROOT / "tools/openwrt.sh"), *map(str, files)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


def test_the_recipe_installs_command_service_and_configuration(package: Path) -> None:
    modes = {"usr/bin/multihop": 0o755, "etc/init.d/multihop": 0o755, "etc/config/multihop": 0o600}
    found = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    assert found == set(modes)
    assert all((package / name).stat().st_mode & 0o777 == mode for name, mode in modes.items())


def test_the_recipe_has_the_version_of_the_workspace() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert f"PKG_VERSION:={version}\n" in (openwrt.RECIPE / "Makefile").read_text()


def test_each_enabled_section_is_a_daemon_with_its_settings(package: Path) -> None:
    (package / "etc/config/multihop").write_text(CONFIG)
    assert commands(package) == COMMANDS


def test_the_installed_configuration_starts_nothing_until_it_is_enabled(package: Path) -> None:
    assert commands(package) == []
    config = package / "etc/config/multihop"
    # All examples in comments become settings.
    text = config.read_text().replace("enabled '0'", "enabled '1'")
    config.write_text(text.replace("\t# list ", "\tlist ").replace("\t# option ", "\toption "))
    (command,) = commands(package)
    options = {word for word in command.split() if word.startswith("--")}
    assert options == {
        "--quiet", "--config", "--ipv6", "--set", "--announce", "--neighbor", "--within", "--key", "--metrics"
    }  # fmt: skip


def test_the_command_has_all_options_of_the_service() -> None:
    reference = (ROOT / "docs/commands.md").read_text()
    route = reference.partition("\n### multihop route\n")[2].partition("\n###")[0]
    assert all(word in route for command in COMMANDS for word in command.split() if word.startswith("--"))
