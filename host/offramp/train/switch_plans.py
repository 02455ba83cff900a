# SPDX-License-Identifier: Apache-2.0
"""The switch's plans for all layers of a model; widths with the same blocks share a plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from offramp.codecs.base import CODECS
from offramp.switchgnn.chunks import aggregator_bytes, chunks_for
from offramp.switchgnn.cost import Rates, load_rates
from offramp.switchgnn.fingerprint import require_fit
from offramp.switchgnn.plan import Plan, make_plan
from offramp.switchgnn.plan_file import load_plan
from offramp.switchgnn.planner import Option, Planner, fastest, renumbered
from offramp.switchgnn.scheme import FIELDS, Scheme, candidates, parse_scheme
from offramp.switchgnn.scheme_plan import SchemePlan
from offramp.switchgnn.wire import LANES
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from offramp.graph.boundary import Boundary
    from offramp.train.settings import TrainSettings


def plans_of(exchanges: Mapping[int, SchemePlan]) -> list[Plan]:
    """The switch's plans, in the order of their Block_ids; exchanges of several widths may share one."""
    return list({id(each.plan): each.plan for each in exchanges.values()}.values())


def plan_exchanges(boundary: Boundary, settings: TrainSettings, widths: Sequence[int]) -> dict[int, SchemePlan]:
    """The exchange of features of each of the given widths, within the settings' switch memory.

    The strawman's plans have one block each: it allocates aggregators as contributions arrive (section 10). If the
    settings leave it open, the number of lanes per aggregator minimises the bytes for all widths together or, with
    ``auto``, the predicted time.

    Raises:
        OfframpError: the memory is too small, a width too large, or the settings' plan file is of another graph,
            partition or memory.
    """
    distinct = sorted(set(widths))
    if settings.plan is not None:
        loaded = _loaded(settings, boundary, distinct)
        return _joined([_as_published(boundary, loaded, width) for width in distinct])
    if settings.propagator == "strawman":
        return _joined([_strawman(boundary, settings, width) for width in distinct])
    rates = load_rates(settings.rates) if settings.rates else Rates()
    scheme, free = parse_scheme(settings.scheme)
    if settings.by_codes:
        bits = CODECS.get(settings.codec).bits
        assert bits is not None, "codes of one width add up"
        scheme = _coded(scheme, boundary, bits)
    schemes = candidates(scheme) if free else [scheme]
    if settings.racks > 1:
        schemes = [one for one in schemes if not (one.pairwise or one.hybrid)]
    by_lanes = []
    for lanes in _lanes_that_differ(settings.lanes_to_try, schemes, distinct):
        planner = Planner(boundary, settings.memory, settings.order, settings.seed, rates, lanes)
        by_lanes.append([fastest(planner.options(schemes, width)) for width in distinct])
    times = Counter(widths)

    def cost(options: list[Option]) -> float:
        each = (one.prediction.seconds if free else one.scheme_plan.wire_bytes for one in options)
        return sum(times[one.scheme_plan.features] * amount for one, amount in zip(options, each, strict=True))

    return _joined([option.scheme_plan for option in min(by_lanes, key=cost)])


def _lanes_that_differ(lanes_to_try: Sequence[int], schemes: Sequence[Scheme], widths: Sequence[int]) -> Iterator[int]:
    """Each number of lanes that saves packets: more lanes for as many make blocks smaller, and nothing better."""
    before = None
    for lanes in lanes_to_try:
        packets = [(one.chunks_a_round(width, lanes), one.slices(width, lanes)) for one in schemes for width in widths]
        if packets != before:
            yield lanes
        before = packets


def _coded(scheme: Scheme, boundary: Boundary, code_bits: int) -> Scheme:
    """The scheme with partial sums of codes, in the narrowest fields that hold the largest sum."""
    largest = int(boundary.r.max(initial=1)) * ((1 << code_bits) - 1)
    return replace(scheme, pairwise=True, code_bits=code_bits, bits=next(b for b in FIELDS if largest < 1 << b))


def _joined(schemes: Sequence[SchemePlan]) -> dict[int, SchemePlan]:
    """Exchanges by width, with one plan for those that have the same one, and consecutive Block_ids."""
    plans: dict[tuple[int, ...], Plan] = {}
    exchanges: dict[int, SchemePlan] = {}
    first_block = 0
    for each in schemes:
        key = (each.plan.chunks, *(id(block) for block in each.plan.blocks))
        if key not in plans:
            plans[key] = renumbered(each.plan, first_block)
            first_block += len(each.plan.blocks)
        exchanges[each.features] = replace(each, plan=plans[key])
    return exchanges


def _as_published(boundary: Boundary, plan: Plan, width: int) -> SchemePlan:
    return SchemePlan(Scheme(), boundary, width, plan, np.zeros(boundary.R, np.bool_))


def _strawman(boundary: Boundary, settings: TrainSettings, width: int) -> SchemePlan:
    chunks = chunks_for(width)
    memory = max(settings.memory, boundary.B * chunks * aggregator_bytes(LANES))
    return _as_published(boundary, make_plan(boundary, chunks, memory, settings.order, settings.seed), width)


def _loaded(settings: TrainSettings, boundary: Boundary, widths: Sequence[int]) -> Plan:
    assert settings.plan is not None
    plan = load_plan(Path(settings.plan))
    require_fit(str(settings.plan), plan, boundary, settings.memory)
    taken = sorted({chunks_for(width, plan.lanes) for width in widths})
    if taken != [plan.chunks]:
        problem = f"made for features of {plan.chunks} packets, the layers take {taken}"
        raise SettingsError("plan", problem, settings.plan)
    return plan
