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

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import offramp_base.native
from offramp_base.kept_files import KeptFiles
from offramp_base.native.cache import cache_folder
from offramp_base.native.compiler import LLVMLITE, OPTIMISED, MachineCode
from offramp_base.native.templates import Templates
from offramp_p4.kept_programs import contents_of
from offramp_p4.source import Unsupported

if TYPE_CHECKING:
    from offramp_base.native.cache import ObjectCache
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
        LOGGED_BATCH, LOGGED_QUEUED: the same, and leave lines of what packets do; v1model only.
        OUTLINED_BATCH: as BATCH, and leaves outlines of what packets do; v1model only.
        BURST: as BATCH, but frames lie anywhere, and what leaves refers to them; v1model only.
    """

    BATCH = "batch"
    QUEUED = "queued"
    BURST = "burst"
    LOGGED_BATCH = "batch with a log"
    LOGGED_QUEUED = "queued with a log"
    OUTLINED_BATCH = "batch with outlines"


LOGGED: Final = {PacketMode.BATCH: PacketMode.LOGGED_BATCH, PacketMode.QUEUED: PacketMode.LOGGED_QUEUED}
"""The ways with a log, by those without."""


@dataclass(frozen=True)
class Module:
    """The text of a module, and what Python must know to use it.

    Attributes:
        text: empty of a module that is kept: its machine code is in the cache, by its key.
        memory_size: bytes of the memory of one packet.
        digests, events: how to read the records in the buffers of these names.
    """

    text: str
    plan: ContextPlan
    memory_size: int
    digests: list[RecordFormat]
    events: list[RecordFormat]
    key: str | None = None


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
        plan: makes the plan as it is before the translation.
    """

    objects: Callable[[ir.Program], NativeState]
    translate: Callable[[ir.Program, NativeState, PacketMode], Module]
    plan: Callable[[ir.Program, Any], ContextPlan]
    ways: frozenset[PacketMode] = frozenset({PacketMode.BATCH, PacketMode.QUEUED})


_MODULES: Final = {
    "V1Switch": "v1model.entry",
    "Switch": "tna.entry",
    "MultiParserSwitch": "tna.entry",
    "PSA_Switch": "portable.entry",
    "PNA_NIC": "portable.entry",
}
"""The modules of this package by the package that a program's ``main`` is of."""
KEPT: Final = KeptFiles("modules", cache_folder, ".module", most_files=2048, most_bytes=16 << 20)
"""What Python must know of the modules whose machine code lies beside it."""
_TEMPLATES: Final = KeptFiles("functions", cache_folder, ".templates", most_files=8, most_bytes=16 << 20)
"""What the run-time system's functions are translated to."""
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
    chosen: NativeArchitecture = import_module(f"offramp_p4.native.{_MODULES[package]}").ARCHITECTURE
    return chosen


def build(program: ir.Program, objects: NativeState, way: PacketMode = PacketMode.BATCH) -> Module:
    """Translate a program, once for each way; of a program that is kept, what an earlier process knew will do.

    Raises:
        Unsupported: it uses something that the native engine or its architecture does not execute.
    """
    built = _BUILT.setdefault(program, {})
    if way not in built:
        kept = _kept(program, objects, way)
        built[way] = translated(program, objects, way) if kept is None else kept
    return built[way]


def translated(program: ir.Program, objects: NativeState, way: PacketMode) -> Module:
    """Translate a program, whatever is kept of it.

    Raises:
        Unsupported: see :func:`build`.
    """
    module = architecture(program).translate(program, objects, way)
    templates().keep()
    key = _key(program, way)
    if key is None:
        return module
    facts = module.memory_size, module.digests, module.events, module.plan.additions(program)
    KEPT.put(key, pickle.dumps(facts, pickle.HIGHEST_PROTOCOL))
    return replace(module, key=key)


def machine_code(
    program: ir.Program, objects: NativeState, way: PacketMode, cache: ObjectCache | None, level: int
) -> MachineCode:
    """The machine code of a program, from the cache where it has it; if it is optimised there, whatever the level.

    Raises:
        OfframpError: LLVM cannot compile it.
    """
    module = build(program, objects, way)
    if level != OPTIMISED:
        kept = MachineCode.kept(module.key or module.text, cache)
        if kept is not None:
            return kept
    if module.key is None:
        return MachineCode(module.text, cache, level)
    return MachineCode.of_key(module.key, lambda: module.text or translated(program, objects, way).text, cache, level)


def _kept(program: ir.Program, objects: NativeState, way: PacketMode) -> Module | None:
    """The module without its text, if an earlier process has translated the same program by the same code."""
    key = _key(program, way)
    kept = None if key is None else KEPT.get(key)
    if kept is None:
        return None
    memory_size, digests, events, additions = pickle.loads(kept)  # noqa: S301 - in a folder that is this user's alone
    plan = architecture(program).plan(program, objects)
    plan.add(program, additions)
    return Module("", plan, memory_size, digests, events, key)


def _key(program: ir.Program, way: PacketMode) -> str | None:
    """What the module of a program follows from; None: it was not read from files."""
    content = contents_of(program)
    return None if content is None else f"{way.value} {_code()} {content}"


@cache
def templates() -> Templates:
    """The run-time system's functions as earlier programs have had them translated."""
    return Templates(_TEMPLATES, f"{LLVMLITE} {_code()}")


@cache
def _code() -> str:
    """The digest of the modules that decide what a program is translated to."""
    digest = hashlib.sha256()
    for top in (Path(__file__).parents[1], Path(offramp_base.native.__file__).parent):
        for folder, folders, names in os.walk(top):  # thrice as fast as rglob, and this is done at every start
            folders.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    digest.update(name.encode() + b"\0" + Path(folder, name).read_bytes())
    return digest.hexdigest()
