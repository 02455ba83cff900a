# SPDX-License-Identifier: Apache-2.0
"""Random programs, statement by statement, on both engines."""

from __future__ import annotations

import random

import pytest

from offramp_p4.frontend import load_text
from p4_statements import Programs
from twins import Twins

pytestmark = [pytest.mark.p4, pytest.mark.full]


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int) -> None:
    twins = Twins(load_text(Programs(seed).text()))
    rng = random.Random(seed)
    for _ in range(3):
        twins.send(
            [
                (rng.randrange(8), bytes(rng.choice([0, 1, 3, rng.randrange(256)]) for _ in range(rng.randrange(24))))
                for _ in range(40)
            ]
        )
