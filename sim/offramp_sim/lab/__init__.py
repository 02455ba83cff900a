# SPDX-License-Identifier: Apache-2.0
"""Clusters on one machine: a namespace for each host, rated links, embedded switches, agents (docs/lab.md).

>>> from offramp_sim.lab import possible_mode
>>> mode, reason = possible_mode()
>>> mode in ("root", "user", "sockets")
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.lab.keeper import Keeper as Keeper
    from offramp_sim.lab.namespaces import Spaces as Spaces
    from offramp_sim.lab.namespaces import in_namespace_of as in_namespace_of
    from offramp_sim.lab.picture import draw as draw_cluster
    from offramp_sim.lab.start import held as held
    from offramp_sim.lab.start import possible_mode as possible_mode
    from offramp_sim.lab.start import start as start_lab
    from offramp_sim.lab.state import Lab as Lab
    from offramp_sim.lab.state import end as end_lab
    from offramp_sim.lab.state import find as find_lab
    from offramp_sim.lab.state import read_state as read_state
    from offramp_sim.lab.state import running as running
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Keeper": "offramp_sim.lab.keeper",
            "Lab": "offramp_sim.lab.state",
            "Spaces": "offramp_sim.lab.namespaces",
            "draw_cluster": "offramp_sim.lab.picture:draw",
            "end_lab": "offramp_sim.lab.state:end",
            "find_lab": "offramp_sim.lab.state:find",
            "held": "offramp_sim.lab.start",
            "in_namespace_of": "offramp_sim.lab.namespaces",
            "possible_mode": "offramp_sim.lab.start",
            "read_state": "offramp_sim.lab.state",
            "running": "offramp_sim.lab.state",
            "start_lab": "offramp_sim.lab.start:start",
        },
    )
