# SPDX-License-Identifier: Apache-2.0
"""The end-host scheduler: coflows in strict order, a TCP connection or queue pair and a DSCP for each (section 5.4).

>>> from offramp.hermod.endhost import Tuning
>>> Tuning(chunk=1 << 16, rate_bps=1e9).unsent
262144
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.hermod.endhost.endpoint import Endpoint as Endpoint
    from offramp.hermod.endhost.group import endpoint_of as endpoint_of
    from offramp.hermod.endhost.priorities import CoflowPriority as CoflowPriority
    from offramp.hermod.endhost.priorities import Priorities as Priorities
    from offramp.hermod.endhost.tuning import Tuning as Tuning
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "CoflowPriority": "offramp.hermod.endhost.priorities",
            "Endpoint": "offramp.hermod.endhost.endpoint",
            "Priorities": "offramp.hermod.endhost.priorities",
            "Tuning": "offramp.hermod.endhost.tuning",
            "endpoint_of": "offramp.hermod.endhost.group",
        },
    )
