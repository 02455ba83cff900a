# SPDX-License-Identifier: Apache-2.0
"""Simulated networks, clusters and cards, and what they reproduce from the papers; each package has its own face.

>>> from offramp_sim import max_min_rates
>>> max_min_rates(uses=[[0], [0, 1], [1]], room=[2.0, 10.0])
[1.0, 1.0, 9.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.water_filling import water_filling as max_min_rates
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "max_min_rates": "offramp_sim.water_filling:water_filling",
        },
    )
