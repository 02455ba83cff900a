# SPDX-License-Identifier: Apache-2.0
"""Extensions of the switch that other packages bring: formats of programs, services, debuggers.

``offramp-p4-tools`` brings bmv2's JSON, BF-RT, gNMI and a debugger; the switch runs without any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

if TYPE_CHECKING:
    from offramp_p4.debugging import ServedDebugger
    from offramp_p4.ir import Program
    from offramp_p4.ports.panel import FrontPanel
    from offramp_p4.runtime.device import P4Device
    from offramp_p4.runtime.wire import ServiceEndpoint

T = TypeVar("T")
ReadProgram = Callable[[str | bytes, str, Any], "Program"]
"""Reads a compiled program from a document, its name for messages, and its P4Info or None."""
MakeService = Callable[["P4Device", "FrontPanel"], "ServiceEndpoint"]
"""Makes the service of a protocol for one device and its ports."""

FORMATS: Final[Registry[ReadProgram]] = Registry("format of programs", "offramp.p4_formats")
"""Formats of compiled programs, by the suffix of their files."""
SERVICES: Final[Registry[MakeService]] = Registry("service of the switch", "offramp.p4_services")
"""Protocols that a switch serves besides P4Runtime."""
DEBUGGERS: Final[Registry[Callable[[], ServedDebugger]]] = Registry("debugger", "offramp.p4_debuggers")
"""Debuggers by the protocol that their clients speak."""


def extension(registry: Registry[T], name: str) -> T:
    """The extension of this name.

    Raises:
        OfframpError: no installed package brings it.
    """
    if name not in registry:
        raise OfframpError(f"{registry.kind} {name}: expected an installed package that brings it: offramp-p4-tools")
    return registry.get(name)
