# SPDX-License-Identifier: Apache-2.0
"""Settings of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from offramp_base import Field
from offramp_base.settings import BITS_PER_SECOND
from offramp_base.settings.check import check
from offramp_cli.demo.acts import ACTS
from offramp_cli.lab.lab import MODES

ALL: Final = tuple(ACTS)


@dataclass(frozen=True)
class DemoSettings:
    """The laboratory and the acts."""

    act: Annotated[tuple[str, ...], Field("Acts to run, all by default: gnn, hermod, leo, job; repeatable")] = ()
    mode: Annotated[str, Field("Where hosts run", choices=MODES)] = "auto"
    rate: Annotated[
        int,
        Field("Rate of the hosts' links; links to the spine get twice as much", least=1_000_000, unit=BITS_PER_SECOND),
    ] = 25_000_000
    steps: Annotated[int, Field("Steps of the data-parallel job; the GNN has half as many epochs", least=2)] = 12
    deadline_s: Annotated[float, Field("Seconds that planning the job may take", key="deadline", above=0)] = 12.0
    seed: Annotated[int, Field("Random seed for weights, partitions and requests", least=0)] = 0

    def __post_init__(self) -> None:
        check(self)
        from offramp_base.settings import expect_choice

        for name in self.act:
            expect_choice("act", name, ALL)

    @property
    def acts(self) -> tuple[str, ...]:
        """The acts to run, in their order."""
        return tuple(name for name in ALL if name in self.act) if self.act else ALL
