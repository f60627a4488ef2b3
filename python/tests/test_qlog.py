"""qlog files of simulated senders: their schema, and their counts beside those of the result."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from commands import multihop_command

SCHEMA = Path(__file__).with_name("qlog.schema.json")
TRANSPORTS = ["newreno", "cubic", "bbr3", "tcp-ap", "tpa", "mesh", "udp"]


def scenario() -> str:
    """A lossy chain with a flow of each transport, one after the other."""
    flows = []
    for number, transport in enumerate(TRANSPORTS):
        app = 'app = "cbr"\nrate_kbps = 200.0\n' if transport == "udp" else ""
        times = f"start = {2.0 * number}\nstop = {2.0 * number + 2.0}\n"
        flows.append(f'[[flow]]\nfrom = 0\nto = 3\ntransport = "{transport}"\n{app}{times}')
    head = f"duration = {2.0 * len(TRANSPORTS)}\n"
    return head + '[topology]\nkind = "chain"\nhops = 3\n[radio]\nloss = 0.02\n' + "".join(flows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one run."""
    folder = tmp_path_factory.mktemp("qlog")
    file = folder / "flows.toml"
    file.write_text(scenario())
    done = multihop_command("run", file, "--out", folder / "out", "--qlog", "--trace", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "out"


def records(file: Path) -> list[dict[str, Any]]:
    """The records of a JSON text sequence (RFC 7464)."""
    text = file.read_text()
    assert text.startswith("\x1e")
    assert text.endswith("\n")
    return [json.loads(part) for part in text.split("\x1e")[1:]]


def test_every_record_is_one_of_the_schema(folder: Path) -> None:
    check = fastjsonschema.compile(json.loads(SCHEMA.read_text()))
    files = sorted(folder.glob("flow-*.sqlog"))
    assert len(files) == len(TRANSPORTS)
    for file in files:
        first, *events = records(file)
        assert "trace" in check(first)
        assert events
        for event in events:
            assert "name" in check(event)


@pytest.mark.parametrize(
    "wrong",
    [
        {"time": -1.0, "name": "quic:packet_lost", "data": {}},
        {"time": 1.0, "name": "quic:packet_sent", "data": {}},
        {"time": 1.0, "name": "recovery:packet_lost", "data": {}},
        {"time": 1.0, "name": "quic:recovery_metrics_updated", "data": {"cwnd": 1}},
        {"time": 1.0, "name": "quic:congestion_state_updated", "data": {"old": "slow-start"}},
    ],
)
def test_the_schema_refuses_other_records(wrong: dict[str, Any]) -> None:
    check = fastjsonschema.compile(json.loads(SCHEMA.read_text()))
    with pytest.raises(fastjsonschema.JsonSchemaException):
        check(wrong)


def test_events_have_the_counts_of_the_run(folder: Path) -> None:
    flows = json.loads((folder / "result.json").read_text())["flows"]
    total: Counter[str] = Counter()
    for number, (transport, flow) in enumerate(zip(TRANSPORTS, flows, strict=True)):
        _, *events = records(folder / f"flow-{number}.sqlog")
        times = [event["time"] for event in events]
        assert times == sorted(times)
        names = Counter(event["name"] for event in events)
        total += names
        if flow["segments_retransmitted"]:
            assert names["quic:packet_lost"] > 0, transport
        if transport != "udp":
            assert names["quic:recovery_metrics_updated"] > 10, transport
            assert names["quic:congestion_state_updated"] > 0, transport
    lines = [line.split("\t") for line in (folder / "packets.txt").read_text().splitlines()[1:]]
    at_sender = Counter(line[0] for line in lines if line[2] == "0" and not line[4].startswith("arp"))
    assert total["quic:packet_sent"] == at_sender["s"]
    assert total["quic:packet_received"] == at_sender["r"]


def test_losses_of_tcp_are_its_retransmissions(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        'duration = 10.0\n[topology]\nkind = "chain"\nhops = 2\n[radio]\nloss = 0.03\n'
        '[[flow]]\ntransport = "newreno"\n'
    )
    done = multihop_command("run", file, "--out", tmp_path / "out", "--qlog", "--quiet")
    assert done.returncode == 0, done.stderr
    flow = json.loads((tmp_path / "out/result.json").read_text())["flows"][0]
    _, *events = records(tmp_path / "out/flow-0.sqlog")
    lost = [event["data"]["header"]["packet_number"] for event in events if event["name"].endswith("lost")]
    assert len(lost) == flow["segments_retransmitted"] > 5
    assert len(set(lost)) == len(lost)
    sent = {event["data"]["header"]["packet_number"] for event in events if event["name"].endswith("sent")}
    assert set(lost) <= sent


def test_qlog_needs_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text('duration = 1.0\n[topology]\nkind = "chain"\nhops = 1\n[[flow]]\ntransport = "newreno"\n')
    done = multihop_command("run", file, "--qlog")
    assert done.returncode == 2
    assert "--out" in done.stderr
