# SPDX-License-Identifier: Apache-2.0
"""From logical to physical: every step of every request type on every dataflow, and the table of T and tolls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from offramp.leo.config.models import (
    ANYWHERE,
    PROFILE,
    Compute,
    Config,
    Functions,
    NodeType,
    PathType,
    PhysicalLink,
    RequestPath,
    RequestType,
    links_of,
)
from offramp.leo.config.topology import Hop, HostGraph
from offramp.leo.selection.steps import DELAY, NETWORK, PathStep, Routes
from offramp_base.errors import OfframpError

_BIT_NS = 8.0


@dataclass(frozen=True, slots=True)
class SelectorRoute:
    """A choice of the selector: round trips in order, each a path over these accelerators."""

    name: str
    trips: tuple[RequestPath, ...]
    accelerators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionWork:
    """One function that a round trip calls.

    Attributes:
        trip: index of the round trip.
        end: requester or responder.
        device: name of the node.
        function: name of the function, where the application gives one.
        time_ns: time that it takes.
    """

    trip: int
    end: str
    device: str
    function: str | None
    time_ns: float


@dataclass(frozen=True, eq=False)
class Resolved:
    """An application on a host model, ready for selector, runtime and simulator.

    Attributes:
        config: the configuration that was resolved.
        flows: the selector's paths.
        routes: steps, and the table of T and tolls.
        work: functions by request type and index of the flow.
        topology: graph of either host.
    """

    config: Config
    topology: HostGraph
    flows: tuple[SelectorRoute, ...]
    routes: Routes
    work: Mapping[tuple[str, int], tuple[FunctionWork, ...]]


def resolve(config: Config, *, guess: bool = False) -> Resolved:
    """Resolve the physical links, times and sizes of every dataflow.

    Args:
        config: a checked configuration.
        guess: use 0 for numbers that have yet to be measured.

    Raises:
        OfframpError: a dataflow crosses a link that the host lacks, a device on it has no compute time or no function,
            a message or table is larger than a device's memory, or a number has yet to be measured.
    """
    topology = HostGraph(config)
    builder = _ResourceBuilder(config, topology, guess)
    builder.check_memory()
    flows: dict[tuple[str, tuple[str, ...]], SelectorRoute] = {}
    steps: dict[tuple[str, tuple[str, tuple[str, ...]]], list[PathStep]] = {}
    work: dict[tuple[str, tuple[str, tuple[str, ...]]], tuple[FunctionWork, ...]] = {}
    for name, request in config.application.requests.items():
        for i, ids in enumerate(request.dataflows):
            for flow in _variants(config, topology, name, i, ids):
                key = ("+".join(ids), flow.accelerators)
                flows.setdefault(key, flow)
                walk = _RequestWalk(builder, name, request, i)
                steps[name, key] = [
                    step for trip, path in enumerate(flow.trips) for step in walk.trip(trip, path, flow)
                ]
                work[name, key] = tuple(walk.work)
    names = [*config.application.requests]
    table = [[steps.get((name, key)) for key in flows] for name in names]
    resources = builder.resources
    routes = Routes(
        tuple(names),
        tuple(flow.name for flow in flows.values()),
        tuple(resources),
        table,
        tuple(config.application.requests[name].dependency for name in names),
        tuple(capacity for _, capacity in resources.values()),
        tuple(config.application.requests[name].reads for name in names),
    )
    index = {key: i for i, key in enumerate(flows)}
    return Resolved(config, topology, tuple(flows.values()), routes, {(n, index[k]): w for (n, k), w in work.items()})


def _variants(config: Config, topology: HostGraph, name: str, index: int, ids: list[str]) -> Iterator[SelectorRoute]:
    """One flow, or one for each accelerator where its paths leave the accelerator open."""
    known = {path.id: path for path in config.paths}
    trips = tuple(known[i] for i in ids)
    named = next((tuple(path.accelerators) for path in trips if path.accelerators), None)
    place = ("requests", name, "dataflows", index)
    for accelerator in named or ():
        if accelerator not in topology.accelerators:
            choice = ", ".join(topology.accelerators) or "none"
            raise config.error("application", place, f"{accelerator}: no such accelerator; expected one of {choice}")
    if all(path.type is PathType.CPU_CPU for path in trips):
        yield SelectorRoute("+".join(ids), trips, ())
    elif named is not None:
        yield SelectorRoute("+".join(ids), trips, named)
    elif len(topology.accelerators) <= 1:
        yield SelectorRoute("+".join(ids), trips, tuple(topology.accelerators))
    else:
        for accelerator in topology.accelerators:
            yield SelectorRoute(f"{'+'.join(ids)}@{accelerator}", trips, (accelerator,))


@dataclass
class _ResourceBuilder:
    """Resources in order of first use: links by direction, and nodes, of each end."""

    config: Config
    topology: HostGraph
    guess: bool
    resources: dict[str, tuple[int, int]] = field(default_factory=dict)

    def resource(self, name: str, capacity: int = 1) -> int:
        """Index of a resource, which is added if it is new."""
        return self.resources.setdefault(name, (len(self.resources), capacity))[0]

    def check_memory(self) -> None:
        """Check that tables fit into the devices' memory."""
        for device, size in self.config.application.memory.items():
            for name in self.nodes(device):
                room = self.topology.hardware.nodes[name].memory
                if room is not None and size > room:
                    problem = f"{size} B, but {name} has {room} B"
                    raise self.config.error("application", ("memory", device), problem)
            if not self.nodes(device):
                problem = f"{device}: no such device; expected cpu, acc or a node"
                raise self.config.error("application", ("memory", device), problem)

    def nodes(self, device: str) -> list[str]:
        """Nodes with a name or a role."""
        if device == "acc":
            return self.topology.accelerators
        if device == "cpu":
            return [self.topology.cpu]
        return [device] if device in self.topology.hardware.nodes else []

    def cross(self, end: str, hop: Hop, size: int) -> Iterator[PathStep]:
        """Steps of a message over a link: its transmission time, then the latency."""
        bw, mps, latency = self._measured(hop.link)
        busy = max(size * _BIT_NS / bw if bw else 0.0, 1e9 / mps if mps else 0.0)
        what = f"{end}.{hop.link.id}"
        if busy:
            yield PathStep(self.resource(f"{what} {hop.source}>{hop.target}"), busy, f"{what}: {size} B")
        if latency:
            yield PathStep(DELAY, latency, what)

    def _measured(self, link: PhysicalLink) -> tuple[float, float | None, float]:
        profile = self.config.profile.links.get(link.id) if self.config.profile else None
        values = []
        for name in ("bw_gbps", "mps", "latency_ns"):
            value = getattr(link, name)
            if value == PROFILE:
                if profile is None and not self.guess:
                    place = ("links", self.topology.hardware.links.index(link), name)
                    raise self.config.error("hardware", place, "has yet to be measured: offramp leo profile")
                value = getattr(profile, name) if profile else 0.0
            values.append(value)
        return values[0], values[1], values[2]


