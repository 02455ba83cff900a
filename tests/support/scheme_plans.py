# SPDX-License-Identifier: Apache-2.0
"""Plans under any scheme, where the scheme can carry the graph."""

from __future__ import annotations

from offramp.errors import OfframpError
from offramp.graph.boundary import Boundary
from offramp.switch.switchgnn.planner import require_fan_in
from offramp.switch.switchgnn.scheme import Scheme
from offramp.switch.switchgnn.scheme_plan import SchemePlan, plan_scheme


def plan_or_none(boundary: Boundary, scheme: Scheme, features: int, memory_bytes: int, **options) -> SchemePlan | None:
    """The plan; None where quantised fields cannot hold so many contributions."""
    try:
        require_fan_in(boundary, scheme)
    except OfframpError:
        return None
    return plan_scheme(boundary, scheme, features, memory_bytes, **options)
