from typing import Any


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
