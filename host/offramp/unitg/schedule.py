# SPDX-License-Identifier: Apache-2.0
"""F-then-B over microbatches (GPipe), and the boundaries of its bubbles (specification, sections 3.3 and 3.6)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable


@sendable
class Op(NamedTuple):
    """Operation of a stage on one microbatch."""

    backward: bool
    microbatch: int


@sendable
@dataclass(frozen=True, slots=True)
class PipelinePosition:
    """A stage among ``stages``, with ``microbatches`` per iteration."""

    stage: int
    stages: int
    microbatches: int

    @property
    def first(self) -> bool:
        """Whether it holds the first layers."""
        return self.stage == 0

    @property
    def last(self) -> bool:
        """Whether it holds the last layers and the loss."""
        return self.stage == self.stages - 1

    def order(self) -> list[Op]:
        """All forward passes, then all backward passes, each in the order of the microbatches."""
        return [Op(backward, m) for backward in (False, True) for m in range(self.microbatches)]

    def pauses_before(self, op: Op) -> bool:
        """Whether a bubble ends when the input of ``op`` has arrived."""
        waits = not self.last if op.backward else not self.first
        return waits and op.microbatch == 0

    def resumes_after(self, op: Op) -> bool:
        """Whether a bubble begins when ``op`` is done."""
        waits = not self.first if op.backward else not self.last
        return waits and op.microbatch == self.microbatches - 1


def split_layers(layers: int, stages: int) -> list[range]:
    """Layers (from 1) of each stage: consecutive, as even as possible, the longer ones first.

    Raises:
        OfframpError: a stage would have none.
    """
    if not 1 <= stages <= layers:
        raise SettingsError("stages", f"expected 1 to {layers}, the number of layers", stages)
    short, longer = divmod(layers, stages)
    ends = [stage * short + min(stage, longer) for stage in range(stages + 1)]
    return [range(a + 1, b + 1) for a, b in itertools.pairwise(ends)]


def automatic_microbatches(vertices: int, stages: int) -> int:
    """The auto scheduler's M: 16 below 10^4 vertices, 8 below 5 * 10^4, else 4, and never above P (section 3.7)."""
    most = 16 if vertices < 10_000 else 8 if vertices < 50_000 else 4
    return min(most, stages)
