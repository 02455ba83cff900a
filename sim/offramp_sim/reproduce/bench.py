"""The paper's simulated testbed at the size of a generated graph (section 6)."""

from __future__ import annotations

from typing import Any, Final

from offramp_sim.reproduce.datasets import Sample, sample
from offramp_sim.slot.host_based import epoch_seconds
from offramp_sim.slot.outcome import Outcome
from offramp_sim.slot.ports import Fabric
from offramp_sim.slot.schemes import Setting, simulate

MEMORY_MB: Final = 100
DELAY_S: Final = 2e-6
HIDDEN: Final = 128
EXCHANGES: Final = 4
WORKERS: Final = 128

GENERATED: Final = (
    "The data set is not on this machine: a graph was generated that is smaller by the ratio in the settings. It has "
    "the paper's skew of degrees (figure 7), capped at the real graph's largest over mean degree, and for Reddit the "
    "paper's 16 copies at 128 workers; mean degrees fall with the square root of the ratio. Memory, delays and traffic "
    "are smaller by the ratio, times and bytes are printed at full size. Workers own equal stretches of the ring on "
    "which the graph lives, in place of METIS."
)


class Testbed:
    """A data set shared by some workers, scaled.

    Attributes:
        sample: the graph.
        boundary: split among the workers.
    """

    def __init__(self, name: str, workers: int = WORKERS, scale: float = 1.0, seed: int = 0) -> None:
        self.sample: Sample = sample(name, scale, seed)
        self.boundary = self.sample.boundary(workers)
        self.seed = seed
        self._settings: dict[tuple[int, float], Setting] = {}

    @property
    def ratio(self) -> float:
        """Vertices over those of the real graph."""
        return self.sample.ratio

    def setting(self, features: int | None = None, memory_mb: float = MEMORY_MB) -> Setting:
        """One exchange of raw features, or of ``features``; asked for twice it is the same, with its plan."""
        width = self.sample.data.features if features is None else features
        key = width, memory_mb
        if key not in self._settings:
            memory = int(memory_mb * 1e6 * self.ratio)
            fabric = Fabric(delay_s=DELAY_S * self.ratio)
            self._settings[key] = Setting(self.boundary, width, memory, fabric, seed=self.seed)
        return self._settings[key]

    def exchange(self, scheme: str, features: int | None = None, memory_mb: float = MEMORY_MB) -> Outcome:
        """One exchange of the generated graph."""
        return simulate(self.setting(features, memory_mb), scheme)

    def epoch_s(self, scheme: str, memory_mb: float = MEMORY_MB, compute_s: float = 0.0) -> float:
        """An epoch at full size: one exchange of raw features and three of hidden ones."""
        first, later = self.exchange(scheme, None, memory_mb), self.exchange(scheme, HIDDEN, memory_mb)
        mean = (first.seconds + (EXCHANGES - 1) * later.seconds) / EXCHANGES
        return epoch_seconds(scheme, mean / self.ratio, EXCHANGES, compute_s)

    def settings(self, **more: Any) -> dict[str, Any]:
        """For the report."""
        return {
            "graph": f"generated like {self.sample.data.name}",
            "vertices": len(self.sample.indptr) - 1,
            "ratio": self.ratio,
            "workers": self.boundary.workers,
            "memory_mb": MEMORY_MB,
            "link_gbps": 100,
            "delay_us": DELAY_S * 1e6,
            "seed": self.seed,
            **more,
        }


def less(ours: float, other: float) -> str:
    """By how much less ``ours`` is: ``-74 %``."""
    return f"{100 * (ours / other - 1):+.0f} %"
