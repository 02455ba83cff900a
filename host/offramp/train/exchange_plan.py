"""The switch's plans for all layers of a model: one for each number of packets that a feature takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from offramp.errors import OfframpError
from offramp.switch.switchgnn.fingerprint import require_fit
from offramp.switch.switchgnn.plan import AGGREGATOR_BYTES, Plan, chunks_for, make_plan
from offramp.switch.switchgnn.plan_file import load_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.graph.boundary import Boundary
    from offramp.train.settings import TrainSettings


@dataclass(frozen=True)
class ExchangePlans:
    """Plans with disjoint block ids, and which one carries features of a width."""

    plans: list[Plan]
    plan_of_width: dict[int, int]


def plan_exchanges(boundary: Boundary, settings: TrainSettings, widths: Sequence[int]) -> ExchangePlans:
    """Plans for exchanges of features of the given widths within the settings' switch memory.

    The strawman's are one block each: it allocates aggregators as contributions come (section 10).

    Raises:
        OfframpError: the memory is too small, a width too large, or the settings' plan file is of another graph,
            partition or memory.
    """
    plans: list[Plan] = []
    first_block = 0
    chunk_counts = sorted({chunks_for(width) for width in widths})
    if settings.plan is not None:
        return ExchangePlans([_loaded(settings, boundary, chunk_counts)], dict.fromkeys(widths, 0))
    for chunks in chunk_counts:
        memory = settings.memory
        if settings.propagator == "strawman":
            memory = max(memory, boundary.B * chunks * AGGREGATOR_BYTES)
        plans.append(make_plan(boundary, chunks, memory, settings.order, settings.seed, first_block))
        first_block += len(plans[-1].blocks)
    return ExchangePlans(plans, {width: chunk_counts.index(chunks_for(width)) for width in widths})


def _loaded(settings: TrainSettings, boundary: Boundary, chunk_counts: Sequence[int]) -> Plan:
    assert settings.plan is not None
    plan = load_plan(Path(settings.plan))
    require_fit(f"--plan {settings.plan}", plan, boundary, settings.memory)
    if list(chunk_counts) != [plan.chunks]:
        raise OfframpError(
            f"--plan {settings.plan}: made for features of {plan.chunks} packets, the layers take {list(chunk_counts)}"
        )
    return plan
