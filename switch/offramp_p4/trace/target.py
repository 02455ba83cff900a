# SPDX-License-Identifier: Apache-2.0
"""v1model, PSA and PNA as the targets of instrumented code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_p4.portable.target import PortableTarget
from offramp_p4.trace.externs import traced
from offramp_p4.v1model.target import V1Target

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.layout import Layout
    from offramp_p4.portable.objects import PortableObjects
    from offramp_p4.trace.recorder import Recorder


class TracedTarget(V1Target):
    """The target with externs that tell ``recorder``."""

    def __init__(
        self, program: ir.Program, layout: Layout, parser: ir.ParserInstance, *, recorder: Recorder, **options: Any
    ) -> None:
        super().__init__(program, layout, parser, **options)
        self.recorder = recorder
        self.externs = traced(self.externs, self.objects, recorder)


class TracedPortableTarget(PortableTarget):
    """PSA's and PNA's target with externs that tell ``recorder``."""

    def __init__(self, program: ir.Program, objects: PortableObjects, *, recorder: Recorder, **options: Any) -> None:
        super().__init__(program, objects, **options)
        self.recorder = recorder
        self.externs = traced(self.externs, objects, recorder)
