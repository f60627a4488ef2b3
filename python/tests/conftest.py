from typing import Any

import pytest

import multihop


def chain(**settings: Any) -> dict[str, Any]:
    """A short run over two hops."""
    return {
        "name": "chain",
        "duration": 6.0,
        "warmup": 1.0,
        "topology": {"kind": "chain", "hops": 2},
        "routing": {"protocol": "static"},
        "flow": [{"app": "ftp", "transport": "newreno"}],
        **settings,
    }


CHAIN_TOML = """
name = "chain"
duration = 6.0
warmup = 1.0

[topology]
kind = "chain"
hops = 2

[routing]
protocol = "static"

[[flow]]
app = "ftp"
transport = "newreno"
"""


@pytest.fixture(scope="session")
def recorded() -> multihop.Result:
    """One run with series, for the tests that only read."""
    return multihop.run(chain(record={"every": 0.5, "what": ["cwnd", "goodput"]}, energy={}))
