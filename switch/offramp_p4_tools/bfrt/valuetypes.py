# SPDX-License-Identifier: Apache-2.0
"""P4 types as BF-RT fields: registers, digests, port metadata and value sets."""

from __future__ import annotations

from offramp_base.errors import OfframpError
from offramp_p4 import ir
from offramp_p4.runtime.typespec import flatten, width_of
from offramp_p4.types import Structure, Type, strip
from offramp_p4_tools.bfrt.fields import REGISTER_DATA, BfrtField


def register_fields(i: ir.ExternInstance, first: int = 1) -> tuple[BfrtField, ...]:
    """The data fields of a register, whose names begin with its name without the pipe's; ids from ``first``."""
    name = i.name.partition(".")[2] or i.name
    return tuple(
        BfrtField(first + f.id - 1, f"{name}.{f.name}", width=f.width, mandatory=True, annotations=REGISTER_DATA)
        for f in value_fields(i.type_args[0])
    )


def value_fields(t: Type) -> tuple[BfrtField, ...]:
    """A value of a type as fields with ids from 1: those of a structure, or ``f1``.

    Raises:
        OfframpError: the control plane cannot represent the type.
    """
    bare = strip(t)
    if isinstance(bare, Structure):
        leaves = [(name, width_of(leaf)) for name, leaf in flatten(bare)]
    else:
        parts = getattr(bare, "types", None)
        leaves = [(f"f{n}", width_of(part)) for n, part in enumerate(parts or [bare], 1)]
    if not all(width for _, width in leaves):
        raise OfframpError(f"type {t} has no representation in BF-RT")
    return tuple(BfrtField(number, name, width=width) for number, (name, width) in enumerate(leaves, 1))
