# SPDX-License-Identifier: Apache-2.0
"""Plans under any scheme, where the scheme can carry the graph."""

from __future__ import annotations

from offramp.graph.boundary import Boundary
from offramp.switchgnn.planner import require_fan_in
from offramp.switchgnn.scheme import Scheme
from offramp.switchgnn.scheme_plan import SchemePlan, plan_scheme
from offramp_base.errors import OfframpError


def plan_or_none(boundary: Boundary, scheme: Scheme, features: int, memory_bytes: int, **options) -> SchemePlan | None:
    """The plan; None where quantised fields cannot hold so many contributions."""
    try:
        require_fan_in(boundary, scheme)
    except OfframpError:
        return None
    return plan_scheme(boundary, scheme, features, memory_bytes, **options)
