# SPDX-License-Identifier: Apache-2.0
"""The place in the context of a PSA or PNA program's objects, and what Python must know of its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from offramp_p4.native.plan import Plan

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.native.plan import Objects
    from offramp_p4.native.records import Record


@dataclass(frozen=True, slots=True)
class AddEntry:
    """A call of ``add_entry`` in the program.

    Attributes:
        action: its name, as the program gives it.
        data: how the action's arguments lie in memory.
    """

    action: str
    data: Record


class PortablePlan(Plan):
    """The plan of a PSA or PNA program.

    Attributes:
        sites: the calls that add entries, by number.
        gives_flow_ids: whether the program asks for flow ids.
    """

    def __init__(self, program: ir.Program, objects: Objects) -> None:
        super().__init__(program, objects)
        self.sites: list[AddEntry] = []
        self.gives_flow_ids = False
