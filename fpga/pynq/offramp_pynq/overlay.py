"""The overlay with all engines, each bound to its DMA engine."""

from __future__ import annotations

from typing import Any

import pynq
import pynq.lib.dma

from offramp_pynq.kvs_lookup import KvsLookup
from offramp_pynq.reduce import Reduce

__all__ = ["Engines", "KvsLookup", "Reduce"]


class Engines(pynq.Overlay):  # type: ignore[misc]
    """``engines.bit`` with ``engines.hwh`` beside it, or its simulation.

    Attributes:
        kvs: driver of ``kvs_lookup``.
        sums: driver of ``reduce``.
    """

    def __init__(self, bitfile: str, device: Any = None, **options: Any) -> None:
        """Load it.

        Raises:
            WrongRegisterMap: an engine in it is of another version.
        """
        super().__init__(bitfile, device=device, **options)
        self.kvs: KvsLookup = self.kvs_lookup
        self.sums: Reduce = self.reduce
        self.kvs.attach(self.kvs_dma)
        self.sums.attach(self.reduce_dma)
