# SPDX-License-Identifier: Apache-2.0
"""The demo's laboratory: four hosts in two racks below a spine, started by the first act that asks for it."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from offramp_base.ending.left import temporary_folder

if TYPE_CHECKING:
    from offramp.cluster import Cluster
    from offramp_cli.demo.stage import DemoStage
    from offramp_sim.lab import Lab

RANKS: Final = 4
CLUSTER: Final = """\
name: {name}
hosts: [{{name: "h[1-4]"}}]
switches: [{{name: "leaf[1-2]", memory: 8MB}}, {{name: spine, memory: 8MB}}]
links:
  - {{ends: ["h[1-2]", leaf1], rate: {rate}bit}}
  - {{ends: ["h[3-4]", leaf2], rate: {rate}bit}}
  - {{ends: ["leaf[1-2]", spine], rate: {up}bit}}
"""
"""Two hosts in each of two racks, and a spine that both racks fill."""


@dataclass
class DemoLaboratory:
    """Started once, ended with the block.

    Attributes:
        mode: as ``offramp lab up --mode`` takes it.
        rate_bps: rate of the hosts' links; links to the spine have twice as much.
        stage: shows that it starts.
        lacks: why it has no better mode; empty: it is the best, or the one that was asked for.
    """

    mode: str
    rate_bps: int
    stage: DemoStage
    lacks: str = ""
    _lab: Lab | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def lab(self) -> Lab:
        """The running laboratory.

        Raises:
            OfframpError: it cannot be started in the mode that was asked for.
        """
        if self._lab is None:
            from offramp_sim.lab import held

            with self.stage.console.status("two racks start"):
                folder = Path(self._stack.enter_context(temporary_folder()))
                path = folder / "cluster.yaml"
                text = CLUSTER.format(name=f"demo-{os.getpid()}", rate=self.rate_bps, up=2 * self.rate_bps)
                path.write_text(text, "utf-8")
                self._lab, self.lacks = self._stack.enter_context(held(path, mode=self.mode))
            self.stage.console.print(self.description(), soft_wrap=True)
        return self._lab

    def cluster(self) -> Cluster:
        """The cluster with the laboratory's addresses."""
        return self.lab().cluster()

    @property
    def rated(self) -> bool:
        """Whether links have rates and count bytes: hosts are in namespaces."""
        return self.lab().mode != "sockets"

    def description(self) -> str:
        """One line on the laboratory in use, and what a better one lacks."""
        from offramp.report.units import si

        if self.rated:
            return f"four hosts in two racks, in network namespaces, links of {si(self.rate_bps, 'bit/s')}"
        reason = f" ({self.lacks})" if self.lacks else ""
        return f"four hosts in two racks on Unix sockets: no namespaces, so no rates and no bytes on links{reason}"
