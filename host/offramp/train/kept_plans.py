# SPDX-License-Identifier: Apache-2.0
"""The switch's plans for a model's layers, made once for a graph, a partition and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from offramp.codecs.base import CODECS
from offramp.graph.kept import PLANS, key_of
from offramp.switchgnn.cost import Rates, load_rates
from offramp.switchgnn.fingerprint import boundary_fingerprint
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.scheme import Scheme, parse_scheme
from offramp.switchgnn.scheme_plan import SchemePlan
from offramp.train.switch_plans import plan_exchanges, plans_of
from offramp_base.remembered import remembered
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.graph.boundary import Boundary
    from offramp.train.settings import TrainSettings

DECIDING = ("propagator", "scheme", "codec", "by_codes", "racks", "lanes_to_try", "memory", "order", "seed")
"""Settings from which the plans follow, besides the rates."""


@sendable
@dataclass(frozen=True)
class _Stored:
    """Plans, and for each width the index of its plan, its scheme, and which copies hosts send themselves."""

    plans: list[Plan]
    exchanges: dict[int, tuple[int, Scheme, npt.NDArray[np.bool_]]]


def kept_exchanges(boundary: Boundary, settings: TrainSettings, widths: Sequence[int]) -> dict[int, SchemePlan]:
    """Like :func:`~offramp.train.switch_plans.plan_exchanges`; what took long is kept in the user's cache folder.

    Raises:
        OfframpError: as :func:`~offramp.train.switch_plans.plan_exchanges`.
    """
    if settings.plan is not None:
        return plan_exchanges(boundary, settings, widths)

    def make() -> _Stored:
        exchanges = plan_exchanges(boundary, settings, widths)
        plans = plans_of(exchanges)
        return _Stored(plans, {w: (plans.index(e.plan), e.scheme, e.hosted) for w, e in exchanges.items()})

    rates = load_rates(settings.rates) if settings.rates else Rates()
    given = [getattr(settings, name) for name in DECIDING]
    bits = CODECS.get(settings.codec).bits if settings.by_codes else None
    order = boundary.priority if parse_scheme(settings.scheme)[0].binned else None
    key = key_of("exchanges", boundary_fingerprint(boundary), order, rates, given, bits, list(widths))
    stored = remembered(PLANS, key, _Stored, make)
    return {
        width: SchemePlan(scheme, boundary, width, stored.plans[index], hosted)
        for width, (index, scheme, hosted) in stored.exchanges.items()
    }
