# SPDX-License-Identifier: Apache-2.0
"""The states of a network whose links fail and are mended, where hosts keep their links and reach each other."""

from __future__ import annotations

import numpy as np

from offramp.fabric.model import Fabric
from offramp_base.errors import OfframpError
from offramp_base.settings.units import nanoseconds_shown


def joined_states(fabric: Fabric) -> list[tuple[float, Fabric]]:
    """The network at the start and from each change on, by the time in nanoseconds.

    Raises:
        OfframpError: a failure takes a host's link, or leaves no way between hosts; names its time.
    """
    states = [(time_ns, fabric.at(time_ns)) for time_ns in (0.0, *fabric.changes_ns)]
    for time_ns, state in states:
        where = f"{fabric.cluster.origin or fabric.cluster.name}: failures: at {nanoseconds_shown(time_ns)}"
        if len(state.nics) < len(fabric.nics):
            lost = np.setdiff1d(fabric.nics.up, state.nics.up)[0]
            raise OfframpError(f"{where}: {fabric.shown(int(lost))}: packets need the links of hosts from start to end")
        homes = state.paths.homes
        apart = np.argwhere(state.paths.hops[np.ix_(homes, homes)] > len(fabric.nodes))
        if len(apart):
            near, far = (fabric.nodes[fabric.hosts + homes[k]] for k in apart[0])
            raise OfframpError(f"{where}: no way from {near} to {far}")
    return states
