# SPDX-License-Identifier: Apache-2.0
"""Exchanges of boundary features between the hosts of a laboratory, one after another, timed.

>>> from offramp_sim.exchanges import MapCell, ExchangeTransport, load_of
>>> cell = MapCell(workers=8, copies=4.0, rate_bps=100_000_000)
>>> load_of(cell, ExchangeTransport.SWITCH).link_bytes < load_of(cell, ExchangeTransport.P2P).link_bytes
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.exchanges.cell import ExchangeLoad as ExchangeLoad
    from offramp_sim.exchanges.cell import ExchangeTransport as ExchangeTransport
    from offramp_sim.exchanges.cell import MapCell as MapCell
    from offramp_sim.exchanges.cell import TimedExchanges as TimedExchanges
    from offramp_sim.exchanges.formula import Speed as Speed
    from offramp_sim.exchanges.formula import crossover_bps as crossover_bps
    from offramp_sim.exchanges.formula import expected_ratio as expected_ratio
    from offramp_sim.exchanges.formula import fit as fit_speed
    from offramp_sim.exchanges.formula import load_of as load_of
    from offramp_sim.exchanges.formula import switch_wins as switch_wins
    from offramp_sim.exchanges.graphs import boundary_with as boundary_with
    from offramp_sim.exchanges.laboratory import ExchangeLaboratory as ExchangeLaboratory
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "ExchangeLaboratory": "offramp_sim.exchanges.laboratory",
            "ExchangeLoad": "offramp_sim.exchanges.cell",
            "ExchangeTransport": "offramp_sim.exchanges.cell",
            "MapCell": "offramp_sim.exchanges.cell",
            "Speed": "offramp_sim.exchanges.formula",
            "TimedExchanges": "offramp_sim.exchanges.cell",
            "boundary_with": "offramp_sim.exchanges.graphs",
            "crossover_bps": "offramp_sim.exchanges.formula",
            "expected_ratio": "offramp_sim.exchanges.formula",
            "fit_speed": "offramp_sim.exchanges.formula:fit",
            "load_of": "offramp_sim.exchanges.formula",
            "switch_wins": "offramp_sim.exchanges.formula",
        },
    )
