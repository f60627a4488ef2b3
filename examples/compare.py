"""Compare two transports on the layout of layout.toml: `.venv/bin/python examples/compare.py`."""

from pathlib import Path

import multihop

LAYOUT = Path(__file__).with_name("layout.toml")
SEEDS = range(1, 6)


def main() -> None:
    """Print goodput and fairness of each transport with 95% intervals."""
    for transport in ["newreno", "tcp-2"]:
        runs = [{"source": LAYOUT, "seed": seed, "flow.*.transport": transport} for seed in SEEDS]
        results = multihop.run_all(runs)
        goodput = multihop.interval(result.goodput_kbps for result in results)
        fairness = multihop.interval(result.totals["jain"] for result in results)
        print(f"{transport:8} {goodput} kb/s, fairness {fairness}")


if __name__ == "__main__":
    main()
