"""NewReno as a congestion control in Python, with its own arithmetic.

python examples/my_newreno.py
"""

import multihop


class NewReno(multihop.CongestionControl):
    """RFC 5681 and RFC 6582 with the rounding of ns-2, in segments."""

    def on_ack(self, now, ack):
        """Grow the window, or leave fast recovery."""
        window = self.window
        if ack.kind == "partial":
            return
        if ack.kind == "full":
            window.release(window.ssthresh)
        if window.cwnd < window.ssthresh:
            window.cwnd += 1
        else:
            window.cwnd += 1 / window.cwnd

    def on_loss(self, now, flight):
        """Halve the window; three duplicate ACKs are three segments that have arrived."""
        half = self.window.total / 2
        self.window.ssthresh = int(half)
        self.window.hold(half)

    def on_timeout(self, now, flight, again):
        """Start again with one segment."""
        self.window.ssthresh = int(self.window.cwnd / 2)
        self.window.shrink()


if __name__ == "__main__":
    transports = {"flow.*.transport": ["newreno", "my-newreno"]}
    swept = multihop.sweep("chain-4", axes=transports, seeds=5, controllers={"my-newreno": NewReno})
    for transport, mean, *_ in swept.mean("goodput").iter_rows():
        print(f"{transport:10} {mean:6.1f} kb/s")
