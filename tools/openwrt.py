"""Contents of the package of OpenWrt, without OpenWrt: the recipe's own steps install them, by make."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tree import ROOT

RECIPE = ROOT / "packaging/openwrt/multihop"
INCLUDED = {
    "rules.mk": "INSTALL_DIR:=install -d\nINSTALL_BIN:=install -m 0755\nINSTALL_CONF:=install -m 0600\n",
    "include/package.mk": "define BuildPackage\ninstall:\n\t$$(call Package/$(1)/install,$$(INTO))\nendef\n",
    "feeds/packages/lang/rust/rust-package.mk": "",
}
"""Files of OpenWrt's tree that the recipe includes, with what its installation needs of them."""


def install(multihop: Path, into: Path) -> None:
    """Install the files of the package into a root file system."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        for name, text in INCLUDED.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text, "utf-8")
        (top / "bin").mkdir()
        shutil.copy2(multihop, top / "bin/multihop")
        values = {"TOPDIR": top, "INCLUDE_DIR": top / "include", "PKG_INSTALL_DIR": top, "INTO": into}
        words = [f"{name}={value}" for name, value in values.items()]
        subprocess.run(["make", "--silent", "-C", RECIPE, "install", *words], check=True)
