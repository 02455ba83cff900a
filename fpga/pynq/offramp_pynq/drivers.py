# SPDX-License-Identifier: Apache-2.0
"""The drivers of a card's engines by name; needs NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from offramp_pynq.ebs_lookup import EbsLookup
from offramp_pynq.engine import Core
from offramp_pynq.kvs_lookup import KvsLookup
from offramp_pynq.p2p_dma import P2pDma
from offramp_pynq.path_router import PathRouter
from offramp_pynq.quantpack import QuantPack
from offramp_pynq.reduce import Reduce


class Drivers:
    """The drivers of one card; None where the card lacks an engine."""

    kvs: KvsLookup | None = None
    sums: Reduce | None = None
    ebs: EbsLookup | None = None
    copies: P2pDma | None = None
    quantiser: QuantPack | None = None
    router: PathRouter | None = None

    def bind(self, names: Iterable[str], core_of: Callable[[str], Core]) -> None:
        """Drive the engines of these names, each by its core.

        Raises:
            WrongRegisterMap: an engine is of another version.
        """
        for name in names:
            attribute, driver = _DRIVERS[name]
            setattr(self, attribute, driver(core_of(name)))


_DRIVERS: dict[str, tuple[str, Any]] = {
    "kvs_lookup": ("kvs", KvsLookup),
    "reduce": ("sums", Reduce),
    "ebs_lookup": ("ebs", EbsLookup),
    "p2p_dma": ("copies", P2pDma),
    "quantpack": ("quantiser", QuantPack),
    "path_router": ("router", PathRouter),
}
