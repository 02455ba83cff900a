# SPDX-License-Identifier: Apache-2.0
"""The Tofino Native Architecture, executed packet by packet, and what a program takes of the chip.

>>> from offramp_p4.tna import App, Trigger
>>> (App.__name__, Trigger.__name__)
('App', 'Trigger')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_p4.tna.generator import App as App
    from offramp_p4.tna.generator import Trigger as Trigger
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "App": "offramp_p4.tna.generator",
            "Trigger": "offramp_p4.tna.generator",
        },
    )
