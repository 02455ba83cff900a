# SPDX-License-Identifier: Apache-2.0
"""Interface of a debugger, as a switch and the process around it see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from offramp_base.listening import Address
    from offramp_p4 import ir
    from offramp_p4.engine.generator import Generators
    from offramp_p4.engine.layout import Memory
    from offramp_p4.switch import Switch
    from offramp_p4.tm.stages import Emit

Dropped = Callable[["ir.ControlInstance", "Memory"], str | None]
"""Called at the end of a control with the reason for dropping its packet, or None."""


class EngineDebugger(Protocol):
    """Makes the code of a switch debuggable, and is told of its packets."""

    @property
    def generator(self) -> Generators:
        """Makes the generator of debuggable code for the program that is being loaded."""

    def loading(self) -> None:
        """A program is about to be compiled."""

    def loaded(self, switch: Switch, dropped: Dropped | None) -> None:
        """The program is compiled, and ``switch`` runs it; the previous one may still run."""

    def packets(self, run: Callable[[int, bytes, Emit], None]) -> Callable[[int, bytes, Emit], None]:
        """Wraps ``run``, which runs one packet."""


class DebugListener(Protocol):
    """A server that clients of a debugger connect to."""

    address: Address

    def close(self) -> None:
        """Accept no more clients, and disconnect those that are connected."""


class ServedDebugger(EngineDebugger, Protocol):
    """A debugger of a switch that runs as a process; clients attach to it."""

    def listen(self, address: str) -> DebugListener:
        """Serve clients at ``address``.

        Raises:
            OfframpError: other machines reach the address, or it cannot be bound.
        """

    def close(self) -> None:
        """Let everything run for good; may be called from a signal handler."""
