# SPDX-License-Identifier: Apache-2.0
"""A queue plan on the machines that enforce it: P4 switches, SONiC switches, Linux hosts.

>>> from offramp.hermod.deploy import P4Target
>>> P4Target.__name__
'P4Target'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.hermod.deploy.linux.tc import Tc as Tc
    from offramp.hermod.deploy.p4 import P4Target as P4Target
    from offramp.hermod.deploy.p4 import switch_plan as switch_plan
    from offramp.hermod.plan_file import load_plan as load_plan
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "P4Target": "offramp.hermod.deploy.p4",
            "Tc": "offramp.hermod.deploy.linux.tc",
            "load_plan": "offramp.hermod.plan_file",
            "switch_plan": "offramp.hermod.deploy.p4",
        },
    )
