# SPDX-License-Identifier: Apache-2.0
"""The place in the context of a PSA or PNA program's objects, and what Python must know of its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from offramp_p4.native.plan import ContextPlan

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.native.plan import ProgramObjectState
    from offramp_p4.native.records import RecordFormat


@dataclass(frozen=True, slots=True)
class AddEntry:
    """A call of ``add_entry`` in the program.

    Attributes:
        action: its name, as the program gives it.
        data: how the action's arguments lie in memory.
    """

    action: str
    data: RecordFormat


class PortablePlan(ContextPlan):
    """The plan of a PSA or PNA program.

    Attributes:
        sites: the calls that add entries, by number.
        gives_flow_ids: whether the program asks for flow ids.
    """

    def __init__(self, program: ir.Program, objects: ProgramObjectState) -> None:
        super().__init__(program, objects)
        self.sites: list[AddEntry] = []
        self.gives_flow_ids = False

    def additions(self, program: ir.Program) -> Any:
        """The calls that add entries, and whether there are some that ask for flow ids."""
        del program
        return self.sites, self.gives_flow_ids

    def add(self, program: ir.Program, additions: Any) -> None:
        """Add the calls."""
        del program
        self.sites, self.gives_flow_ids = additions
