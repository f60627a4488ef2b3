"""Programs of containers' images in an emulated network."""

import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from multihop.lab import Lab, LabError, UnavailableError

BUSYBOX = Path(which("busybox") or "/bin/busybox")


def layer(entries: dict[str, bytes | str]) -> bytes:
    """A compressed layer: files by their content, and links by their target."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, content in entries.items():
            entry = tarfile.TarInfo(path)
            entry.mode = 0o755
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                tar.addfile(entry)
            else:
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def write_image(folder: Path, layers: list[bytes], config: dict[str, Any]) -> Path:
    """Write an OCI image layout."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"mediaType": "", "digest": f"sha256:{digest}", "size": len(content)}

    described = {"os": "linux", "architecture": "any", "config": config}
    manifest = {
        "schemaVersion": 2,
        "config": blob(json.dumps(described).encode()),
        "layers": [blob(content) for content in layers],
    }
    index = {"schemaVersion": 2, "manifests": [blob(json.dumps(manifest).encode())]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder


def busybox_layer() -> bytes:
    return layer(
        {"bin/busybox": BUSYBOX.read_bytes(), "bin/sh": "busybox", "srv/hidden": b"", "srv/text": b"one\n"}
    )


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Networks whose images are unpacked into a folder of the test."""
    if (
        not BUSYBOX.exists()
        or subprocess.run(["ldd", BUSYBOX], capture_output=True, check=False).returncode == 0
    ):
        pytest.skip("not installed: busybox-static")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    nets = Lab(late_limit=float("inf"), folder=tmp_path)
    try:
        nets.chain(hops=1).close()
    except UnavailableError as error:
        pytest.skip(str(error))
    return nets


def test_an_image_runs_with_its_settings_in_a_copy_of_its_own(nets: Lab, tmp_path: Path) -> None:
    config = {
        "Env": ["COLOUR=red", "PATH=/bin"],
        "Entrypoint": ["busybox"],
        "Cmd": ["sh", "-c", "pwd; echo $COLOUR $ADDRESS_1; cat text; ls; exit 3"],
        "WorkingDir": "/srv",
    }
    second = layer({"srv/.wh.hidden": b"", "srv/text": b"two\n"})
    image = write_image(tmp_path / "image", [busybox_layer(), second], config)
    with nets.chain(hops=1) as net:
        program = net[0].start(image=image)
        assert program.wait(20) == 3
        assert program.output() == "/srv\nred 10.0.0.2\ntwo\ntext\n"
        assert net[0].run(["cat", "text"], image=image) == "two\n"
        assert net[0].run("echo $COLOUR", image=image, environment={"COLOUR": "blue"}) == "blue\n"
        assert net[0].run("busybox pwd", image=image, directory="/bin") == "/bin\n"
        net[0].run("echo changed > /srv/text; echo x > /new", image=image)
        assert net[0].run("busybox cat text; busybox ls /", image=image).startswith("two\n")
        # The machine's files are out of sight, but for the devices.
        listed = net[0].run("busybox ls /; busybox cat /etc/hosts", image=image)
        assert "bin\ndev\netc\nproc\nsrv\nsys\ntmp\n" in listed
        assert "10.0.0.2 node1" in listed
        # Programs without an image see the machine again.
        assert net[0].run("pwd") == f"{Path.cwd()}\n"
        assert net[0].run("ls -d /usr") == "/usr\n"


def test_containers_talk_over_the_network(nets: Lab, tmp_path: Path) -> None:
    image = write_image(tmp_path / "image", [busybox_layer()], {"Entrypoint": ["/bin/busybox"]})
    with nets.chain(hops=2) as net:
        server = net[2].start(["nc", "-l", "-p", "7000"], image=image, listens=7000)
        net[0].run("echo hello | busybox nc {2} 7000", image=image, timeout=30)
        assert server.wait(20) == 0
        assert server.output() == "hello\n"
        sleeper = net[1].start(["sleep", "600"], image=image)
        net.kill(sleeper)
        assert sleeper.wait(20) == -9


def test_the_example_of_the_page_runs(nets: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if which("curl") is None:
        pytest.skip("not installed: curl")
    page = Path(__file__).parents[2] / "docs" / "how-to" / "containers.md"
    example = page.read_text().split("```python\n")[1].split("```")[0]
    page_of_server = layer({"srv/index.html": b"hello\n"})
    config = {"Entrypoint": ["/bin/busybox", "httpd", "-f"], "Cmd": ["-p", "8080", "-h", "/srv"]}
    write_image(tmp_path / "server", [busybox_layer(), page_of_server], config)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    names["test_reaches_the_container"](nets)


def test_a_folder_can_be_a_root(nets: Lab, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name, content in (("bin/busybox", BUSYBOX.read_bytes()), ("srv/text", b"one\n")):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_bytes(content)
    (root / "bin/busybox").chmod(0o755)
    (root / "bin/sh").symlink_to("busybox")
    with nets.chain(hops=1) as net:
        assert net[0].run(["busybox", "cat", "/srv/text"], image=root) == "one\n"
        net[0].run("echo x > /new", image=root)
    assert not (root / "new").exists()


def test_wrong_images_say_what_is_allowed(nets: Lab, tmp_path: Path) -> None:
    outside = layer({"../outside": b"bad"})
    zstd = b"\x28\xb5\x2f\xfd" + bytes(100)
    # The cache has no image with these layers.
    damaged = write_image(tmp_path / "damaged", [busybox_layer(), layer({"further": b""})], {})
    for blob in (damaged / "blobs" / "sha256").iterdir():
        if blob.stat().st_size > 10_000:
            blob.write_bytes(blob.read_bytes()[:-1])
    wrong = [
        (
            tmp_path / "none",
            "allowed: a folder with an OCI image (index.json and blobs), or with the root of a system",
        ),
        (write_image(tmp_path / "outside-image", [outside], {}), "../outside: found a path with `..`"),
        (write_image(tmp_path / "zstd", [zstd], {}), "zstd has compressed, allowed: gzip"),
        (write_image(tmp_path / "empty", [busybox_layer()], {}), "no entry point and no command"),
        (damaged, "damaged"),
    ]
    with nets.chain(hops=1) as net:
        for image, message in wrong:
            with pytest.raises(LabError, match=re.escape(message)):
                net[0].start(image=image)
        assert net[0].run("echo still here") == "still here\n"
    assert not (tmp_path / "outside").exists()


def test_images_of_buildah_run(nets: Lab, tmp_path: Path) -> None:
    if which("buildah") is None:
        pytest.skip("not installed: buildah")
    storage = {"--root": tmp_path / "storage", "--runroot": tmp_path / "run", "--storage-driver": "vfs"}
    options = [word for pair in storage.items() for word in pair]

    def buildah(*words: str | Path) -> str:
        command = ["buildah", *map(str, options), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"buildah does not work here: {done.stderr.strip()}")
        return done.stdout.strip()

    container = buildah("from", "scratch")
    buildah("copy", container, BUSYBOX, "/bin/busybox")
    buildah("config", "--entrypoint", '["/bin/busybox", "echo"]', "--cmd", "from buildah", container)
    image = buildah("commit", "--quiet", container)
    buildah("push", "--quiet", image, f"oci:{tmp_path / 'image'}")
    with nets.chain(hops=1) as net:
        assert net[1].run(image=tmp_path / "image") == "from buildah\n"
