# SPDX-License-Identifier: Apache-2.0
"""Random expressions over all operators and widths from 1 to 130 on both engines."""

from __future__ import annotations

import random

import pytest

from offramp_p4.frontend import load_text
from p4_expressions import random_program
from twins import Twins

pytestmark = [pytest.mark.p4, pytest.mark.full]


@pytest.mark.parametrize("seed", range(25))
def test_random_expressions(seed: int) -> None:
    text, size = random_program(seed)
    twins = Twins(load_text(text))
    rng = random.Random(seed)
    frames = [rng.randbytes(size) for _ in range(20)]
    frames += [bytes([rng.choice([0, 0, 0xFF, 0x80, 1]) for _ in range(size)]) for _ in range(20)]
    assert len(twins.send([(0, frame) for frame in frames])) == len(frames)
