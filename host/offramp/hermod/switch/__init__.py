# SPDX-License-Identifier: Apache-2.0
"""Hermod's switch program: what to write into it, and its counters.

>>> from offramp.hermod.switch import HermodControl
>>> HermodControl.__name__
'HermodControl'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.hermod.switch.control import HermodControl as HermodControl
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "HermodControl": "offramp.hermod.switch.control",
        },
    )
