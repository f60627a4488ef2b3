"""The gallery of the documentation site: for each scenario a picture, its text, and the page of its run."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import build


@dataclass(frozen=True)
class Scene:
    """A scenario, and where to look."""

    scenario: str
    title: str
    text: str
    view: str
    """Part that the gallery adds to the address of the page: an instant, a width, a flow."""
    settings: tuple[str, ...] = ()


SCENES = (
    Scene(
        "cross",
        "Two flows that cross",
        "Every station waits for its neighbours, and the middle one serves both flows.",
        "#t=61.2&w=0.05",
    ),
    Scene(
        "chain-4",
        "A chain of four hops",
        "Only one of the four links carries data at a time. NewReno sends more, and collides with itself.",
        "#t=40.0&w=0.05",
    ),
    Scene(
        "hidden",
        "Hidden terminals",
        "The two senders cannot sense each other. At the first receiver their frames collide.",
        "#t=5.0&w=0.03",
    ),
    Scene(
        "parallel",
        "A flow that starves",
        "Each chain senses the other but cannot decode it, so that no reservation protects its frames.",
        "#t=100.0&w=0.05",
        ("seed=5",),
    ),
    Scene(
        "grid",
        "Six flows on a grid",
        "Three flows from left to right, three from bottom to top.",
        "#t=100.0&w=0.05",
        ("duration=120.0",),
    ),
    Scene(
        "aodv-mobile-50",
        "Fifty nodes that move",
        "AODV repairs routes while nodes leave each other's range.",
        "#t=30.0&w=0.05",
        ("duration=60.0",),
    ),
    Scene(
        "apdr-diamond",
        "Routes by delay",
        "Two disjoint paths. The connection loads its own, so that the other looks better.",
        "#t=60.0&w=0.05",
        ("duration=120.0",),
    ),
    Scene(
        "roaming",
        "A node that walks away",
        "It walks along three stations and back, and sends over one to three hops.",
        "#t=100.0&w=0.05",
    ),
    Scene(
        "gateway",
        "A gateway to a wire",
        "TPA over four hops to a gateway, which forwards the data over TCP.",
        "#t=60.0&w=0.05",
    ),
)


def gallery(parts: Path, *, quick: bool) -> None:
    """Write gallery.md, and beside it the pages and pictures unless it should be quick."""
    folder = parts / "gallery"
    folder.mkdir()
    if not quick:
        for scene in SCENES:
            page(scene, folder)
        pictures(folder)
    text = [HEAD, *(entry(scene, folder) for scene in SCENES)]
    (parts / "gallery.md").write_text("\n\n".join(text) + "\n", "utf-8")


def page(scene: Scene, folder: Path) -> None:
    """Write the page of a run."""
    command = [str(build.bin_dir() / "multihop"), "view", f"scenarios/{scene.scenario}.toml"]
    for setting in scene.settings:
        command += ["--set", setting]
    out = folder / f"{scene.scenario}.html"
    subprocess.run([*command, "--out", str(out)], cwd=build.ROOT, check=True, stdout=subprocess.DEVNULL)


def pictures(folder: Path) -> None:
    """Have a browser draw the pages, or say why there are no pictures."""
    chromium = shutil.which("chromium")
    if chromium is None or shutil.which("node") is None:
        print("site: the gallery has no pictures: they need chromium and Node")
        return
    build.install_node_packages()
    wanted = json.dumps([[f"{scene.scenario}.html", scene.view] for scene in SCENES])
    subprocess.run(["node", build.WEB / "pictures.mjs", chromium, folder, wanted], check=True)


def entry(scene: Scene, folder: Path) -> str:
    """A scene on the page of the gallery."""
    link = f"gallery/{scene.scenario}.html{scene.view}"
    lines = [f"## {scene.title}", scene.text]
    if (folder / f"{scene.scenario}.png").is_file():
        lines.append(f"[![{scene.title}: map, packet and time line](gallery/{scene.scenario}.png)]({link})")
    if (folder / f"{scene.scenario}.html").is_file():
        lines.append(f"[Open the run]({link})")
    settings = "".join(f" --set {setting}" for setting in scene.settings)
    lines.append(f"`multihop view scenarios/{scene.scenario}.toml{settings}`")
    source = (build.ROOT / "scenarios" / f"{scene.scenario}.toml").read_text("utf-8")
    indented = "\n".join(f"    {line}".rstrip() for line in source.splitlines())
    lines.append(f'??? note "scenarios/{scene.scenario}.toml"\n\n    ```toml\n{indented}\n    ```')
    return "\n\n".join(lines)


HEAD = """# Gallery

What happens in these networks, as [`multihop view`](view.md) shows it. Each picture leads to the run: a
page that simulates it again in your browser, where you can play it, step through its frames, and change its
scenario.

`make docs` makes the pictures and pages from the scenarios of the repository."""
