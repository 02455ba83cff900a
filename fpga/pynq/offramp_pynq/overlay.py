# SPDX-License-Identifier: Apache-2.0
"""The overlay with its engines, each bound to its DMA engine."""

from __future__ import annotations

from typing import Any

import pynq
import pynq.lib.dma

from offramp_pynq.cores import DMAS
from offramp_pynq.dma import PynqCore
from offramp_pynq.drivers import Drivers


class Engines(Drivers, pynq.Overlay):  # type: ignore[misc]
    """``engines.bit`` with ``engines.hwh`` beside it, or its simulation."""

    def __init__(self, bitfile: str, device: Any = None, **options: Any) -> None:
        """Load it.

        Raises:
            WrongRegisterMap: an engine in it is of another version.
        """
        pynq.Overlay.__init__(self, bitfile, device=device, **options)
        self.bind([name for name in DMAS if name in self.ip_dict], self._core)

    def _core(self, name: str) -> PynqCore:
        return PynqCore(getattr(self, name), [getattr(self, dma) for dma in DMAS[name]])
