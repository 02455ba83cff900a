# SPDX-License-Identifier: Apache-2.0
"""The overlay with its engines, each bound to its DMA engine."""

from __future__ import annotations

from typing import Any

import pynq
import pynq.lib.dma

from offramp_pynq.cores import DMAS
from offramp_pynq.ebs_lookup import EbsLookup
from offramp_pynq.kvs_lookup import KvsLookup
from offramp_pynq.p2p_dma import P2pDma
from offramp_pynq.path_router import PathRouter
from offramp_pynq.quantpack import QuantPack
from offramp_pynq.reduce import Reduce

__all__ = ["EbsLookup", "Engines", "KvsLookup", "P2pDma", "PathRouter", "QuantPack", "Reduce"]


class Engines(pynq.Overlay):  # type: ignore[misc]
    """``engines.bit`` with ``engines.hwh`` beside it, or its simulation.

    Attributes:
        kvs: driver of ``kvs_lookup``; None where the overlay lacks it, as the others.
        sums: of ``reduce``.
        ebs: of ``ebs_lookup``.
        copies: of ``p2p_dma``.
        quantiser: of ``quantpack``.
        router: of ``path_router``.
    """

    def __init__(self, bitfile: str, device: Any = None, **options: Any) -> None:
        """Load it.

        Raises:
            WrongRegisterMap: an engine in it is of another version.
        """
        super().__init__(bitfile, device=device, **options)
        self.kvs: KvsLookup | None = self._engine("kvs_lookup")
        self.sums: Reduce | None = self._engine("reduce")
        self.ebs: EbsLookup | None = self._engine("ebs_lookup")
        self.copies: P2pDma | None = self._engine("p2p_dma")
        self.quantiser: QuantPack | None = self._engine("quantpack")
        self.router: PathRouter | None = self._engine("path_router")

    def _engine(self, name: str) -> Any:
        if name not in self.ip_dict:
            return None
        engine = getattr(self, name)
        engine.attach(*(getattr(self, dma) for dma in DMAS[name]))
        return engine
