# SPDX-License-Identifier: Apache-2.0
"""Clusters and jobs in YAML: ``machines``, and either ``job`` (GNN training) or ``tasks`` and ``edges`` (any graph).

``cluster: FILE`` in place of ``machines`` names a cluster file (:mod:`offramp.cluster`) beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offramp.cluster import read_cluster
from offramp.dgtp.cluster import Machine, MachineCluster
from offramp.dgtp.job import KINDS, DgtpJob, TaskType
from offramp.dgtp.problem import Problem
from offramp.dgtp.quantity import amount, count
from offramp.dgtp.taskgraph import Edge, Task, TaskGraph
from offramp.dgtp.volume import FlowVolume
from offramp.fabric import Fabric
from offramp_base.arguments import host_name, label
from offramp_base.documents import parse_yaml, read_text
from offramp_base.errors import OfframpError

_MACHINE_FIELDS = {"name", "count", "network", "in", "out", "speed", "address"}
_BYTES = ("memory",)
MOST_MACHINES = 1024


@dataclass(frozen=True, slots=True)
class PlacementSetup:
    """A placement problem, and the number of iterations that the job will train."""

    name: str
    problem: Problem
    iterations: int


def read_setup(path: Path) -> PlacementSetup:
    """A setup from a file.

    Raises:
        OfframpError: the file cannot be read or says what cannot be; names the file and the field.
    """
    try:
        return parse_setup(read_text(path), path.stem, path.parent)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None


def parse_setup(text: str, name: str = "setup", folder: Path = Path()) -> PlacementSetup:
    """A setup from the text of a file; ``folder`` is where a cluster file of a relative name is.

    Raises:
        OfframpError: names the field.
    """
    fields = _mapping(parse_yaml(text), "file", {"machines", "cluster", "job", "tasks", "edges", "iterations"})
    if ("machines" in fields) == ("cluster" in fields):
        raise OfframpError("file: expected either machines, or cluster")
    if "cluster" in fields:
        cluster = cluster_of(folder / str(fields["cluster"]))
    else:
        cluster = MachineCluster(tuple(_machines(fields["machines"])))
    if ("job" in fields) == ("tasks" in fields):
        raise OfframpError("file: expected either job, or tasks and edges")
    if "job" in fields:
        job = _job(fields["job"])
        return PlacementSetup(name, Problem(job.graph(len(cluster)), cluster), job.iterations)
    graph = _graph(fields, [machine.name for machine in cluster.machines])
    return PlacementSetup(name, Problem(graph, cluster), count(fields.get("iterations", 100), "iterations", 1))


def cluster_of(path: Path) -> MachineCluster:
    """The machines of a cluster file: cores as ``cpu``, GPUs as ``gpu``, and the rate of all links of a host.

    Raises:
        OfframpError: a fault in the file, or a host without links; names file and line.
    """
    whole = read_cluster(path)
    rates = Fabric(whole).at(0.0).host_bps.tolist()
    machines = []
    for host, rate in zip(whole.hosts, rates, strict=True):
        if not rate:
            raise OfframpError(f"{whole.place(host.name)}: {host.name}: expected a link, which says its rate")
        capacity = {"cpu": float(host.cores), "gpu": float(host.gpus)}
        if host.memory is not None:
            capacity["memory"] = float(host.memory)
        machines.append(Machine(host.name, capacity, rate, rate, dict.fromkeys(KINDS, host.speed), host.where))
    return MachineCluster(tuple(machines))


def _mapping(value: object, where: str, known: set[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise OfframpError(f"{where}: expected fields by name")
    unknown = set(value) - known if known is not None else set()
    if unknown and known is not None:
        raise OfframpError(f"{where}: {min(unknown)}: expected one of {', '.join(sorted(known))}")
    return value


def _sequence(value: object, where: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise OfframpError(f"{where}: expected a list")
    return value


def _resources(fields: Mapping[str, Any], where: str) -> dict[str, float]:
    return {name: amount(value, f"{where}.{name}", "B" if name in _BYTES else "") for name, value in fields.items()}


def _machines(value: object) -> list[Machine]:
    machines: list[Machine] = []
    for i, entry in enumerate(_sequence(value, "machines")):
        where = f"machines[{i}]"
        fields = _mapping(entry, where)
        if "name" not in fields:
            raise OfframpError(f"{where}: expected a name")
        copies = count(fields.get("count", 1), f"{where}.count", 1)
        if len(machines) + copies > MOST_MACHINES:
            raise OfframpError(f"{where}.count: {copies}: expected at most {MOST_MACHINES} machines in all")
        for k in range(copies):
            name = _text(f"{fields['name']}{'' if copies == 1 else k}", f"{where}.name", label)
            address = _text(str(fields.get("address", name)), f"{where}.address", host_name)
            machines.append(_machine(fields, where, name, address))
    return machines


def _text(text: str, where: str, kind: Callable[[str], str]) -> str:
    """A text that scripts of a launcher contain."""
    try:
        return kind(text)
    except ValueError as error:
        raise OfframpError(f"{where}: {text[:60]}: {error}") from None


def _machine(fields: Mapping[str, Any], where: str, name: str, address: str) -> Machine:
    speeds = fields.get("network")
    bandwidth = []
    for way in ("in", "out"):
        rates = fields.get(way, speeds)
        if rates is None:
            raise OfframpError(f"{where}: expected network, or in and out, such as 10Gbps")
        bandwidth.append(amount(rates, f"{where}.{way if way in fields else 'network'}", "bps"))
    speed = fields.get("speed", {})
    if isinstance(speed, dict):
        faster = {kind: amount(f, f"{where}.speed.{kind}") for kind, f in _mapping(speed, f"{where}.speed").items()}
    else:
        faster = dict.fromkeys(KINDS, amount(speed, f"{where}.speed"))
    capacity = _resources({k: v for k, v in fields.items() if k not in _MACHINE_FIELDS}, where)
    return Machine(name, capacity, bandwidth[0], bandwidth[1], faster, address)


def _volume(value: object, where: str) -> FlowVolume:
    if not isinstance(value, dict):
        return FlowVolume(amount(value, where, "B"))
    fields = _mapping(value, where, {"mean", "spread", "samples"})
    if "samples" in fields:
        samples = _sequence(fields["samples"], f"{where}.samples")
        return FlowVolume.measured([amount(s, f"{where}.samples", "B") for s in samples])
    if "mean" not in fields:
        raise OfframpError(f"{where}: expected mean or samples")
    return FlowVolume(amount(fields["mean"], f"{where}.mean", "B"), amount(fields.get("spread", 0), f"{where}.spread"))


def _kind(value: object, where: str, known: set[str]) -> TaskType:
    fields = _mapping({} if value is None else value, where)
    demand = {name: v for name, v in fields.items() if name not in known | {"seconds"}}
    return TaskType(amount(fields.get("seconds", 0), f"{where}.seconds"), _resources(demand, where))


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise OfframpError(f"{where}: {value}: expected true or false")
    return value


def _job(value: object) -> DgtpJob:
    known = {"sync", "iterations", "gathered", "subgraph", "model", "shares", "ring_order", "pipelined", *KINDS}
    fields = _mapping(value, "job", known)
    for needed in ("worker", "gathered", "subgraph", "model"):
        if needed not in fields:
            raise OfframpError(f"job: expected {needed}")
    kinds = {kind: _kind(fields.get(kind), f"job.{kind}", {"count", "each"}) for kind in KINDS}
    own = {kind: _mapping(fields.get(kind) or {}, f"job.{kind}") for kind in KINDS}
    each = own["sampler"].get("each", 1)
    shares, order = fields.get("shares"), fields.get("ring_order")
    return DgtpJob(
        workers=count(own["worker"].get("count", 1), "job.worker.count", 1),
        samplers=tuple(count(n, "job.sampler.each", 1) for n in each)
        if isinstance(each, list)
        else count(each, "job.sampler.each", 1),
        sync=str(fields.get("sync", "ps")),
        gathered=_volume(fields["gathered"], "job.gathered"),
        subgraph=_volume(fields["subgraph"], "job.subgraph"),
        model_bytes=amount(fields["model"], "job.model", "B"),
        servers=count(own["ps"].get("count", 1), "job.ps.count", 1),
        iterations=count(fields.get("iterations", 100), "job.iterations", 1),
        shares=None if shares is None else tuple(amount(s, "job.shares") for s in _sequence(shares, "job.shares")),
        ring_order=None
        if order is None
        else tuple(count(w, "job.ring_order") for w in _sequence(order, "job.ring_order")),
        store=kinds["store"],
        sampler=kinds["sampler"],
        worker=kinds["worker"],
        ps=kinds["ps"],
        ring=kinds["ring"],
        pipelined=_flag(fields.get("pipelined", True), "job.pipelined"),
    )


def _graph(fields: Mapping[str, Any], machines: list[str]) -> TaskGraph:
    tasks: list[Task] = []
    names: dict[str, int] = {}
    own = {"name", "kind", "home", "with"}
    for i, entry in enumerate(_sequence(fields["tasks"], "tasks")):
        where = f"tasks[{i}]"
        task = _mapping(entry, where)
        name = str(task.get("name", f"task {i}"))
        if name in names:
            raise OfframpError(f"{where}: two tasks are called {name}")
        kind = _kind(task, where, own)
        home, follows = task.get("home"), task.get("with")
        if home is not None and home not in machines:
            raise OfframpError(f"{where}.home: {home}: expected one of {', '.join(machines)}")
        if follows is not None and (not isinstance(follows, str) or follows not in names):
            raise OfframpError(f"{where}.with: {follows}: expected a task that stands before it")
        tasks.append(
            Task(
                name,
                str(task.get("kind", "task")),
                kind.seconds,
                kind.demand,
                None if home is None else machines.index(home),
                None if follows is None else names[follows],
            )
        )
        names[name] = i
    edges = []
    for i, entry in enumerate(_sequence(fields.get("edges", []), "edges")):
        where = f"edges[{i}]"
        edge = _mapping(entry, where, {"from", "to", "bytes", "lag"})
        for end in ("from", "to"):
            if not isinstance(edge.get(end), str) or edge[end] not in names:
                raise OfframpError(f"{where}.{end}: {edge.get(end)}: expected the name of a task")
        volume = _volume(edge["bytes"], f"{where}.bytes") if "bytes" in edge else None
        edges.append(Edge(names[edge["from"]], names[edge["to"]], volume, count(edge.get("lag", 0), f"{where}.lag")))
    return TaskGraph(tuple(tasks), tuple(edges))
