# SPDX-License-Identifier: Apache-2.0
"""The interface of an architecture to the native engine. A new architecture is added to :data:`_MODULES`.

An architecture is a module of this package with an ``ARCHITECTURE``:

* its **objects** (:class:`~offramp_p4.native.state.objects.NativeState`): the state of extern instances and tables,
  made once for each switch, in memory that machine code finds;
* its **translation**: a :class:`~offramp_p4.native.emitter.EmitterTarget` with the builders of the externs, the blocks
of the
  program, and a run-time system that sends packets through them (``run_batch``, ``gather``; with a traffic manager
  ``receive``, ``receive_batch``, ``advance``), all in one :class:`Module`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from offramp_p4.source import Unsupported

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.native.plan import ContextPlan
    from offramp_p4.native.records import RecordFormat
    from offramp_p4.native.state.objects import NativeState

RUN: Final = "rt.run_batch"
BURST: Final = "rt.run_burst"
GATHER: Final = "rt.gather"
RECEIVE: Final = "rt.receive"
RECEIVE_BATCH: Final = "rt.receive_batch"
ADVANCE: Final = "rt.advance"


class PacketMode(Enum):
    """The way in which packets go through a program.

    Attributes:
        BATCH: arrays of packets run to completion, and whole frames leave.
        QUEUED: with a traffic manager between ingress and egress.
        BURST: as BATCH, but frames lie anywhere, and what leaves refers to them; v1model only.
    """

    BATCH = "batch"
    QUEUED = "queued"
    BURST = "burst"


@dataclass(frozen=True)
class Module:
    """The text of a module, and what Python must know to use it.

    Attributes:
        memory_size: bytes of the memory of one packet.
        digests, events: how to read the records in the buffers of these names.
    """

    text: str
    plan: ContextPlan
    memory_size: int
    digests: list[RecordFormat]
    events: list[RecordFormat]


@dataclass(frozen=True, slots=True)
class SwitchProperties:
    """Properties of a switch that do not come from its program.

    Attributes:
        seed: seed of everything that is random.
        cpu_port: the port of the control plane, if it has one.
        recirculation_ports: ports whose packets come in again, beside those of the architecture.
        host_ports: the ports of a card towards its host.
    """

    seed: int = 0
    cpu_port: int | None = None
    recirculation_ports: Iterable[int] = ()
    host_ports: Iterable[int] = ()


@dataclass(frozen=True, slots=True)
class NativeArchitecture:
    """See the module.

    Attributes:
        objects: makes the state of a program's objects.
        ways: ways that it supports.
        translate: makes the module of a program for one way of packets.
            The plan is the same for all, and whichever switch of the program the objects are of.
    """

    objects: Callable[[ir.Program], NativeState]
    translate: Callable[[ir.Program, NativeState, PacketMode], Module]
    ways: frozenset[PacketMode] = frozenset({PacketMode.BATCH, PacketMode.QUEUED})


_MODULES: Final = {
    "V1Switch": "v1model",
    "Switch": "tna",
    "MultiParserSwitch": "tna",
    "PSA_Switch": "portable",
    "PNA_NIC": "portable",
}
"""The modules of this package by the package that a program's ``main`` is of."""
_BUILT: Final[WeakKeyDictionary[ir.Program, dict[PacketMode, Module]]] = WeakKeyDictionary()
"""Modules by the program that they are translated from: a network of switches runs few programs."""


def architecture(program: ir.Program) -> NativeArchitecture:
    """The architecture that ``program`` is for.

    Raises:
        Unsupported: the native engine does not have it.
    """
    package = program.main.type_name
    if package not in _MODULES:
        raise Unsupported(program.main.pos, f"architecture {package} ({', '.join(_MODULES)} are)")
    chosen: NativeArchitecture = import_module(f"offramp_p4.native.{_MODULES[package]}.module").ARCHITECTURE
    return chosen


def build(program: ir.Program, objects: NativeState, way: PacketMode = PacketMode.BATCH) -> Module:
    """Translate a program, once for each way.

    Raises:
        Unsupported: it uses something that the native engine or its architecture does not execute.
    """
    built = _BUILT.setdefault(program, {})
    if way not in built:
        built[way] = architecture(program).translate(program, objects, way)
    return built[way]
