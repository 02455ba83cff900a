# SPDX-License-Identifier: Apache-2.0
"""The programs for v1model and Tofino on both engines."""

from __future__ import annotations

from functools import cache

import pytest

from allreduce_lab import TARGETS, make
from offramp_p4 import PlainSwitch

_cached = cache(make)


@pytest.fixture(params=TARGETS)
def switch(request: pytest.FixtureRequest) -> PlainSwitch:
    """A switch that has nothing but its program."""
    lab_switch = _cached(request.param)
    lab_switch.reset()
    return lab_switch
