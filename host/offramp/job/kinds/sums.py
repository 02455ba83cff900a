# SPDX-License-Identifier: Apache-2.0
"""A program of ``torch.distributed``: who carries out its all-reduces and all-to-alls.

The models are those of the systems themselves: a ring and a switch that adds are dimensions of Themis's latency model,
Themis's schedule is its planner's, Sylvie is the ring with fewer bytes. A calibration corrects them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from offramp.allreduce.wire import frame_bytes
from offramp.cluster.model import Cluster, ClusterHost, ClusterSwitch
from offramp.fabric import Fabric
from offramp.fabric.forwarding import ports_of_hosts
from offramp.job.calibrate import FILE, description
from offramp.job.floor import PASS_S, SUMMED_BYTE_S, SUMMED_FRAME_S, StepTraffic
from offramp.job.kind import (
    KINDS,
    CalibrationResult,
    Deployment,
    JobKind,
    JobStart,
    Measure,
    Once,
    PlacedJob,
    Prediction,
)
from offramp.job.network import SUMS, Admitted, ReductionNetwork, check_links, network_text
from offramp.job.settings import JobSettings
from offramp.job.shared_program import page_bytes, refuse_tofino, sizes_for_pages
from offramp.job.steps import mean_step_s
from offramp.job.switches import JobOnSwitch, pages_of
from offramp.job.tree import roles
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, Network
from offramp.themis.network import DimensionTopology as Shape
from offramp.themis.network_file import network_of
from offramp.themis.plan import EXECUTED, EXECUTED_CHUNKS, make_plan
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError

_SEGMENT: Final = 256
_FLOAT_BYTES: Final = 4
_SYLVIE_COLUMNS: Final = 256
_MOST_MEASURED: Final = 1 << 20


@KINDS.register("command")
class SumsJob(JobKind):
    """All-reduces and all-to-alls of a program that knows nothing of offloads."""

    ways = SUMS

    def predict(self, placed: PlacedJob, measure: Measure | None) -> Prediction:
        """A step's computation, its all-reduces and its all-to-alls, one after the other."""
        job = placed.job
        models: dict[str, _Model] = {}
        refused: dict[str, str] = {}
        for way in SUMS:
            try:
                models[way] = _Model(_sums(way, placed), _exchanges(placed))
            except OfframpError as error:
                refused[way] = str(error)
        alone = {way: model.step_s(job) for way, model in models.items()}
        corrections: dict[str, float] = {}
        rounds: Mapping[str, Sequence[float]] = {}
        sizes = _probe(job)
        measured = measure(list(models), sizes[0]) if measure is not None and job.communicates else None
        if measured is not None:
            for name, model in models.items():
                if name in measured.seconds:
                    corrections[name] = measured.usual_s(name) / max(model.once_s(*sizes), 1e-9)
                else:
                    refused[name] = "calibration: another carried out its collectives in its place"
            rounds = measured.seconds
        times = {
            way: job.compute_s + seconds * corrections.get(way, 1.0)
            for way, seconds in alone.items()
            if way not in refused
        }
        gains = job.communicates
        return Prediction(SUMS, times, alone, corrections, refused, gains, rounds, apart_s=job.compute_s)

    def traffic(self, placed: PlacedJob, way: str) -> StepTraffic:
        """The bytes of any all-reduce, of the switch's tree, and of all-to-alls over the hosts' own links."""
        job, hosts = placed.job, len(placed.hosts)
        pair = job.all_to_all / placed.ranks
        if way == ReductionNetwork.SWITCH and job.all_reduce:
            return _through_switch(placed, pair)
        size = job.all_reduce * (_sylvie_share(job) if way == ReductionNetwork.SYLVIE else 1.0)
        in_network = way == ReductionNetwork.THEMIS and any(
            each.type == "in-network" for each in placed.cluster.dimensions
        )
        total = 0.0 if in_network else 2 * (hosts - 1) * size  # without a switch that adds; ranks of a host add there
        return StepTraffic(across=size if hosts > 1 else 0.0, total=total, pair=pair)

    def decided(self, placed: PlacedJob, way: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Themis's scheduler, number of chunks and type of sums, on which its time depends.

        Exact sums would double the bytes of float32 that the plan counts; gloo's are not exact either.
        """
        if way != ReductionNetwork.THEMIS:
            return {}
        return {"scheduler": str(EXECUTED), "chunks": EXECUTED_CHUNKS, "exact": False}

    def program(self, placed: PlacedJob, way: str, start: JobStart) -> JobSettings:  # noqa: ARG002
        """The program that the job names."""
        return placed.job

    def deployment(self, placed: PlacedJob, ways: Sequence[str], number: int, folder: Path) -> Deployment:
        """Pages of slots on the switches between the ranks, and the settings of our backend of PyTorch."""
        job, cluster, hosts = placed.job, placed.cluster, placed.hosts
        steps = deployment(job, cluster, hosts, number) if ReductionNetwork.SWITCH in ways else []
        known = Admitted(number, job.segments) if steps else None
        decided = [self.decided(placed, way) if placed.decided is None else placed.decided for way in ways]
        texts = [
            network_text(ReductionNetwork(way), job, cluster, hosts, known, folder, each)
            for way, each in zip(ways, decided, strict=True)
        ]
        if len(ways) == 1:
            return Deployment(steps, texts[0])
        merged: dict[str, Any] = {}
        for text in texts:
            merged |= yaml.safe_load(text)
        merged["offloads"] = [f"{description(way)}:{way}" for way in ways if way != ReductionNetwork.GLOO]
        return Deployment(steps, str(yaml.safe_dump(merged | {"least": 0}, sort_keys=False)))

    def calibrate(
        self, placed: PlacedJob, ways: Sequence[str], size: int, folder: Path, timeout_s: float, once: Once
    ) -> CalibrationResult:
        """One run in which all ways take turns."""
        words = (sys.executable, "-m", "offramp.job.calibrate", str(size), str(_probe(placed.job)[1]), *ways)
        probe = replace(placed.job, command=words, name=f"{placed.job.name} (calibration)")
        once(probe, ways, folder, timeout_s)
        seconds_by = parse_json(read_text(folder / FILE))
        return CalibrationResult(
            {ReductionNetwork(way): [float(each) for each in seconds] for way, seconds in seconds_by.items()}
        )

    def step_s(self, folder: Path) -> float | None:
        """Mean seconds of what the program calls a step."""
        return mean_step_s(folder)


def deployment(job: JobSettings, cluster: Cluster, hosts: Sequence[ClusterHost], number: int) -> list[JobOnSwitch]:
    """The steps on switches for sums in the network, leaves first; checked before anything is touched.

    Raises:
        OfframpError: names file and line of what cannot take the job.
    """
    check_links(cluster, hosts)
    fabric = Fabric(cluster).at(0.0)
    ports = ports_of_hosts(fabric)
    steps = []
    for name, role in roles(fabric, hosts).items():
        switch = cluster.by_name[name]
        assert isinstance(switch, ClusterSwitch)
        step = JobOnSwitch(
            switch, cluster.place(name), ports[name], number, role, job.pages, job.segments, share=job.shares
        )
        step.check()
        steps.append(step)
    return steps


@dataclass(frozen=True)
class _Model:
    """Seconds of one all-reduce and of one all-to-all by their bytes on each rank."""

    sums: Callable[[float], float]
    exchanges: Callable[[float], float]

    def once_s(self, size: float, exchanged: float) -> float:
        """One of each; of 0 bytes there is none."""
        return (self.sums(size) if size else 0.0) + (self.exchanges(exchanged) if exchanged else 0.0)

    def step_s(self, job: JobSettings) -> float:
        """All of a step."""
        sums = job.collectives * self.once_s(job.all_reduce / job.collectives, 0)
        return sums + job.exchanges * self.once_s(0, job.all_to_all / job.exchanges)


def _probe(job: JobSettings) -> tuple[int, int]:
    """Bytes of the all-reduce and of the all-to-all of a calibration, which has to end in time; 0: there is none."""
    sizes = job.all_reduce // job.collectives, job.all_to_all // job.exchanges
    sums, exchanged = (max(1024, min(_MOST_MEASURED, size)) if size else 0 for size in sizes)
    return sums, exchanged


def _exchanges(placed: PlacedJob) -> Callable[[float], float]:
    """Seconds of an all-to-all by the bytes that a rank gives: every host sends to every other over its own links."""
    hosts = placed.hosts
    rate = min(placed.slowest_bps / max(host.processes for host in hosts), 1e15) if len(hosts) > 1 else 1e15
    direct = Dimension(Shape.FULLY_CONNECTED, placed.ranks, rate, placed.farthest_ns)
    return lambda size: _seconds(direct, size, Collective.ALL_TO_ALL)


def _sums(way: ReductionNetwork, placed: PlacedJob) -> Callable[[float], float]:
    """Seconds of an all-reduce by its bytes on each rank.

    Raises:
        OfframpError: why this way cannot be taken.
    """
    job, cluster, ranks = placed.job, placed.cluster, placed.ranks
    if not job.all_reduce and job.all_to_all and way not in (ReductionNetwork.GLOO, ReductionNetwork.HERMOD):
        raise OfframpError("the job sums nothing, and all-to-alls are not its business")
    ring = Dimension(Shape.RING, ranks, min(placed.ring_bps, 1e15), placed.farthest_ns)
    if way in (ReductionNetwork.GLOO, ReductionNetwork.HERMOD):
        return lambda size: _seconds(ring, size)
    if way is ReductionNetwork.SYLVIE:
        if not job.lossy:
            raise OfframpError("the job does not allow loss (lossy)")
        share = _sylvie_share(job)
        return lambda size: _seconds(ring, size * share)
    if way is ReductionNetwork.THEMIS:
        if not cluster.dimensions:
            raise OfframpError("the cluster has no dimensions to balance")
        network = _filled(network_of(cluster), ranks)
        return lambda size: _themis_s(network, size)
    return _in_switch(placed)


def _themis_s(network: Network, size: float) -> float:
    """Seconds of the plan that the ranks' executor makes: whole values for each rank in each of its chunks."""
    unit = _FLOAT_BYTES * network.npus
    demand = Demand(Collective.ALL_REDUCE, max(1, math.ceil(size / unit)) * unit)
    return make_plan(network, [demand], EXECUTED, EXECUTED_CHUNKS, unit=unit).finish_ps / 1e12


def _sylvie_share(job: JobSettings) -> float:
    """Bytes that Sylvie sends for a byte of float32: its bits, and two bounds of each row."""
    return job.bits / 32 + 8 / (4 * _SYLVIE_COLUMNS)


def _through_switch(placed: PlacedJob, pair: float) -> StepTraffic:
    """Every rank's bytes to its leaf and back, in frames, a pass of each switch for each of its members and the sum."""
    job, cluster, hosts = placed.job, placed.cluster, placed.hosts
    values = job.segments * _SEGMENT
    frames = math.ceil(job.all_reduce / values)
    passes = [
        (len(role.members) + (role.uplink is not None)) * frames * _pass_s(cluster, name)
        for name, role in roles(placed.fabric, hosts).items()
    ]
    busy_s = len(hosts) * frames * (SUMMED_FRAME_S + SUMMED_BYTE_S * values)
    across = job.all_reduce * frame_bytes(job.segments) / values
    return StepTraffic(across=across, pair=pair, passes_s=max(passes), processor_s=max(busy_s, sum(passes)))


def _pass_s(cluster: Cluster, name: str) -> float:
    switch = cluster.by_name[name]
    assert isinstance(switch, ClusterSwitch)
    return PASS_S.get(switch.target, 0.0)


def _in_switch(placed: PlacedJob) -> Callable[[float], float]:
    job, cluster, hosts = placed.job, placed.cluster, placed.hosts
    if len(hosts) < 2:
        raise OfframpError("one rank has its sum already")
    check_links(cluster, hosts)
    if job.shares:
        refuse_tofino(cluster)
    for name in roles(placed.fabric, hosts):
        switch = cluster.by_name[name]
        if job.shares:
            sizes_for_pages(switch, cluster.place(name), job.pages, job.segments)  # type: ignore[arg-type]
        elif pages_of(switch, job.segments) < job.pages:  # type: ignore[arg-type]
            need = job.pages * page_bytes(job.segments)
            raise OfframpError(f"{cluster.place(name)}: {name} has not {need} B for the job")
    share = job.segments * _SEGMENT / frame_bytes(job.segments)
    rate = min(link.rate_bps for host in hosts for link in cluster.links_of[host.name][:1])
    dimension = Dimension(Shape.IN_NETWORK, len(hosts), rate, placed.farthest_ns, share)
    return lambda size: _seconds(dimension, size)


def _filled(network: Network, ranks: int) -> Network:
    if network.npus != ranks:
        raise OfframpError(f"its dimensions are for {network.npus} ranks, the job has {ranks}")
    return network


def _seconds(dimension: Dimension, size: float, what: Collective = Collective.ALL_REDUCE) -> float:
    return (dimension.fixed_ps(what) + dimension.transfer_ps(what, size)) / 1e12
