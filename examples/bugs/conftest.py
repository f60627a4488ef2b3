"""Networks for the tests of this folder, which hold on busy machines, too: a late network is no error."""

import math

import pytest

from multihop.lab import Lab, UnavailableError


@pytest.fixture
def mesh_lab(mesh_lab: Lab) -> Lab:
    """Makes networks without a limit of lateness; skips tests where emulations are not allowed."""
    mesh_lab.late_limit = math.inf
    try:
        mesh_lab.chain(hops=1).close()
    except UnavailableError as error:
        pytest.skip(str(error))
    return mesh_lab
