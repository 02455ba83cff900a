# SPDX-License-Identifier: Apache-2.0
"""The agent of SoC smartNICs as the host sees it: control socket, shared memory, queues (``docs/smartnic.md``).

>>> from offramp.nic import AgentProcess
>>> AgentProcess.__name__
'AgentProcess'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.nic.build import agent_program as agent_program
    from offramp.nic.build import build as build_agent
    from offramp.nic.build import missing as missing_tools
    from offramp.nic.connection import AgentConnection as AgentConnection
    from offramp.nic.doctor import checks as checks
    from offramp.nic.process import AgentProcess as AgentProcess
    from offramp.nic.sysroot import make_sysroot as make_sysroot
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "AgentConnection": "offramp.nic.connection",
            "AgentProcess": "offramp.nic.process",
            "agent_program": "offramp.nic.build",
            "build_agent": "offramp.nic.build:build",
            "checks": "offramp.nic.doctor",
            "make_sysroot": "offramp.nic.sysroot",
            "missing_tools": "offramp.nic.build:missing",
        },
    )
