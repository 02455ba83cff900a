# SPDX-License-Identifier: Apache-2.0
"""The paper's simulated testbed at the size of a generated graph (section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from offramp_sim.reproduce.datasets import COPIES, ScaledGraph, sample
from offramp_sim.slot.ports import StarFabric
from offramp_sim.slot.result import ExchangeResult
from offramp_sim.slot.schemes import SchemeParameters, simulate

EXCHANGES: Final = 4
WORKERS: Final = 128
PIPE_PPS: Final = 1.2e9
"""Passes per second of a Tofino's pipe."""


@dataclass(frozen=True)
class BenchParameters:
    """Parameters that the paper leaves open, or that we chose.

    Attributes:
        link_gbps: link of every link.
        delay_us: delay of every link.
        memory_mb: memory of the switch.
        hidden: width of the layers.
        copies: workers that need a boundary vertex of the generated Reddit among 128.
        efficiency: efficiency of a GPU's peaks, where computation counts.
    """

    link_gbps: float = 100.0
    delay_us: float = 2.0
    memory_mb: float = 100.0
    hidden: int = 128
    copies: float = COPIES
    efficiency: float = 0.5


OPTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "link_gbps": (100.0, 25.0, 400.0),
    "delay_us": (2.0, 10.0),
    "memory_mb": (100.0, 25.0, 400.0),
    "hidden": (128, 32, 256),
    "copies": (COPIES, 8.0, 24.0),
}
"""Values of :class:`BenchParameters` for a referee."""


def options(*names: str) -> dict[str, tuple[Any, ...]]:
    """The options among :data:`OPTIONS` that matter to an item."""
    return {name: OPTIONS[name] for name in names}


_GENERATED: Final = (
    "not on this machine (--data FOLDER reads them): a graph was generated that is smaller by the ratio in the "
    "settings. It has the paper's skew of degrees (figure 7), capped at the real graph's largest over mean degree, and "
    "for Reddit the paper's 16 copies at 128 workers; mean degrees fall with the square root of the ratio. Memory, "
    "delays and traffic are smaller by the ratio, times and bytes are printed at full size. Workers own equal "
    "stretches of the ring on which the graph lives, in place of METIS."
)


class Testbed:
    """A scaled data set, shared by some workers.

    Attributes:
        sample: the graph.
        boundary: split among the workers.
        conditions: conditions of the network, the switch and the model.
    """

    def __init__(
        self, sample: ScaledGraph, workers: int = WORKERS, seed: int = 0, conditions: BenchParameters | None = None
    ) -> None:
        self.sample = sample
        self.conditions = conditions or BenchParameters()
        self.boundary = sample.boundary(workers)
        self.seed = seed
        self._settings: dict[tuple[int, float, int, float | None], SchemeParameters] = {}

    @property
    def ratio(self) -> float:
        """Number of vertices over that of the real graph."""
        return self.sample.ratio

    def setting(
        self,
        features: int | None = None,
        memory_mb: float | None = None,
        values: int = 1,
        passes_pps: float | None = None,
    ) -> SchemeParameters:
        """Setting of one exchange of raw features, or of ``features``; the same object each time, with its plan.

        ``passes_pps`` is that of the real graph: a vertex of the generated one has fewer neighbours and takes fewer
        passes, so the pipeline makes fewer in proportion.
        """
        width = self.sample.data.features if features is None else features
        megabytes = self.conditions.memory_mb if memory_mb is None else memory_mb
        key = width, megabytes, values, passes_pps
        if key not in self._settings:
            memory = int(megabytes * 1e6 * self.ratio)
            passes = None if passes_pps is None else passes_pps * self.degrees
            fabric = StarFabric(self.conditions.link_gbps * 1e9, self.delay_s, passes)
            self._settings[key] = SchemeParameters(self.boundary, width, memory, fabric, seed=self.seed, values=values)
        return self._settings[key]

    @property
    def delay_s(self) -> float:
        """Delay of a link of the generated network, in seconds."""
        return self.conditions.delay_us * 1e-6 * self.ratio

    @property
    def memory_bytes(self) -> int:
        """Memory of the generated network's switch, in bytes."""
        return int(self.conditions.memory_mb * 1e6 * self.ratio)

    @property
    def degrees(self) -> float:
        """Mean degree over that of the real graph."""
        data = self.sample.data
        return len(self.sample.indices) / (len(self.sample.indptr) - 1) * data.vertices / (2 * data.edges)

    def exchange(
        self,
        scheme: str,
        features: int | None = None,
        memory_mb: float | None = None,
        values: int = 1,
        passes_pps: float | None = None,
    ) -> ExchangeResult:
        """Simulate one exchange of the generated graph."""
        return simulate(self.setting(features, memory_mb, values, passes_pps), scheme)

    def exchanges(
        self, scheme: str, memory_mb: float | None = None, values: int = 1, passes_pps: float | None = None
    ) -> list[ExchangeResult]:
        """The exchanges of an epoch: one of raw features and three of hidden ones."""
        later = self.exchange(scheme, self.conditions.hidden, memory_mb, values, passes_pps)
        return [self.exchange(scheme, None, memory_mb, values, passes_pps), *([later] * (EXCHANGES - 1))]

    def epoch_s(
        self, scheme: str, memory_mb: float | None = None, values: int = 1, passes_pps: float | None = None
    ) -> float:
        """Seconds of communication in an epoch at full size."""
        return sum(outcome.seconds for outcome in self.exchanges(scheme, memory_mb, values, passes_pps)) / self.ratio

    def settings(self, **more: Any) -> dict[str, Any]:
        """Settings that the report shows."""
        return {
            "graph": str(self.sample.path or f"generated like {self.sample.data.name}"),
            "vertices": len(self.sample.indptr) - 1,
            "ratio": self.ratio,
            "workers": self.boundary.workers,
            "memory_mb": self.conditions.memory_mb,
            "link_gbps": self.conditions.link_gbps,
            "delay_us": self.conditions.delay_us,
            "seed": self.seed,
            **more,
        }


@lru_cache(maxsize=32)
def bed_of(
    name: str,
    workers: int = WORKERS,
    scale: float = 1.0,
    seed: int = 0,
    folder: Path | None = None,
    conditions: BenchParameters | None = None,
) -> Testbed:
    """The data set ``name``, shared by ``workers``."""
    copies = COPIES if conditions is None else conditions.copies
    return Testbed(sample(name, scale, seed, folder, copies), workers, seed, conditions)


def origin(*samples: ScaledGraph) -> str:
    """Origin of the graphs, for the note of a report."""
    by_name = {sample.data.name: sample for sample in samples}
    read = [f"{name} was read from {sample.path} and cut by METIS." for name, sample in by_name.items() if sample.path]
    generated = [name for name, sample in by_name.items() if not sample.path]
    return " ".join([*read, *([f"The files of {', '.join(generated)} are {_GENERATED}"] if generated else [])])


def less(ours: float, other: float) -> str:
    """Change from ``other`` to ``ours`` as text: ``-74 %``."""
    return f"{100 * (ours / other - 1):+.0f} %"
