# SPDX-License-Identifier: Apache-2.0
"""A run before any process starts: ownership of vertices, planned exchanges, and a check of sizes."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import offramp
from offramp.g3 import in_flight
from offramp.g3.block import ENTRY_BYTES
from offramp.g3.schedule import schedule_of
from offramp.graph.bins import BinLimit, memory_limit
from offramp.graph.boundary import Boundary
from offramp.graph.halo_plan import HaloPlan, plan_halo_features
from offramp.graph.hybrid_plan import fetch_cost, plan_hybrid
from offramp.graph.kept import kept_partition
from offramp.graph.local_graph import split_graph
from offramp.graph.racks import cross_rack
from offramp.graph.ready_packing import LayerLimits
from offramp.models import make_model
from offramp.switchgnn.exchange_plan import plan_exchange
from offramp.switchgnn.scheme import LANE_BITS
from offramp.train.checkpoint import TrainingSnapshot, facts, resumed
from offramp.train.control import open_codec
from offramp.train.halo import Halo
from offramp.train.job import WorkerJob, exchange_widths, layer_widths
from offramp.train.kept_plans import kept_exchanges
from offramp.train.propagators.registry import PROPAGATORS
from offramp.train.settings import READY
from offramp.train.switch_plans import plans_of
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.g3.schedule import Schedule
    from offramp.graph.data import Graph
    from offramp.graph.hybrid_plan import HybridPlan
    from offramp.switchgnn.plan import Plan
    from offramp.switchgnn.scheme_plan import SchemePlan
    from offramp.train.settings import TrainSettings
    from offramp_base.archive import Arrays


@dataclass(frozen=True)
class PlannedRun:
    """The partition of a graph and the plan of each exchange.

    Attributes:
        graph: the whole graph.
        settings: settings of the run.
        boundary: boundary of the partition.
        exchanges: exchanges through the switch by their widths; empty if there is none.
        snapshot: checkpoint from which to resume.
    """

    graph: Graph
    settings: TrainSettings
    boundary: Boundary
    exchanges: dict[int, SchemePlan]
    snapshot: TrainingSnapshot | None = None

    @property
    def plans(self) -> list[Plan]:
        """The switch's plans; exchanges of several widths may share one."""
        return plans_of(self.exchanges)

    def jobs(self, links: Sequence[str]) -> list[WorkerJob]:
        """Every worker's job, in rank order; ``links`` are the workers' links to the switch."""
        return list(self.each_job(links))

    def each_job(self, links: Sequence[str]) -> Iterator[WorkerJob]:
        """The jobs of :meth:`jobs` one at a time: those of a large graph need less memory so."""
        graph, boundary = self.graph, self.boundary
        states = self.settings.by_halo_features
        way = PROPAGATORS.get(self.settings.propagator)
        hybrid = self.hybrid
        planned = hybrid is None and (states or not (way.alone or way.through_switch))
        rows: Iterator[HaloPlan | None] = self._rows() if planned else repeat(None)
        snapshots = self._snapshots()
        plans = self.plans
        counts = np.array([graph.train.sum(), graph.val.sum(), graph.test.sum()], np.int64)
        parts = split_graph(graph, boundary.owner, boundary.workers)
        for worker in range(boundary.workers):
            local, plan = next(parts), next(rows)
            copied = plan if states and hybrid is None else hybrid[worker] if hybrid else None
            yield WorkerJob(
                settings=self.settings,
                local=local,
                widths=layer_widths(graph, self.settings),
                counts=counts,
                fan_in=int(boundary.need.max(initial=0)),
                halo=Halo.of(plan, boundary.workers) if plan and not states else None,
                rows=plan if states else None,
                hybrid=hybrid[worker] if hybrid else None,
                received_features=graph.features[copied.received] if copied else None,
                plans=plans,
                exchange_plans={
                    width: plan_exchange(each, worker, plans.index(each.plan)) for width, each in self.exchanges.items()
                },
                bits=next((each.scheme.bits for each in self.exchanges.values()), LANE_BITS),
                code_bits=next((each.scheme.code_bits for each in self.exchanges.values()), 0),
                link=links[worker] if links else "",
                facts=facts(graph, self.settings),
                snapshot=snapshots[worker],
            )
            del local, plan, copied  # before the next ones are made

    def _snapshots(self) -> list[TrainingSnapshot | None]:
        """The checkpoint for each worker: of a run whose steps are not those of any number of workers, with its own."""
        settings, snapshot, workers = self.settings, self.snapshot, self.boundary.workers
        if snapshot is None or settings.is_exact or settings.resume is None:
            return [snapshot] * workers
        model = make_model(settings, layer_widths(self.graph, settings))
        blank: list[Arrays] = [{"draws": np.zeros(1, np.int64)}] * workers
        if settings.by_halo_features and self.hybrid is None:
            schedule, dtype = schedule_of(settings.schedule), getattr(torch, settings.dtype)
            blank = [
                in_flight.blank(plan, model, schedule, open_codec(settings, plan, rank), dtype)
                for rank, plan in enumerate(self._rows())
            ]
        whole = resumed(settings.resume, facts(self.graph, settings), model, blank)
        return [replace(whole, own=[own]) for own in whole.own]

    def _rows(self) -> Iterator[HaloPlan]:
        settings, boundary = self.settings, self.boundary
        if not settings.by_halo_features:
            return plan_halo_features(self.graph, boundary.owner, boundary.workers, boundary_first=False)
        schedule = schedule_of(settings.schedule)
        return plan_halo_features(
            self.graph,
            boundary.owner,
            boundary.workers,
            bins=self._limits(schedule),
            boundary_first=schedule.boundary_first,
            isolated=schedule.isolated,
        )

    @cached_property
    def hybrid(self) -> list[HybridPlan] | None:
        """The workers' layers where states are fetched or recomputed."""
        settings, boundary = self.settings, self.boundary
        if not (settings.by_halo_features and schedule_of(settings.schedule).recomputes):
            return None
        widths = [*make_model(settings, layer_widths(self.graph, settings)).messages, self.graph.classes]
        cost = settings.fetch_cost
        if cost is None:
            cost = fetch_cost(settings.link_bps, getattr(torch, settings.dtype).itemsize)
        return plan_hybrid(self.graph, boundary.owner, boundary.workers, widths, cost)

    def _limits(self, schedule: Schedule) -> int | BinLimit | LayerLimits:
        """What a worker's bins may hold: one limit for all layers, or one for each."""
        settings, memory = self.settings, self.settings.memory_of_bins
        messages = make_model(settings, layer_widths(self.graph, settings)).messages
        widths = [*messages, self.graph.classes]
        size = torch.finfo(getattr(torch, settings.dtype)).bits // 8
        count = settings.bins or schedule.bins
        if settings.packing == READY:
            if memory is not None:
                entry = ENTRY_BYTES if settings.streams else 0
                return LayerLimits.of_memory(memory, widths, size, entry, eager=schedule.eager)
            initial = -(-self.graph.vertices // (self.boundary.workers * count))
            return LayerLimits.of_targets(initial, widths, eager=schedule.eager)
        if memory is None:
            return count
        entry = ENTRY_BYTES if settings.streams else 0
        return memory_limit(memory, max(messages), max(widths[1:]), size, entry)

    def _shares(self) -> dict[str, int]:
        plans = self.hybrid
        if plans is None:
            return {}
        return {
            "recomputed_states": sum(plan.recomputed for plan in plans),
            "fetched_states": sum(plan.fetched for plan in plans),
        }

    def describe(self) -> dict[str, Any]:
        """The settings, the size of the graph and its boundary, and the versions of the software."""
        graph, boundary = self.graph, self.boundary
        return {
            **self.settings.as_dict(),
            "graph_name": graph.name,
            "vertices": graph.vertices,
            "edges": graph.edges,
            "input_features": graph.width,
            "classes": graph.classes,
            "processes": boundary.workers,
            "boundary_vertices": boundary.B,
            "cut_edges": boundary.C,
            "remote_copies": boundary.R,
            "cross_rack_copies": cross_rack(graph, boundary.owner, boundary.workers, self.settings.racks)
            if boundary.workers > 1
            else 0,
            **self._shares(),
            "schemes": {width: str(each.scheme) for width, each in self.exchanges.items()},
            "blocks": [len(plan.blocks) for plan in self.plans],
            "offramp": offramp.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "cores": len(os.sched_getaffinity(0)),
        }


def plan_run(graph: Graph, settings: TrainSettings) -> PlannedRun:
    """Partition the graph and plan the exchanges.

    Raises:
        OfframpError: the settings do not fit the graph.
    """
    if graph.classes < 2 or not graph.train.any():
        raise SettingsError("graph", "no labels to train on; expected at least 2 classes", settings.graph)
    if settings.workers > graph.vertices:
        raise SettingsError(
            "workers",
            f"the graph has {graph.vertices} vertices, expected at most one worker for each",
            settings.workers,
        )
    snapshot = _snapshot(graph, settings)
    racks = settings.racks if settings.processes > 1 else 1
    owner = kept_partition(graph, settings.processes, settings.partition, settings.seed, racks)
    boundary = Boundary(graph, owner, settings.processes)
    exchanges: dict[int, SchemePlan] = {}
    if settings.through_switch:
        exchanges = kept_exchanges(boundary, settings, exchange_widths(settings, layer_widths(graph, settings)))
    return PlannedRun(graph, settings, boundary, exchanges, snapshot)


def _snapshot(graph: Graph, settings: TrainSettings) -> TrainingSnapshot | None:
    if settings.resume is None:
        return None
    model = make_model(settings, layer_widths(graph, settings))
    known = facts(graph, settings)
    if settings.is_exact:  # then any number of workers computes the same
        del known["workers"]
    snapshot = resumed(settings.resume, known, model)
    if snapshot.epoch >= settings.epochs:
        raise SettingsError("resume", f"has {snapshot.epoch} epochs, expected {{epochs}} above that", settings.resume)
    return snapshot
