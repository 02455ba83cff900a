# SPDX-License-Identifier: Apache-2.0
"""Training on neighbours' rows: every worker computes its vertices in bins, as the rows that they need arrive.

>>> from offramp.g3 import Schedule
>>> Schedule.__name__
'Schedule'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.g3.bins import Bins as Bins
    from offramp.g3.block import BipartiteBlock as BipartiteBlock
    from offramp.g3.engine import HaloEngine as HaloEngine
    from offramp.g3.schedule import Schedule as Schedule
    from offramp.g3.schedule import schedule_of as schedule_of
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Bins": "offramp.g3.bins",
            "BipartiteBlock": "offramp.g3.block",
            "HaloEngine": "offramp.g3.engine",
            "Schedule": "offramp.g3.schedule",
            "schedule_of": "offramp.g3.schedule",
        },
    )
