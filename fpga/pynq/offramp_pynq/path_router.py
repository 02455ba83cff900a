# SPDX-License-Identifier: Apache-2.0
"""Driver of ``path_router``: which hardware model the ways between endpoints, accelerator and NIC emulate."""

from __future__ import annotations

from offramp_pynq.engine import Engine
from offramp_pynq.registers import PATH_ROUTER_REGS, PATH_ROUTER_REGS_VERSION

MODELS = ("direct", "on-path", "off-path")


class PathRouter(Engine):
    """Binds to the router in an overlay; its streams are the card's, not a processor's."""

    REGISTERS = PATH_ROUTER_REGS
    VERSION = PATH_ROUTER_REGS_VERSION

    @property
    def models(self) -> tuple[str, ...]:
        """Those that were built in."""
        built = self.read_register("MODELS")
        return tuple(name for bit, name in enumerate(MODELS) if built >> bit & 1)

    @property
    def model(self) -> str:
        """The hardware model for packets that begin now.

        Raises:
            ValueError: set to one that was not built in.
        """
        return MODELS[self.read_register("MODEL")]

    @model.setter
    def model(self, name: str) -> None:
        if name not in self.models:
            raise ValueError(f"model {name}: the overlay has {', '.join(self.models)}")
        self.write_register("MODEL", MODELS.index(name))

    @property
    def refused(self) -> int:
        """Packets with nowhere to go, dropped since reset, modulo 2^16."""
        return self.read_register("REFUSED")
