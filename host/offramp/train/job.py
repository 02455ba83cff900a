# SPDX-License-Identifier: Apache-2.0
"""The job of one worker of full-graph training, made once by the process that has the whole graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp.graph.halo_plan import HaloPlan
from offramp.graph.hybrid_plan import HybridPlan
from offramp.graph.local_graph import LocalGraph
from offramp.models import make_model, model_widths
from offramp.switchgnn.exchange_plan import ExchangePlan
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.scheme import LANE_BITS, parse_scheme
from offramp.train.checkpoint import TrainingSnapshot
from offramp.train.halo import Halo
from offramp.train.settings import KEPT, TrainSettings
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph


@sendable
@dataclass(frozen=True)
class WorkerJob:
    """One worker's share of a run.

    Attributes:
        settings: settings of the run.
        local: its part of the graph.
        widths: input features, hidden widths, classes.
        counts: ``(3,)`` training, validation and test vertices of the whole graph.
        fan_in: most remote neighbours of any vertex of the whole graph.
        halo: its sends and receives under ``p2p`` with the plain schedule.
        rows: its sends and receives, and the bins, with most other schedules.
        hybrid: its layers with the schedule ``hybrid``.
        received_features: ``(h, F)`` input features of the vertices whose messages come from others; they never change,
            so they are part of the job instead of being sent.
        plans: the switch's plans, if there is one.
        exchange_plans: this worker's part of the exchanges of each width.
        bits: bits of a value on the wire.
        code_bits: bits of a code, if sums of codes are sent; else 0.
        link: this worker's end of the link to the switch, as :func:`offramp_base.transport.open_io` takes it.
        facts: facts about the run, for its checkpoints.
        snapshot: checkpoint from which to resume.
    """

    settings: TrainSettings
    local: LocalGraph
    widths: list[int]
    counts: npt.NDArray[np.int64]
    fan_in: int
    halo: Halo | None = None
    rows: HaloPlan | None = None
    hybrid: HybridPlan | None = None
    received_features: npt.NDArray[np.float32] | sp.csr_matrix | None = None
    plans: list[Plan] = field(default_factory=list)
    exchange_plans: dict[int, ExchangePlan] = field(default_factory=dict)
    bits: int = LANE_BITS
    code_bits: int = 0
    link: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    snapshot: TrainingSnapshot | None = None


def layer_widths(graph: Graph, settings: TrainSettings) -> list[int]:
    """Input features, hidden widths, classes."""
    return model_widths(settings, graph.width, graph.classes)


def exchange_widths(settings: TrainSettings, widths: Sequence[int]) -> list[int]:
    """Width of the sums in each exchange of an epoch: forward through the layers, then backward.

    Input features need no gradient, so a first layer that aggregates them unchanged has no backward exchange.
    """
    sums = make_model(settings, widths).sums()
    return [width for width, _ in sums] + [width for width, backward in reversed(sums) if backward]


def keeps_first_sums(settings: TrainSettings, widths: Sequence[int]) -> bool:
    """Whether the first exchange of an epoch takes place only in the first epoch."""
    if settings.first_sums != KEPT or make_model(settings, widths).trains_first_message:
        return False
    return not (settings.through_switch and (settings.by_codes or parse_scheme(settings.scheme)[0].bits < LANE_BITS))


def run_widths(settings: TrainSettings, widths: Sequence[int]) -> list[int]:
    """Width of the sums in each exchange of a run without dropout, whose epochs have no second pass."""
    exchanges = exchange_widths(settings, widths)
    kept = int(keeps_first_sums(settings, widths))
    return exchanges + (settings.epochs - 1) * exchanges[kept:]
