# SPDX-License-Identifier: Apache-2.0
"""Speed of the transports: frames over one link, and SwitchGNN's exchange through the embedded switch.

>>> from offramp_sim.transports import measure_link
>>> measure_link("unix", size=64, seconds=0.05).frames_per_s > 0
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.transports.exchange import ExchangeRate as ExchangeRate
    from offramp_sim.transports.exchange import measure_exchange as measure_exchange
    from offramp_sim.transports.link import LinkRate as LinkRate
    from offramp_sim.transports.link import measure_link as measure_link
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "ExchangeRate": "offramp_sim.transports.exchange",
            "LinkRate": "offramp_sim.transports.link",
            "measure_exchange": "offramp_sim.transports.exchange",
            "measure_link": "offramp_sim.transports.link",
        },
    )
