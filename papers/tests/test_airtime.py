import pytest

from multihop_papers.airtime import Radio


def test_an_exchange_added_up_by_hand() -> None:
    # DIFS 50, backoff 15 * 20, RTS 192 + 160, CTS and ACK 192 + 112, data 192 + 8 * 1528 / 2,
    # three SIFS of 10
    assert Radio().exchange(1500, rts=True) == 50 + 300 + 352 + 304 + 6304 + 304 + 3 * 10
    assert Radio().exchange(1500, rts=False) == 50 + 300 + 6304 + 10 + 304


@pytest.mark.parametrize(
    ("rate", "rts", "udp", "tcp", "delayed"),
    [(2.0, True, 1538, 1236, 1367), (2.0, False, 1688, 1443, 1551), (11.0, True, 4433, 2765, 3401)],
)
def test_goodput_of_one_hop(rate: float, rts: bool, udp: float, tcp: float, delayed: float) -> None:
    radio = Radio(rate)
    assert radio.udp_kbps(1460, rts=rts) == pytest.approx(udp, abs=0.5)
    assert radio.tcp_kbps(1460, rts=rts) == pytest.approx(tcp, abs=0.5)
    assert radio.tcp_kbps(1460, rts=rts, segments_per_ack=2) == pytest.approx(delayed, abs=0.5)


def test_a_short_preamble_saves_half_of_each_header() -> None:
    assert Radio().exchange(1500, rts=True) - Radio(preamble="short").exchange(1500, rts=True) == 4 * 96
