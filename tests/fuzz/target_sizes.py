# SPDX-License-Identifier: Apache-2.0
"""Quantities with units, as files of the placement and the command line write them."""

from __future__ import annotations

import math
import random

from fuzzing import mutate
from offramp.dgtp.quantity import amount, count

NAME = "quantities with units"
EXAMPLES = ("10Gbps", "1.5 GiB", "3e9", "100 MB", "25", "0", "1Tbps", "512KiB")


def run(rng: random.Random) -> None:
    """One quantity: whatever is accepted is a finite number of at least 0."""
    given = rng.choice((mutate.text(rng, rng.choice(EXAMPLES)), mutate.value(rng, 1)))
    if rng.random() < 0.5:
        number = amount(given, "field", rng.choice(("", "B", "bps")))
        assert math.isfinite(number)
        assert number >= 0
    else:
        assert count(given, "field", 1) >= 1
