# SPDX-License-Identifier: Apache-2.0
"""Functions that devices compute, each with its message format and a model that every device must match to the bit.

Messages are little-endian. The models are what the CPU role runs, what RTL and HLS are tested against, and what the
smartNIC's agent must answer.

>>> import numpy as np
>>> from offramp.leo.functions import REDUCE, ReduceType, reduce_request
>>> REDUCE, len(reduce_request(ReduceType.FLOAT32, np.ones((2, 4), np.float32)))
('reduce', 40)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.leo.functions.reduce import NAME as REDUCE
    from offramp.leo.functions.reduce import Type as ReduceType
    from offramp.leo.functions.reduce import request as reduce_request
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "REDUCE": "offramp.leo.functions.reduce:NAME",
            "ReduceType": "offramp.leo.functions.reduce:Type",
            "reduce_request": "offramp.leo.functions.reduce:request",
        },
    )