@dataclass
class _RequestWalk:
    """One request type on one dataflow."""

    builder: _ResourceBuilder
    name: str
    request: RequestType
    index: int
    work: list[FunctionWork] = field(default_factory=list)

    def trip(self, trip: int, path: RequestPath, flow: SelectorRoute) -> Iterator[PathStep]:
        """Steps of a round trip, there and back."""
        requester, responder = links_of(path)
        ends = [word[0] for word in path.type.value.split("-")]
        for logical in requester:
            if logical[0] == ends[0]:
                yield from self._devices(trip, "requester", ends[0], flow)
            yield from self._cross("requester", path, logical, "req", flow)
        yield PathStep(NETWORK, 1.0, "network")
        for logical in responder:
            yield from self._cross("responder", path, logical, "req", flow)
            if logical[1] == ends[1]:
                yield from self._devices(trip, "responder", ends[1], flow)
        for logical in reversed(responder):
            yield from self._cross("responder", path, logical, "resp", flow)
        for logical in reversed(requester):
            yield from self._cross("requester", path, logical, "resp", flow)

    def _cross(self, end: str, path: RequestPath, logical: str, way: str, flow: SelectorRoute) -> Iterator[PathStep]:
        topology = self.builder.topology
        # Between CPU and a chain the first accelerator counts, between the chain and the NIC the last at the
        # requester, the first at the responder, which is where a chain begins.
        accelerator = (
            (flow.accelerators[-1] if logical[0] == "A" else flow.accelerators[0]) if flow.accelerators else None
        )
        hops = topology.route(logical, accelerator)
        if hops is None:
            model = f"{topology.hardware.name} ({topology.hardware.model})"
            raise self._error(("dataflows", self.index), f"path {path.id} crosses {logical}, which {model} lacks")
        sizes: Mapping[str, int] = getattr(self.request.size[path.id], way)
        size = sizes.get(logical, sizes.get(ANYWHERE, 0))
        self._check_size(path, way, hops, size)
        for hop in hops if way == "req" else [h.back for h in reversed(hops)]:
            yield from self.builder.cross(end, hop, size)

    def _check_size(self, path: RequestPath, way: str, hops: list[Hop], size: int) -> None:
        nodes = self.builder.topology.hardware.nodes
        for device in (hops[0].source, hops[-1].target):
            room = nodes[device].memory
            if room is not None and size > room and nodes[device].kind is not NodeType.RNIC:
                raise self._error(("size", path.id, way), f"{size} B, but {device} has {room} B")

    def _devices(self, trip: int, end: str, letter: str, flow: SelectorRoute) -> Iterator[PathStep]:
        """Steps of the work on the CPU, or on one accelerator after the other."""
        topology = self.builder.topology
        devices = [topology.cpu] if letter == "C" else list(flow.accelerators)
        for i, device in enumerate(devices):
            if i:
                for hop in topology.shortest(devices[i - 1], device) or ():
                    yield from self.builder.cross(end, hop, 0)
            time = self._time(trip, end, device)
            self.work.append(FunctionWork(trip, end, device, self._function(trip, end, device, time), time))
            if time:
                node = topology.hardware.nodes[device]
                yield PathStep(
                    self.builder.resource(f"{end}.{device}", node.parallelism), time, f"{end}.{device}: compute"
                )

    def _roles(self, device: str) -> tuple[str, str]:
        return device, "cpu" if device == self.builder.topology.cpu else "acc"

    def _time(self, trip: int, end: str, device: str) -> float:
        config = self.builder.config
        given = self.request.compute_us
        value = self._find(given[min(trip, len(given) - 1)], end, device)
        if value == PROFILE:
            profiled = config.profile.compute_us.get(config.application.name, {}) if config.profile else {}
            measured = profiled.get(self.name)
            value = self._find(measured[min(trip, len(measured) - 1)], end, device) if measured else None
            if value is None and not self.builder.guess:
                raise self._error(("compute_us",), f"{device}: has yet to be measured: offramp leo profile")
            value = value or 0.0
        if value is None:
            if end == "requester" and device == self.builder.topology.cpu:
                return 0.0
            raise self._error(
                ("compute_us",), f"expected the time on {' or '.join(dict.fromkeys(self._roles(device)))}"
            )
        return float(value) * 1e3 / self.builder.topology.hardware.nodes[device].speed

    def _find(self, given: Compute, end: str, device: str) -> float | str | None:
        own = getattr(given, end)
        for role in self._roles(device):
            if role in own:
                return own[role]  # type: ignore[no-any-return]
        if own or (end == "requester" and device == self.builder.topology.cpu):
            return None
        return next((given.anywhere[r] for r in self._roles(device) if r in given.anywhere), None)

    def _function(self, trip: int, end: str, device: str, time: float) -> str | None:
        given: list[Functions] = self.request.functions
        if not given or not time:
            return None
        chosen = given[min(trip, len(given) - 1)]
        names = getattr(chosen, end) or chosen.anywhere
        for role in self._roles(device):
            if role in names:
                return str(names[role])
        role = self._roles(device)[1]
        raise self._error(
            ("functions",), f"expected a function for {role}, where {device} works on round trip {trip + 1}"
        )

    def _error(self, place: tuple[str | int, ...], problem: str) -> OfframpError:
        return self.builder.config.error("application", ("requests", self.name, *place), problem)
