"""A custom figure, goodput over the length of a chain: `.venv/bin/python examples/figure.py`."""

import multihop
from multihop import report

TRANSPORT, HOPS, GOODPUT = "flow.*.transport", "topology.hops", "totals.goodput_kbps"

swept = multihop.sweep(
    "scenarios/chain-4.toml",
    axes={TRANSPORT: ["newreno", "tcp-2", "tpa*-3"], HOPS: [1, 2, 3, 4, 6, 8]},
    seeds=5,
    out="out/figure",
)

figure, axes = report.new_figure("hops", "goodput, kb/s")
for (transport,), runs in swept.runs.group_by([TRANSPORT], maintain_order=True):
    lengths = runs[HOPS].unique(maintain_order=True).to_list()
    means = [multihop.interval(runs.filter(runs[HOPS] == hops)[GOODPUT]) for hops in lengths]
    report.curve(axes, lengths, means, str(transport))
axes.set_ylim(bottom=0)
axes.legend()
figure.savefig("out/figure/goodput.svg")
print(swept.mean())
