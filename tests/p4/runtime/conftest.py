# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from p4rt_lab import ENGINES, Lab

FEATURES = Path(__file__).with_name("features.p4")


@pytest.fixture(params=list(ENGINES))
def lab(request):
    """``features.p4`` on each engine."""
    opened = Lab(request.param, FEATURES)
    yield opened
    opened.close()


@pytest.fixture
def plain_lab():
    """``features.p4`` on the Python engine, where the engine makes no difference."""
    opened = Lab("python", FEATURES)
    yield opened
    opened.close()
