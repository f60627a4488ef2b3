#!/usr/bin/env python3
"""Show what the command prints on a terminal, in the middle of its work, after an interrupt and at its end.

    python3 tools/screens.py                          all screens, into out/screens
    python3 tools/screens.py --columns 60 sweep       one of them, on a narrow terminal

Needs tmux, and the package with its command: `make build`.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from real_programs import LOOPBACK, ROOT, free_port, write_noise

SERVER = "multihop-screens"
SHELL = "env PS1='$ ' bash --norc --noprofile"
LINES = 40


def main() -> int:
    """Write the screens that the arguments name."""
    screens = {"sweep": sweep, "transfer": transfer, "papers": papers}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("screens", nargs="*", metavar="SCREEN", help=f"of {', '.join(screens)}; default: all")
    parser.add_argument("--columns", type=int, default=80, help="of the terminal")
    parser.add_argument("--multihop", type=Path, default=ROOT / ".venv" / "bin" / "multihop")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "screens")
    options = parser.parse_args()
    if unknown := set(options.screens) - set(screens):
        parser.error(f"no screen {', '.join(sorted(unknown))}, allowed: {', '.join(screens)}")
    if not shutil.which("tmux") or not options.multihop.exists():
        print("skipped: tmux or the command is missing", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.screens or screens:
        with tempfile.TemporaryDirectory() as scratch:
            shoot = screens[name]
            try:
                for step, screen in shoot(str(options.multihop), Path(scratch), options.columns).items():
                    path = options.out / f"{name}-{step}.txt"
                    path.write_text(screen, encoding="utf-8")
                    print(f"--- {name}, {step}\n{screen}")
            finally:
                subprocess.run(["tmux", "-L", SERVER, "kill-server"], check=False, stderr=subprocess.DEVNULL)
    return 0


class Terminal:
    """A shell in a terminal."""

    def __init__(self, folder: Path, columns: int, name: str = "one") -> None:
        self.name = name
        size = ["-x", str(columns), "-y", str(LINES)]
        self.tmux("new-session", "-d", "-s", name, *size, "-c", str(folder), SHELL)

    def tmux(self, *words: str) -> str:
        """Run a command of tmux."""
        done = subprocess.run(["tmux", "-L", SERVER, *words], check=True, capture_output=True, text=True)
        return done.stdout

    def type(self, *keys: str) -> None:
        """Press keys in the terminal."""
        self.tmux("send-keys", "-t", self.name, *keys)

    def after(self, seconds: float) -> str:
        """The lines that are not empty, after this time."""
        time.sleep(seconds)
        lines = self.tmux("capture-pane", "-t", self.name, "-p").splitlines()
        return "".join(f"{line}\n" for line in lines if line)


def sweep(multihop: str, folder: Path, columns: int) -> dict[str, str]:
    """A sweep that is interrupted, and then goes on."""
    shutil.copy(ROOT / "scenarios" / "chain-sweep.toml", folder)
    terminal = Terminal(folder, columns)
    command = f"{shlex.quote(multihop)} sweep chain-sweep.toml --out runs --set duration="
    terminal.type(f"{command}2000", "Enter")
    found = {"middle": terminal.after(5)}
    terminal.type("C-c")
    found["interrupted"] = terminal.after(2)
    terminal.type(f"clear; {command}20", "Enter")
    return found | {"end": terminal.after(10)}


def transfer(multihop: str, folder: Path, columns: int) -> dict[str, str]:
    """A transfer that is interrupted, and then goes on: both ends."""
    write_noise(folder / "large", 500_000_000, 1)
    to, terminals = (
        f"{LOOPBACK}:{free_port()}",
        [Terminal(folder, columns, name) for name in ("recv", "send")],
    )
    receiver, sender = terminals
    receiver.type(f"{shlex.quote(multihop)} recv --plain --to into --listen {to}", "Enter")
    time.sleep(2)
    send = f"{shlex.quote(multihop)} send --plain large {to}"
    sender.type(send, "Enter")
    time.sleep(4)
    found = {f"{end.name}-middle": end.after(0) for end in terminals}
    sender.type("C-c")
    time.sleep(3)
    found |= {f"{end.name}-interrupted": end.after(0) for end in terminals}
    sender.type(send, "Enter")
    time.sleep(40)
    receiver.type("C-c")
    time.sleep(1)
    return found | {f"{end.name}-end": end.after(0) for end in terminals}


def papers(multihop: str, folder: Path, columns: int) -> dict[str, str]:
    """A short experiment of a paper."""
    terminal = Terminal(folder, columns)
    terminal.type(f"{shlex.quote(multihop)} papers run tpa-chain-aodv --quick --out papers", "Enter")
    return {"middle": terminal.after(6), "end": terminal.after(60)}


if __name__ == "__main__":
    sys.exit(main())
