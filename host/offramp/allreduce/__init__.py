# SPDX-License-Identifier: Apache-2.0
"""All-reduce of any tensor in the switch: packets, a window of slots, block floating point.

>>> from offramp.allreduce import MOST_RANKS, frame_bytes
>>> MOST_RANKS, frame_bytes(1)
(32, 310)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.allreduce.control import AllReduceControl as AllReduceControl
    from offramp.allreduce.control import with_control as with_control
    from offramp.allreduce.control import with_session as with_session
    from offramp.allreduce.rank_endpoint import RankEndpoint as RankEndpoint
    from offramp.allreduce.rank_endpoint import make_endpoint as make_endpoint
    from offramp.allreduce.reducer import AllReduceNetwork as AllReduceNetwork
    from offramp.allreduce.reducer import AllReducer as AllReducer
    from offramp.allreduce.wire import HEADER_BYTES as HEADER_BYTES
    from offramp.allreduce.wire import MOST_RANKS as MOST_RANKS
    from offramp.allreduce.wire import SEGMENT as SEGMENT
    from offramp.allreduce.wire import frame_bytes as frame_bytes
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "AllReduceControl": "offramp.allreduce.control",
            "AllReduceNetwork": "offramp.allreduce.reducer",
            "AllReducer": "offramp.allreduce.reducer",
            "HEADER_BYTES": "offramp.allreduce.wire",
            "MOST_RANKS": "offramp.allreduce.wire",
            "RankEndpoint": "offramp.allreduce.rank_endpoint",
            "SEGMENT": "offramp.allreduce.wire",
            "frame_bytes": "offramp.allreduce.wire",
            "make_endpoint": "offramp.allreduce.rank_endpoint",
            "with_control": "offramp.allreduce.control",
            "with_session": "offramp.allreduce.control",
        },
    )
