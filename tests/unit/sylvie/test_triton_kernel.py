# SPDX-License-Identifier: Apache-2.0
"""Sylvie's Triton kernels in Triton's interpreter: the bytes of the quantiser in machine code."""

from __future__ import annotations

import pytest

from triton_interpreter import interpreted

pytestmark = pytest.mark.full


@pytest.mark.slow
def test_codes_bounds_and_values_are_those_of_the_quantiser_to_the_bit() -> None:
    pytest.importorskip("triton")
    interpreted("triton_quantiser.py", "cpu")
