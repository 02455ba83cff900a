# SPDX-License-Identifier: Apache-2.0
"""Measurements of TorchGT's attention on this machine.

>>> from offramp_sim.torchgt import AttentionCase, slope
>>> AttentionCase("topology", tokens=512).degree, round(slope([1.0, 2.0, 4.0], [3.0, 6.0, 12.0]), 3)
(10, 1.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.torchgt.measure import AttentionCase as AttentionCase
    from offramp_sim.torchgt.measure import AttentionCost as AttentionCost
    from offramp_sim.torchgt.measure import measure as measure_attention
    from offramp_sim.torchgt.measure import peak_bytes as peak_bytes
    from offramp_sim.torchgt.measure import slope as slope
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "AttentionCase": "offramp_sim.torchgt.measure",
            "AttentionCost": "offramp_sim.torchgt.measure",
            "measure_attention": "offramp_sim.torchgt.measure:measure",
            "peak_bytes": "offramp_sim.torchgt.measure",
            "slope": "offramp_sim.torchgt.measure",
        },
    )
