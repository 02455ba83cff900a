# SPDX-License-Identifier: Apache-2.0
"""Figures of Matplotlib as files, and the panels that they consist of.

>>> from offramp_sim.figures import Curves
>>> panel = Curves("Epochs", "workers", "seconds", {"switch": ([2, 4], [1.0, 0.6])})
>>> list(panel.lines)
['switch']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.figures.files import save as save
    from offramp_sim.figures.panels import Curves as Curves
    from offramp_sim.figures.panels import Gantt as Gantt
    from offramp_sim.figures.panels import Intervals as Intervals
    from offramp_sim.figures.plot import draw as draw
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Curves": "offramp_sim.figures.panels",
            "Gantt": "offramp_sim.figures.panels",
            "Intervals": "offramp_sim.figures.panels",
            "draw": "offramp_sim.figures.plot",
            "save": "offramp_sim.figures.files",
        },
    )
