# SPDX-License-Identifier: Apache-2.0
"""Generated graphs: ``sbm:n=1000,k=4`` and the like, with numbers that are too large or none."""

from __future__ import annotations

import random

from fuzzing import mutate
from offramp.graph.generate import GENERATORS, generate

NAME = "generators' strings"
LIMIT_S = 60.0  # the largest graph that fits into memory takes 12 s on an idle machine
_FIELDS = ("n", "k", "degree", "homophily", "gamma", "features", "scale", "a", "b", "c", "m", "q", "")
_VALUES = (
    *(
        "0",
        "1",
        "2",
        "4",
        "10",
        "50",
        "0.5",
        "2.5",
        "-1",
        "1e3",
        "1e18",
        "1e308",
        "nan",
        "inf",
        "-inf",
        "1_0",
        "\u0661",
    ),
    *(str(1 << 20), str(1 << 30), str(2**63), "9" * 5000, "1e400", "", " 4", "0x10"),
)


def run(rng: random.Random) -> None:
    """One string."""
    name = rng.choice(list(GENERATORS))
    spec = f"{name}:" + ",".join(f"{rng.choice(_FIELDS)}={rng.choice(_VALUES)}" for _ in range(rng.randrange(4)))
    graph = generate(mutate.text(rng, spec) if rng.random() < 0.1 else spec, None, 0)
    assert graph.vertices >= 1
