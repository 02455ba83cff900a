# SPDX-License-Identifier: Apache-2.0
"""Which offload a job should use: each one's time by the project's models, corrected by a calibration on the cluster.

The models are those of the systems themselves: a ring and a switch that adds are dimensions of Themis' latency model,
Themis' schedule is its planner's, Sylvie is the ring with fewer bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from offramp.allreduce.wire import frame_bytes
from offramp.cluster.model import Cluster, Host
from offramp.cluster.routes import route
from offramp.job.graph import bytes_of_epoch, model_s
from offramp.job.network import GRAPHS, SUMS, Way, check_links
from offramp.job.settings import JobSettings
from offramp.job.switches import page_bytes, pages_of
from offramp.job.tree import bottleneck_bps, roles
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, Kind, Network
from offramp.themis.network_file import network_of
from offramp.themis.plan import Scheduler, make_plan
from offramp_base.errors import OfframpError

_MATTERS: Final = 0.02
"""Gain below which a job runs plainly: models are not better than that."""
_SEGMENT: Final = 256
_SYLVIE_COLUMNS: Final = 256
Calibrate = Callable[[Sequence[Way], int], Mapping[Way, float]]
"""Seconds of an all-reduce of so many bytes by each of these ways that works, measured."""
_MOST_MEASURED: Final = 1 << 20


@dataclass(frozen=True)
class Choice:
    """What the planner thinks of one way.

    Attributes:
        way: which.
        step_s: predicted time of a step; None where it cannot be used.
        taken: whether the job uses it.
        why: a sentence.
        model_s: of one all-reduce by the model alone.
        correction: what calibration found over the model.
    """

    way: Way
    step_s: float | None
    taken: bool
    why: str
    model_s: float | None = None
    correction: float = 1.0


@dataclass(frozen=True)
class JobPlan:
    """The choices, gloo first, and what was taken."""

    choices: tuple[Choice, ...]

    @property
    def taken(self) -> Choice:
        """What the job uses."""
        return next(each for each in self.choices if each.taken)

    @property
    def plain(self) -> Choice:
        """Without any offload."""
        return next(each for each in self.choices if each.way.plain)

    @property
    def gain(self) -> float:
        """Time of a plain step over that of the planned one."""
        assert self.plain.step_s is not None
        assert self.taken.step_s is not None
        return self.plain.step_s / self.taken.step_s if self.taken.step_s else 1.0


def make_job_plan(job: JobSettings, cluster: Cluster, calibrate: Calibrate | None = None) -> JobPlan:
    """Predict every way, and take the fastest that gains.

    Args:
        job: with what it sums in a step.
        cluster: where.
        calibrate: measures ways on the cluster; None: models alone.

    Raises:
        OfframpError: hosts that do not reach each other.
    """
    hosts = job.hosts_of(cluster)
    if job.train is not None:
        return _plan_graph(job, cluster, hosts, calibrate)
    models: dict[Way, Callable[[float], float]] = {}
    refused: dict[Way, str] = {}
    for way in SUMS:
        try:
            models[way] = _model(way, job, cluster, hosts)
        except OfframpError as error:
            refused[way] = str(error)
    size = job.all_reduce / job.collectives
    corrections: dict[Way, float] = {}
    if calibrate is not None and job.all_reduce:
        least = max(1024, min(_MOST_MEASURED, int(size)))
        measured = calibrate(list(models), least)
        for way, model in models.items():
            if way in measured:
                corrections[way] = measured[way] / max(model(least), 1e-9)
            else:
                refused[way] = "calibration: another carried out its sums in its place"
    times = {
        way: job.compute_s + job.collectives * model(size) * corrections.get(way, 1.0)
        for way, model in models.items()
        if way not in refused
    }
    alone = {way: model(size) for way, model in models.items()}
    return _choose(job, Prediction(SUMS, times, alone, corrections, refused), bool(job.all_reduce))


@dataclass(frozen=True)
class Prediction:
    """What is known of each way.

    Attributes:
        ways: all of them, the plain one first.
        step_s: predicted, of those that can be taken.
        model_s: of what is offloaded, by models alone.
        corrections: what was measured over the model.
        refused: why others cannot be taken.
    """

    ways: Sequence[Way]
    step_s: Mapping[Way, float]
    model_s: Mapping[Way, float]
    corrections: Mapping[Way, float]
    refused: Mapping[Way, str]


def _plan_graph(job: JobSettings, cluster: Cluster, hosts: Sequence[Host], calibrate: Calibrate | None) -> JobPlan:
    """Full-graph training: the bytes of its partition, and epochs that were measured."""
    sent = bytes_of_epoch(job, sum(host.processes for host in hosts))
    alone: dict[Way, float] = {}
    refused: dict[Way, str] = {}
    for way in GRAPHS:
        try:
            alone[way] = model_s(way, job, cluster, hosts, sent)
        except OfframpError as error:
            refused[way] = str(error)
    times, corrections = dict(alone), dict[Way, float]()
    if calibrate is not None:
        measured = calibrate(list(alone), 0)
        for way, model in alone.items():
            if way in measured:
                times[way], corrections[way] = measured[way], measured[way] / max(model, 1e-9)
            else:
                del times[way]
                refused[way] = "calibration: it failed, or the deadline had passed"
    return _choose(job, Prediction(GRAPHS, times, alone, corrections, refused), gains=True)


def _choose(job: JobSettings, known: Prediction, gains: bool) -> JobPlan:
    first = known.ways[0]
    plain = known.step_s.get(first)
    if plain is None:
        raise OfframpError(f"job {job.name}: {first}: {known.refused[first]}")
    best = min(known.step_s, key=lambda way: known.step_s[way])
    if not gains or known.step_s[best] > plain * (1 - _MATTERS):
        best = first
    choices = []
    for way in known.ways:
        if way not in known.step_s:
            choices.append(Choice(way, None, False, known.refused[way]))
            continue
        gain = plain / known.step_s[way] if known.step_s[way] else 1.0
        if way is best:
            why = f"{gain:.2f} times as fast as {first}" if way is not first else _why_plain(gains)
        elif way is first:
            why = "slower"
        else:
            why = (
                f"{gain:.2f} times as fast as {first}, {best} is faster"
                if gain > 1
                else f"{gain:.2f} of {first}'s speed"
            )
        correction = known.corrections.get(way, 1.0)
        choices.append(Choice(way, known.step_s[way], way is best, why, known.model_s[way], correction))
    return JobPlan(tuple(choices))


def _why_plain(gains: bool) -> str:
    if not gains:
        return "the job says nothing of what it sums (all_reduce): nothing can be gained for certain"
    return f"no offload gains {_MATTERS:.0%} of a step: the job runs plainly"


def _model(way: Way, job: JobSettings, cluster: Cluster, hosts: Sequence[Host]) -> Callable[[float], float]:
    """Seconds of an all-reduce by its bytes on each rank.

    Raises:
        OfframpError: why this way cannot be taken.
    """
    ranks = sum(host.processes for host in hosts)
    delay_ns = max((route(cluster, a.name, b.name).delay_ns for a in hosts for b in hosts), default=0.0)
    ring = Dimension(Kind.RING, ranks, min(bottleneck_bps(cluster, hosts), 1e15), delay_ns)
    if way in (Way.GLOO, Way.HERMOD):
        return lambda size: _seconds(ring, size)
    if way is Way.SYLVIE:
        if not job.lossy:
            raise OfframpError("the job does not allow loss (lossy)")
        share = job.bits / 32 + 8 / (4 * _SYLVIE_COLUMNS)
        return lambda size: _seconds(ring, size * share)
    if way is Way.THEMIS:
        network = _filled(network_of(cluster), ranks)
        return lambda size: (
            make_plan(network, [Demand(Collective.ALL_REDUCE, max(1, round(size)))], Scheduler.THEMIS_SCF, 16).finish_ps
            / 1e12
        )
    return _in_switch(job, cluster, hosts, delay_ns)


def _in_switch(job: JobSettings, cluster: Cluster, hosts: Sequence[Host], delay_ns: float) -> Callable[[float], float]:
    if len(hosts) < 2:
        raise OfframpError("one rank has its sum already")
    check_links(cluster, hosts)
    for name in roles(cluster, hosts):
        switch = cluster.by_name[name]
        if pages_of(switch, job.segments) < job.pages:  # type: ignore[arg-type]
            need = job.pages * page_bytes(job.segments)
            raise OfframpError(f"{cluster.place(name)}: {name} has not {need} B for the job")
    share = job.segments * _SEGMENT / frame_bytes(job.segments)
    rate = min(link.rate_bps for host in hosts for link in cluster.links_of[host.name][:1])
    up = 1 << (len(hosts) - 1).bit_length()  # the size only names the algorithm's power of two: every rank sends once
    dimension = Dimension(Kind.IN_NETWORK, up, rate, delay_ns, share)
    return lambda size: _seconds(dimension, size)


def _filled(network: Network, ranks: int) -> Network:
    if network.npus != ranks:
        raise OfframpError(f"its dimensions are for {network.npus} ranks, the job has {ranks}")
    return network


def _seconds(dimension: Dimension, size: float) -> float:
    fixed, transfer = dimension.fixed_ps(Collective.ALL_REDUCE), dimension.transfer_ps(Collective.ALL_REDUCE, size)
    return (fixed + transfer) / 1e12
