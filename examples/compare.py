"""Compare two transports on a custom layout: `.venv/bin/python examples/compare.py`."""

import multihop

swept = multihop.sweep("examples/layout.toml", axes={"flow.*.transport": ["newreno", "tcp-2"]}, seeds=5)
for (transport,), runs in swept.runs.group_by(["flow.*.transport"], maintain_order=True):
    goodput = multihop.interval(runs["totals.goodput_kbps"])
    fairness = multihop.interval(runs["totals.jain"])
    print(f"{transport:8} {goodput} kb/s, fairness {fairness}")
