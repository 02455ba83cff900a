# SPDX-License-Identifier: Apache-2.0
"""Simulators of RTL: Icarus for small benches, Verilator for wide and long ones."""

import pytest

from offramp_sim.rtl.build import missing


def _usable(name: str) -> str:
    if lacking := missing(name):
        pytest.skip(f"{name} needs {lacking}")
    return name


@pytest.fixture
def simulator() -> str:
    return _usable("icarus")


@pytest.fixture(params=["icarus", pytest.param("verilator", marks=pytest.mark.slow)])
def either(request) -> str:
    """Icarus by default, Verilator too among the slow tests."""
    return _usable(request.param)


@pytest.fixture
def fast() -> str:
    """Verilator: for wide data and long runs."""
    return _usable("verilator")
