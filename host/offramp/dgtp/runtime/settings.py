# SPDX-License-Identifier: Apache-2.0
"""The settings of a training run on a placement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from offramp.dgs.settings import DgsSettings, parse_fanout
from offramp.dgtp.policies import BLIND
from offramp.graph.settings import GraphSettings
from offramp.train.fields import TRAINING, Dropout, Hidden, LearningRate, Partition
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field

_PLACEMENT: Final = "Placement"
_NETWORK: Final = "Network"
AUTO: Final = "auto"
"""The fastest policy in simulation."""
_POLICIES: Final = {AUTO: "the fastest in simulation"} | dict.fromkeys(BLIND, "")


@dataclass(frozen=True)
class PlacedTraining(GraphSettings):
    """Mini-batch training of GraphSAGE with neighbours from graph stores, placed and scheduled by DGTP.

    The first ``profile`` of ``iterations`` run on DistDGL's placement; their times and volumes are what the placement
    of the rest is searched for. ``policy`` gives flows their rates; with :data:`AUTO` whichever is the fastest in
    simulation, on that placement or a baseline's. ``reserve`` of each card is left for requests, answers about
    neighbours, and headers. ``rates`` multiplies the rates of all cards.
    """

    partition: Partition = "metis"
    fanout: Annotated[
        tuple[int, ...], Field("Neighbours of a vertex at each hop, one hop for each layer", parse=parse_fanout)
    ] = (10, 5)
    hidden: Hidden = 64
    dropout: Dropout = 0.0
    iterations: Annotated[int, Field("Iterations of training", least=2, group=TRAINING)] = 100
    profile: Annotated[int, Field("Iterations that are profiled first, on DistDGL's placement", least=1)] = 50
    batch: Annotated[int, Field("Training vertices of a sampler in an iteration", least=1)] = 64
    lr: LearningRate = 0.003
    policy: Annotated[str, Field("Rates of flows", choices=_POLICIES, group=_PLACEMENT)] = "oes"
    rates: Annotated[float, Field("Multiply the rates of all cards", above=0, group=_NETWORK)] = 1.0
    reserve: Annotated[
        float, Field("Share of each card that is left for requests, neighbours and headers", least=0, below=1)
    ] = 0.1

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises:
            SettingsError: names the field and what it takes.
        """
        super().__post_init__()
        if self.profile >= self.iterations:
            raise SettingsError("profile", f"expected fewer than the {self.iterations} {{iterations}}", self.profile)
        self.sampling(1)

    def sampling(self, stores: int) -> DgsSettings:
        """The model, the batches and the draws, over ``stores`` partitions."""
        return DgsSettings(
            graph=self.graph,
            features=self.features,
            labels=self.labels,
            split=self.split,
            seed=self.seed,
            sampler="random",
            workers=stores,
            partition=self.partition,
            layers=len(self.fanout),
            fanout=self.fanout,
            hidden=self.hidden,
            dropout=self.dropout,
            batch=self.batch,
            lr=self.lr,
        )
