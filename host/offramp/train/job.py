"""What one worker needs to know to train its share: made once, where the whole graph is."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from offramp.switch.switchgnn.scheme import LANE_BITS
from offramp.train.halo import Halo
from offramp.train.local_graph import LocalGraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from offramp.graph.data import Graph
    from offramp.train.carry import Carry
    from offramp.train.exchange_plan import ExchangePlans
    from offramp.train.settings import TrainSettings


@dataclass(frozen=True)
class WorkerJob:
    """One worker's share of a run.

    Attributes:
        settings: of the run.
        local: its part of the graph.
        widths: input features, hidden widths, classes.
        counts: ``(3,)`` training, validation and test vertices of the whole graph.
        fan_in: most remote neighbours of any vertex of the whole graph.
        halo: who sends what to whom, under ``p2p``.
        exchanges: what travels through the switch, where there is one.
        carries: this worker's part of the exchanges of each width.
        bits: of a value on the wire.
        link: this worker's end of the link to the switch, as :func:`offramp.transport.open_io` takes it.
    """

    settings: TrainSettings
    local: LocalGraph
    widths: list[int]
    counts: npt.NDArray[np.int64]
    fan_in: int
    halo: Halo | None = None
    exchanges: ExchangePlans | None = None
    carries: dict[int, Carry] = field(default_factory=dict)
    bits: int = LANE_BITS
    link: str = ""


def layer_widths(graph: Graph, settings: TrainSettings) -> list[int]:
    """Input features, hidden widths, classes."""
    return [graph.width, *[settings.hidden] * (settings.layers - 1), graph.classes]


def exchange_widths(widths: Sequence[int]) -> list[int]:
    """Width of the features in each exchange of an epoch: forward through the layers, then backward.

    A layer that narrows multiplies by its weight first. The input features need no gradient, so a first
    layer that aggregates them as they are has no backward exchange.
    """
    forward = [min(ends) for ends in pairwise(widths)]
    backward = forward if widths[0] > widths[1] else forward[1:]
    return forward + backward[::-1]
