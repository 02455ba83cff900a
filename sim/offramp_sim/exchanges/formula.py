# SPDX-License-Identifier: Apache-2.0
"""The time of an exchange behind rated links of a software switch, and the link rate below which the switch pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from offramp.switchgnn.chunks import WIDTHS, chunks_for, vector_wire_bytes
from offramp.switchgnn.cost import Rates
from offramp.workers.traffic import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES
from offramp_base.errors import OfframpError
from offramp_sim.exchanges.cell import ExchangeLoad, ExchangeTransport, MapCell, TimedExchanges

_PACKET: Final = HOST_PAYLOAD_BYTES + HOST_OVERHEAD_BYTES
_USUAL: Final = (16.0, 14.0, 20.0)
"""Logarithms of rates at which a fit begins."""
_LEAST, _MOST = (7.0, 7.0, 14.0), (21.0, 21.0, 26.0)
"""Bounds of a fit: cells that never wait for one of the rates do not tell it."""

Measured = dict[MapCell, dict[ExchangeTransport, TimedExchanges]]
"""Measurements of each cell, by way."""


@dataclass(frozen=True)
class Speed:
    """The speed at which this machine's cores serve the exchanges of all workers together.

    Attributes:
        passes_pps: passes per second of the switch's program, p.
        packets_pps: uploads and results per second, through worker and switch, q.
        hosts_bps: bytes per second that hosts send and receive, both counted, h.
    """

    passes_pps: float
    packets_pps: float
    hosts_bps: float

    def seconds(self, load: ExchangeLoad, rate_bps: float, way: ExchangeTransport) -> float:
        """Links and cores work at once, and the slower of both decides."""
        links = load.link_bytes * 8 / rate_bps
        if way is ExchangeTransport.P2P:
            return max(links, load.wire_bytes / self.hosts_bps)
        return max(links, load.passes / self.passes_pps + load.switch_packets / self.packets_pps)

    def rates(self, load: ExchangeLoad, workers: int, rate_bps: float) -> Rates:
        """The planner's rates for an exchange like ``load``, whose packets are charged with its passes."""
        passes = load.passes / (load.passes / self.passes_pps + load.switch_packets / self.packets_pps)
        return Rates(rate_bps, 1e-5, passes, self.hosts_bps / _PACKET / workers, free_forwarding=False)


def fit(measured: Measured, cells: Sequence[MapCell]) -> Speed:
    """The speed that explains these cells best: least squares of the logarithms of times."""
    from scipy.optimize import least_squares

    rows = [
        (measured[cell][way], cell.rate_bps, way)
        for cell in cells
        for way in (ExchangeTransport.P2P, ExchangeTransport.SWITCH)
    ]

    def errors(logs: list[float]) -> list[float]:
        speed = Speed(*np.exp(logs))
        return [float(np.log(speed.seconds(one.load, rate, way) / one.usual_s)) for one, rate, way in rows]

    # robust: one exchange that was disturbed must not move all others
    bounds = _LEAST, _MOST
    solution = least_squares(errors, _USUAL, bounds=bounds, loss="soft_l1", f_scale=0.2, diff_step=1e-3)
    return Speed(*(float(rate) for rate in np.exp(solution.x)))


def halves(measured: Measured) -> tuple[list[MapCell], list[MapCell]]:
    """Every second cell to fit, and the others to test."""
    cells = sorted(measured)
    return cells[::2], cells[1::2]


def switch_wins(measured: dict[ExchangeTransport, TimedExchanges]) -> bool:
    """Whether the switch was faster than p2p."""
    return measured[ExchangeTransport.SWITCH].usual_s < measured[ExchangeTransport.P2P].usual_s


def named_right(measured: Measured, cells: Sequence[MapCell], speed: Speed) -> int:
    """Number of cells for which the formula names the right winner between p2p and the switch."""
    right = 0
    for cell in cells:
        right += (expected_ratio(measured[cell], cell, speed) < 1) == switch_wins(measured[cell])
    return right


def expected_ratio(measured: dict[ExchangeTransport, TimedExchanges], cell: MapCell, speed: Speed) -> float:
    """The formula's time through the switch over that of p2p."""
    p2p, switch = (
        speed.seconds(measured[way].load, cell.rate_bps, way)
        for way in (ExchangeTransport.P2P, ExchangeTransport.SWITCH)
    )
    return switch / p2p


def neighbours_of(copies: float, workers: int) -> float:
    """Remote neighbours of a vertex that has ``copies``, if each is on any other worker alike.

    Raises:
        OfframpError: more copies than workers.
    """
    others = workers - 1
    if not 1 <= copies < others:
        raise OfframpError(f"copies {copies:g}: expected from 1 to less than {others}")
    return float(np.log1p(-copies / others) / np.log1p(-1 / others)) if others > 1 else 1.0


def load_of(cell: MapCell, way: ExchangeTransport, vertices: float = 1.0) -> ExchangeLoad:
    """The load of one exchange of that many boundary vertices per worker, in full packets."""
    if way is ExchangeTransport.P2P:
        bytes_up = vertices * cell.copies * cell.width * cell.bits / 8 * _PACKET / HOST_PAYLOAD_BYTES
        return ExchangeLoad(bytes_up, 2 * cell.workers * bytes_up, cell.workers * bytes_up / _PACKET)
    width = -(-cell.width * cell.bits // 32)
    lanes = min(WIDTHS, key=lambda lanes: (vector_wire_bytes(width, lanes), lanes))
    packets = vertices * cell.workers * chunks_for(width, lanes)
    passes = packets * neighbours_of(cell.copies, cell.workers)
    bytes_up = vertices * vector_wire_bytes(width, lanes)
    return ExchangeLoad(bytes_up, 2 * cell.workers * bytes_up, 0.0, 2 * packets, passes)


def crossover_bps(cell: MapCell, speed: Speed) -> float:
    """The link rate below which the switch pays, where the cell's own rate does not count; 0: never.

    From p2p's bytes on a link and the switch's work on the cores, ``8 r v / (M k (d / p + 2 / q))``; infinite where
    even without links the switch needs the cores for less time.
    """
    hosts, switch = load_of(cell, ExchangeTransport.P2P), load_of(cell, ExchangeTransport.SWITCH)
    if switch.link_bytes >= hosts.link_bytes:
        return 0.0
    work = speed.seconds(switch, float("inf"), ExchangeTransport.SWITCH)
    if work < speed.seconds(hosts, float("inf"), ExchangeTransport.P2P):
        return float("inf")
    return hosts.link_bytes * 8 / work
