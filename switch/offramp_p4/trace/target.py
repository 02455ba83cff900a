# SPDX-License-Identifier: Apache-2.0
"""Architectures as targets of instrumented code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from offramp_p4 import ir
from offramp_p4.portable.target import PortableTarget
from offramp_p4.tna.register_calls import ACTIONS, state_of
from offramp_p4.tna.register_of import register_of
from offramp_p4.tna.target import TnaTarget
from offramp_p4.trace.externs import Notes, traced
from offramp_p4.v1model.target import V1Target

if TYPE_CHECKING:
    from offramp_p4.engine.layout import CellLayout
    from offramp_p4.portable.objects import PortableObjects
    from offramp_p4.trace.recorder import Recorder
    from offramp_p4.v1model.objects import ExternProgramObjects

_PACKETS: Final = frozenset({"packet_in", "packet_out"})
# Of v1model, PSA and PNA: by method, as direct counters have the names of others' methods.
_SILENT: Final = frozenset({"emit", "extract", "lookahead", "length", "read", "write", "count", "execute_meter"})
_ARRAYS: Final = frozenset({"register", "counter", "meter", "Register", "Counter", "Meter"})
_SEEN_NOWHERE: Final = frozenset({"DirectCounter", "DirectMeter", "Random"})


class TracedTarget(V1Target):
    """The target with externs that tell ``recorder``."""

    def __init__(
        self, program: ir.Program, layout: CellLayout, parser: ir.ParserInstance, *, recorder: Recorder, **options: Any
    ) -> None:
        super().__init__(program, layout, parser, **options)
        self.recorder = recorder
        notes = Notes(partial(_cells, self.objects), _silent, emits=recorder.full)
        self.externs = traced(self.externs, notes, recorder)


class TracedPortableTarget(PortableTarget):
    """PSA's and PNA's target with externs that tell ``recorder``."""

    def __init__(self, program: ir.Program, objects: PortableObjects, *, recorder: Recorder, **options: Any) -> None:
        super().__init__(program, objects, **options)
        self.recorder = recorder
        self.externs = traced(self.externs, Notes(partial(_cells, objects), _silent), recorder)


class TracedTnaTarget(TnaTarget):
    """A gress of a TNA pipe with externs that tell ``recorder``."""

    def __init__(self, *args: Any, recorder: Recorder, **options: Any) -> None:
        super().__init__(*args, **options)
        self.recorder = recorder
        notes = Notes(self._size, lambda e: e.extern in _PACKETS or e.method == "predicate", emits=True)
        self.externs = traced(self.externs, notes, recorder)

    def _size(self, e: ir.ExternCall) -> int | None:
        """Number of cells of an extern whose cells record their own accesses; None for other externs."""
        if not isinstance(e.target, ir.ExternInstance) or e.method == "predicate":
            return None
        if e.extern in ACTIONS and not e.extern.startswith("Direct"):
            return state_of(self.objects.of, register_of(e.target)).size
        if e.extern in ("Register", "RegisterParam", "Counter", "Meter"):
            return int(self.objects.of[e.target].size)
        return None


def _cells(objects: ExternProgramObjects | PortableObjects, e: ir.ExternCall) -> int | None:
    """Number of cells in the array of v1model, PSA or PNA that a call is about; None: it is about none."""
    if e.extern not in _ARRAYS:
        return None
    assert isinstance(e.target, ir.ExternInstance)
    size: int = objects.of[e.target].size
    return size


def _silent(e: ir.ExternCall) -> bool:
    return e.method in _SILENT and e.extern not in _SEEN_NOWHERE
