# SPDX-License-Identifier: Apache-2.0
"""The small pipeline of Hermod's specification, section 12: one port a stage, sizes in units of the computation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offramp.hermod.build import build
from offramp.hermod.dag import Flows, Indices
from offramp.hermod.factors import CType
from offramp.hermod.traffic import DagShape
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import load
from offramp_sim.hermod.flow.simulate import FlowResult, simulate


def _own(worker: int, size: float) -> Flows:
    return Flows(np.array([worker]), np.array([worker]), np.array([float(size)]))


@dataclass(frozen=True)
class MiniTraffic:
    """Sizes at one byte a second; EP occupies a stage's sending side, DP both sides."""

    shape: DagShape
    pp: float
    rs: float
    ag: float
    ep: float
    attention: float = 1.0
    experts: float = 1.0

    def seconds(self) -> tuple[float, float]:
        return self.attention, self.experts

    def expert_groups(self, rank: int) -> list[Indices]:
        return [np.array([rank])] if self.ep else []

    def dispatch(self, group: Indices, mid: int, lid: int) -> Flows:
        return _own(int(group[0]), self.ep)

    def boundary(self, sender: int, receiver: int) -> Flows:
        return Flows(np.array([sender]), np.array([receiver]), np.array([float(self.pp)]))

    def synchronise(self, rank: int) -> list[tuple[Flows, Flows, Indices]]:
        return [(_own(rank, self.rs), _own(rank, self.ag), np.array([rank]))] if self.rs else []

    def tensor(self, worker: int) -> Flows | None:
        return None


class OnePort(BisectionFabric):
    """A full-duplex port for each stage."""

    def route(self, flows: Flows, ctype: CType) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        flow, resource, size = super().route(flows, ctype)
        keep = resource < self.count if ctype is CType.EP else np.ones(len(flow), bool)
        return flow[keep], resource[keep], size[keep]


def mini(stages: int, per_stage: int, micro_batches: int, *sizes: float) -> MiniTraffic:
    return MiniTraffic(DagShape(stages, micro_batches, stages * per_stage), *sizes)


def run(traffic: MiniTraffic, policy: str, iterations: int = 3) -> FlowResult:
    ranks = np.arange(traffic.shape.ranks)
    fabric = OnePort(ranks, ranks, len(ranks), 1, 1.0)
    return simulate(load(build(traffic, iterations), fabric), policy, slack_s=0.0)
