import pytest
from scenarios import chain

import multihop


@pytest.fixture(scope="session")
def recorded() -> multihop.Result:
    """One run with series, for the tests that only read."""
    return multihop.run(chain(record={"every": 0.5, "what": ["cwnd", "goodput"]}, energy={}))
