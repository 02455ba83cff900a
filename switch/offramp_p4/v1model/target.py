# SPDX-License-Identifier: Apache-2.0
"""v1model as a target of the engine: its externs, objects and cells."""

from __future__ import annotations

import logging
import re
from random import Random
from typing import TYPE_CHECKING, Final

from offramp_p4.engine import core
from offramp_p4.v1model import arrays, checksums, diagnostics, outside, requests
from offramp_p4.v1model.fields import Span, field_lists
from offramp_p4.v1model.metadata import V1Metadata
from offramp_p4.v1model.objects import ExternProgramObjects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from offramp_p4 import ir
    from offramp_p4.engine.faults import Steps
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.engine.layout import CellLayout
    from offramp_p4.state import TableState, ValueSetState
    from offramp_p4.v1model.hashing import Algorithm

_LOG: Final = logging.getLogger(__name__)


class V1Target:
    """Everything that generated code of a v1model program refers to.

    Attributes:
        clock: virtual time in microseconds.
        steps: steps of the packet that is being run.
        field_lists: cells of metadata that copies preserve, by number of the list.
    """

    clears_headers: Final = True

    def __init__(
        self,
        program: ir.Program,
        layout: CellLayout,
        parser: ir.ParserInstance,
        *,
        seed: int,
        drop_port: int,
        clock: Callable[[], int],
        steps: Steps,
    ) -> None:
        self.steps = steps
        self.random = Random(seed)
        self.drop_port, self.clock = drop_port, clock
        self.objects = ExternProgramObjects(program)
        self.cells = V1Metadata(layout, parser)
        self.field_lists: dict[int, list[Span]] = field_lists(parser.params[2].type, self.cells.user)
        self.algorithms: dict[str, Algorithm] = {}
        self.digest_names: list[str] = []
        own = {
            **core.BUILDERS,
            **arrays.builders(self),
            **checksums.builders(self),
            **requests.builders(self),
            **diagnostics.builders(self),
        }
        self.externs: Mapping[tuple[str, str], Builder] = {**own, **outside.builders(self.objects, program, own)}
        self.tables: Mapping[ir.MatchTable, TableState] = self.objects.tables
        self.value_sets: Mapping[ir.ValueSet, ValueSetState] = self.objects.value_sets

    def on_hit(self, g: Generator, table: ir.MatchTable) -> None:
        """Write what a hit does to direct counters and meters."""
        arrays.on_hit(self, g, table)

    def on_miss(self, g: Generator, table: ir.MatchTable, state: str) -> None:
        """Write what a miss does to the direct counter of the default entry."""
        arrays.on_miss(g, table, state)

    def selector_hash(self, g: Generator, table: ir.MatchTable) -> str:
        """Text of the hash of an action selector."""
        return checksums.selector_hash(self, g, table)

    def log(self, message: str, values: Sequence[int]) -> None:
        """``log_msg``: each ``{}`` of the message replaced by the next value."""
        left = iter(values)
        _LOG.info("%s", re.sub(r"\{[^}]*\}", lambda hole: str(next(left, hole.group())), message))
