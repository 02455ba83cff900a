# SPDX-License-Identifier: Apache-2.0
"""The memory that an action of a stateful ALU works on."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.constructor import argument
from offramp_p4.source import Unsupported


def register_of(action: ir.ExternInstance) -> ir.ExternInstance:
    """The register that a register action works on, or the selector whose own memory a selector action works on.

    Raises:
        Unsupported: it has none.
    """
    memory = action.args[0]
    if not isinstance(memory, ir.ExternInstance):
        raise Unsupported(action.pos, f"{action.extern} {action.name} without a register")
    return memory_of_selector(memory) if action.extern == "SelectorAction" else memory


def memory_of_selector(selector: ir.ExternInstance) -> ir.ExternInstance:
    """The register that a selector was given for its members' bits; itself if it was given none."""
    register = register_of_selector(selector)
    return selector if register is None else register


def register_of_selector(selector: ir.ExternInstance) -> ir.ExternInstance | None:
    """The register that a selector was given for its members' bits."""
    value = argument(selector, "reg") if "reg" in selector.params else None
    return value if isinstance(value, ir.ExternInstance) else None
