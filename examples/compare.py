"""Compare two transports on a layout of one's own: `.venv/bin/python examples/compare.py`."""

import multihop

for transport in ["newreno", "tcp-2"]:
    runs = [
        {"source": "examples/layout.toml", "seed": seed, "flow.*.transport": transport}
        for seed in range(1, 6)
    ]
    results = multihop.run_all(runs)
    goodput = multihop.interval(result.goodput_kbps for result in results)
    fairness = multihop.interval(result.totals["jain"] for result in results)
    print(f"{transport:8} {goodput} kb/s, fairness {fairness}")
