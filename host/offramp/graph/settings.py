# SPDX-License-Identifier: Apache-2.0
"""The graph that a run trains on; settings of the training systems begin with these."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from offramp_base.settings.check import check
from offramp_base.settings.field import Field

if TYPE_CHECKING:
    from offramp.graph.data import Graph

GROUP = "Graph"
SOURCES = "digits, karate, FILE.npz, an edge list, pyg:CLASS/NAME, or a generator (sbm:n=1000,k=4)"


@dataclass(frozen=True)
class GraphSettings:
    """The graph of a run, as :func:`offramp.graph.load.load` takes it."""

    graph: Annotated[str, Field(SOURCES, group=GROUP)] = "digits"
    features: Annotated[str | None, Field("Edge list: features, .npy, one row per vertex.")] = None
    labels: Annotated[str | None, Field("Edge list: labels, .npy, one integer per vertex.")] = None
    split: Annotated[str | None, Field("planetoid, or fractions: 0.6/0.2/0.2; the graph's own by default.")] = None
    seed: Annotated[int, Field("Random seed for split, partition, weights and order.", least=0)] = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises:
            SettingsError: names the field and what it takes.
        """
        check(self)

    def load(self) -> Graph:
        """The graph that these name."""
        from offramp.graph.load import load

        return load(self.graph, self.seed, self.split, self.features, self.labels)

    def as_dict(self) -> dict[str, object]:
        """Field names and values."""
        return asdict(self)
