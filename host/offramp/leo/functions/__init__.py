# SPDX-License-Identifier: Apache-2.0
"""Functions that devices compute, each with its message format and a model that every device must match to the bit.

Messages are little-endian. The models are what the CPU role runs, what RTL and HLS are tested against, and what the
smartNIC's agent must answer.

The modules of the functions are public, such as :mod:`offramp.leo.functions.kvs`.

>>> from offramp.leo.functions import Function
>>> Function.__name__
'Function'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.leo.functions.registry import Function as Function
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Function": "offramp.leo.functions.registry",
        },
    )
