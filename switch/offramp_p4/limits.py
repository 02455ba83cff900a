# SPDX-License-Identifier: Apache-2.0
"""Limits on what one program may take of the switch that runs it, on either engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError
from offramp_p4.engine import walk
from offramp_p4.engine.work import StatementBound
from offramp_p4.source import P4Error
from offramp_p4.types import Bits, Struct, Type, strip

if TYPE_CHECKING:
    from offramp_p4 import ir

MAX_STATE_BYTES: Final = 1 << 30
"""Memory for registers, counters and meters together."""
MAX_STEPS: Final = 1 << 20
"""Statements that one packet may run in loops, with all its passes and copies; also outside of loops in one block."""

_COUNTER_BYTES: Final = 16
_METER_BYTES: Final = 256
_FILTER_BYTES: Final = 512
_WORD: Final = 8
_SIZES: Final = ("size", "n_counters", "n_meters")
"""Architectures' names of the parameter with the number of an array's cells."""


def check_limits(program: ir.Program, *, max_passes: int, max_steps: int, max_state: int) -> None:
    """Check that a switch with these limits may run the program, before anything is allocated.

    Raises:
        P4Error: the program needs more than they allow.
        OfframpError: ``max_passes`` or ``max_steps`` is not a count.
    """
    if max_passes < 1:
        raise OfframpError(f"max_passes is {max_passes}: a packet needs at least 1 pass")
    if max_steps < 1:
        raise OfframpError(f"max_steps is {max_steps}: a packet needs at least 1 step")
    _check_state(program, max_state)
    _check_work(program, max_steps)


def _check_state(program: ir.Program, most: int) -> None:
    """Check that the program's arrays fit.

    A cell counts as what it takes on the engine that needs more for it.

    Raises:
        P4Error: they take more than ``most`` bytes; at the array that is too much.
    """
    total = 0
    for instance in program.externs:
        cell = _cell_bytes(instance)
        if cell:
            total += cell * max(0, _size(instance))
            if total > most:
                message = f"{instance.extern} {instance.name}: the arrays of the program take {total} bytes"
                raise P4Error(instance.pos, f"{message}; at most {most} are allowed")


def _check_work(program: ir.Program, most: int) -> None:
    """Check that no packet runs more than ``most`` statements of one block outside of loops.

    Functions that call others twice double that with each level.

    Raises:
        OfframpError: a packet may; or calls are nested deeper than Python's stack.
    """
    work = StatementBound()
    try:
        for block in walk.blocks(program.main):
            count = work.of(block)
            if count > most:
                raise P4Error(
                    block.pos, f"{block.name}: a packet may run {count} statements; at most {most} are allowed"
                )
    except RecursionError:
        raise OfframpError(f"{program.file}: the program nests its expressions or statements too deeply") from None


def _cell_bytes(instance: ir.ExternInstance) -> int:
    match instance.extern.lower():
        case "register":
            return max(_WORD, (_bits(instance.type_args[0]) + 7) // 8) if instance.type_args else _WORD
        case "counter":
            return _COUNTER_BYTES
        case "meter":
            return _METER_BYTES
        case "lpf" | "wred":
            return _FILTER_BYTES
    return 0


def _bits(t: Type) -> int:
    t = strip(t)
    if isinstance(t, Struct):
        return sum(_bits(f.type) for f in t.fields)
    return t.width if isinstance(t, Bits) else _WORD


def _size(instance: ir.ExternInstance) -> int:
    """The number of cells; a size that is not constant is refused where the array is made."""
    args = dict(zip(instance.params, instance.args, strict=False))
    value = next((getattr(args[name], "value", None) for name in _SIZES if name in args), None)
    return value if isinstance(value, int) else 0
