# SPDX-License-Identifier: Apache-2.0
"""Exponents of power laws that are known."""

from __future__ import annotations

import numpy as np
import pytest

from offramp_sim.torchgt.measure import slope


@pytest.mark.each
@pytest.mark.parametrize(("factor", "exponent"), [(1.0, 2.0), (5.0, 1.0), (0.25, -0.5), (7.0, 0.0)])
def test_the_exponent_of_a_power_law(factor: float, exponent: float) -> None:
    sizes = np.array([1, 2, 4, 8, 32])
    assert slope(sizes, factor * sizes**exponent) == pytest.approx(exponent, abs=1e-12)
