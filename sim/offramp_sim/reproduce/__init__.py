# SPDX-License-Identifier: Apache-2.0
"""Reproductions of the papers' figures and tables, beside the published numbers.

>>> from offramp_sim.reproduce import find
>>> [item.name for item in find("themis/table3")]
['themis/table3']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.reproduce.catalogue import find as find
    from offramp_sim.reproduce.catalogue import items as items
    from offramp_sim.reproduce.datasets import PaperDataset as PaperDataset
    from offramp_sim.reproduce.gpu import Gpu as Gpu
    from offramp_sim.reproduce.item import Evidence as Evidence
    from offramp_sim.reproduce.item import Item as Item
    from offramp_sim.reproduce.item import PaperComparison as PaperComparison
    from offramp_sim.reproduce.item import Reproduction as Reproduction
    from offramp_sim.reproduce.item import reproduces as reproduces
    from offramp_sim.reproduce.missing import MISSING as MISSING
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Evidence": "offramp_sim.reproduce.item",
            "Gpu": "offramp_sim.reproduce.gpu",
            "Item": "offramp_sim.reproduce.item",
            "MISSING": "offramp_sim.reproduce.missing",
            "PaperComparison": "offramp_sim.reproduce.item",
            "PaperDataset": "offramp_sim.reproduce.datasets",
            "Reproduction": "offramp_sim.reproduce.item",
            "find": "offramp_sim.reproduce.catalogue",
            "items": "offramp_sim.reproduce.catalogue",
            "reproduces": "offramp_sim.reproduce.item",
        },
    )
