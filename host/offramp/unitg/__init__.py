# SPDX-License-Identifier: Apache-2.0
"""UniTG (Zhang 2026, chapter 5): a language model fine-tuned in the bubbles of a pipelined graph neural network.

>>> from offramp.unitg import build_timetable
>>> table = build_timetable([1.0, 1.0], [2.0, 2.0], microbatches=4)
>>> table.makespan
15.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.unitg.coflows import gated_plan as gated_plan
    from offramp.unitg.microbatches import make_microbatches as make_microbatches
    from offramp.unitg.pipeline import Stage as Stage
    from offramp.unitg.results import UnitgResult as UnitgResult
    from offramp.unitg.run import train_unitg as train_unitg
    from offramp.unitg.schedule import split_layers as split_layers
    from offramp.unitg.settings import UnitgSettings as UnitgSettings
    from offramp.unitg.text import vertex_texts as vertex_texts
    from offramp.unitg.timetable import Timetable as Timetable
    from offramp.unitg.timetable import timetable as build_timetable
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Stage": "offramp.unitg.pipeline",
            "Timetable": "offramp.unitg.timetable",
            "UnitgResult": "offramp.unitg.results",
            "UnitgSettings": "offramp.unitg.settings",
            "build_timetable": "offramp.unitg.timetable:timetable",
            "gated_plan": "offramp.unitg.coflows",
            "make_microbatches": "offramp.unitg.microbatches",
            "split_layers": "offramp.unitg.schedule",
            "train_unitg": "offramp.unitg.run",
            "vertex_texts": "offramp.unitg.text",
        },
    )
