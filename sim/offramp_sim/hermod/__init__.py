# SPDX-License-Identifier: Apache-2.0
"""Hermod on the embedded switch: its plans, and a job's coflows packet by packet in virtual time.

>>> from offramp_sim.hermod import WireProperties, parse_pause
>>> parse_pause("2@0.5+1").end_s, WireProperties(packets=1000).delay_ns
(1.5, 1000.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.hermod.direct import load as load_plan
    from offramp_sim.hermod.faults import Pause as Pause
    from offramp_sim.hermod.faults import RunFaults as RunFaults
    from offramp_sim.hermod.faults import parse_pause as parse_pause
    from offramp_sim.hermod.fluid import fluid as fluid_level
    from offramp_sim.hermod.marks import Marks as Marks
    from offramp_sim.hermod.marks import marks_of as marks_of
    from offramp_sim.hermod.simulate import PacketResult as PacketResult
    from offramp_sim.hermod.simulate import simulate_packets as simulate_packets
    from offramp_sim.hermod.topology import SwitchTopology as SwitchTopology
    from offramp_sim.hermod.wire import PacketSizes as PacketSizes
    from offramp_sim.hermod.wire import WireProperties as WireProperties
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Marks": "offramp_sim.hermod.marks",
            "PacketResult": "offramp_sim.hermod.simulate",
            "PacketSizes": "offramp_sim.hermod.wire",
            "Pause": "offramp_sim.hermod.faults",
            "RunFaults": "offramp_sim.hermod.faults",
            "SwitchTopology": "offramp_sim.hermod.topology",
            "WireProperties": "offramp_sim.hermod.wire",
            "fluid_level": "offramp_sim.hermod.fluid:fluid",
            "load_plan": "offramp_sim.hermod.direct:load",
            "marks_of": "offramp_sim.hermod.marks",
            "parse_pause": "offramp_sim.hermod.faults",
            "simulate_packets": "offramp_sim.hermod.simulate",
        },
    )
