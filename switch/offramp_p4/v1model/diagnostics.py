# SPDX-License-Identifier: Apache-2.0
"""``log_msg``, ``assert``, ``assume`` and ``random`` of v1model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.core import argument
from offramp_p4.engine.faults import CheckFailed
from offramp_p4.engine.generator import Builder, Generator
from offramp_p4.v1model.log_text import message_of, spread

if TYPE_CHECKING:
    from random import Random

    from offramp_p4.v1model.target import V1Target


def builders(target: V1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("", "log_msg"): lambda g, e: _log(target, g, e),
        **CHECKS,
        ("", "random"): lambda g, e: _random(target, g, e),
    }


def _log(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    message, scalars = spread(message_of(e), e.args[1].expr if len(e.args) > 1 else None)
    values = "".join(f"{g.value(scalar)}, " for scalar in scalars)
    return f"{g.bind(target.log, 'log')}({message!r}, ({values}))"


def _check(g: Generator, e: ir.ExternCall) -> str:
    with g.indented(f"if not {g.condition(argument(e, 0))}:"):
        g.line(f"raise {g.bind(CheckFailed, 'CheckFailed')}({f'{e.pos}: {e.method} failed'!r})")
    return "None"


CHECKS: Final[dict[tuple[str, str], Builder]] = {("", "assert"): _check, ("", "assume"): _check}
"""The builders of ``assert`` and ``assume``, for any architecture."""


def _random(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    result = argument(e, 0)
    into = lvalues.lvalue(g, result)
    low, high = g.temporary(g.value(argument(e, 1)), "low"), g.temporary(g.value(argument(e, 2)), "high")
    with g.indented(f"if {low} <= {high}:"):
        draw: Random = target.random
        lvalues.write(g, into, f"{g.bind(draw, 'random')}.randint({low}, {high})", lvalues.sliced_cell(result))
    return "None"
