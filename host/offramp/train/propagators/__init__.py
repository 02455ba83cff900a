# SPDX-License-Identifier: Apache-2.0
"""Ways in which a layer gets the sums of remote neighbours, by name.

>>> from offramp.train.propagators import PROPAGATORS
>>> "switch" in PROPAGATORS.names()
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.train.propagators.base import Propagator as Propagator
    from offramp.train.propagators.registry import PROPAGATORS as PROPAGATORS
    from offramp.train.propagators.registry import Propagation as Propagation
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "PROPAGATORS": "offramp.train.propagators.registry",
            "Propagation": "offramp.train.propagators.registry",
            "Propagator": "offramp.train.propagators.base",
        },
    )
