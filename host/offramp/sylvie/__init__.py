# SPDX-License-Identifier: Apache-2.0
"""Sylvie: boundary features and gradients in 1, 2, 4 or 8 bits (specification part 1).

>>> import numpy as np
>>> from offramp.sylvie import dequantise, quantise
>>> features = np.ones((2, 8), np.float32)
>>> decoded = np.empty_like(features)
>>> dequantise(quantise(features, None, bits=4, seed=0), 4, decoded)
>>> bool((decoded == features).all())
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.sylvie.descent import Descent as Descent
    from offramp.sylvie.message import Label as Label
    from offramp.sylvie.message import MessageLayout as MessageLayout
    from offramp.sylvie.message import message_bytes as message_bytes
    from offramp.sylvie.message import read_label as read_label
    from offramp.sylvie.orchestrator import Orchestrator as Orchestrator
    from offramp.sylvie.quantiser import Codes as Codes
    from offramp.sylvie.quantiser import dequantise as dequantise
    from offramp.sylvie.quantiser import quantise as quantise
    from offramp.sylvie.streams import stream as stream
    from offramp.sylvie.widths import importance as importance
    from offramp.sylvie.widths import joint_widths as joint_widths
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Codes": "offramp.sylvie.quantiser",
            "Descent": "offramp.sylvie.descent",
            "Label": "offramp.sylvie.message",
            "MessageLayout": "offramp.sylvie.message",
            "Orchestrator": "offramp.sylvie.orchestrator",
            "dequantise": "offramp.sylvie.quantiser",
            "importance": "offramp.sylvie.widths",
            "joint_widths": "offramp.sylvie.widths",
            "message_bytes": "offramp.sylvie.message",
            "quantise": "offramp.sylvie.quantiser",
            "read_label": "offramp.sylvie.message",
            "stream": "offramp.sylvie.streams",
        },
    )
