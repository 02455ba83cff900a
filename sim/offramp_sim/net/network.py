# SPDX-License-Identifier: Apache-2.0
"""Nodes, links and the order of events."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError
from offramp_p4.tm.config import TmConfig, check
from offramp_sim.net.host import Handler, NetworkHost
from offramp_sim.net.link import NetworkLink
from offramp_sim.net.node import NetworkNode
from offramp_sim.net.series import DepthSeries
from offramp_sim.net.switch import SwitchNode

if TYPE_CHECKING:
    from offramp_p4 import PlainSwitch

_ARRIVAL: Final = 0
_SERVICE: Final = 1
PS_PER_NS: Final = 1000


class PacketNetwork:
    """An event-driven simulation in integer picoseconds; the same seed gives the same events.

    At one instant arrivals and timers come first, in the order in which they were scheduled; then the queues
    are served. A frame that arrives just when a line becomes free competes for it.

    Attributes:
        now_ps: the time.
        nodes: nodes by name.
        unconnected: frames that left by a port without a link, by node.
        events: that have happened.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.now_ps = 0
        self.nodes: dict[str, NetworkNode] = {}
        self.unconnected: dict[str, int] = {}
        self.events = 0
        self._links: dict[tuple[str, int], tuple[NetworkLink, NetworkNode, int]] = {}
        self._events: list[tuple[int, int, int, Callable[[], object]]] = []
        self._order = count()
        self._service_at: dict[str, int] = {}
        self._series: dict[tuple[str, int, int], DepthSeries] = {}

    def random(self, label: str) -> Random:
        """A separate random generator for each label, so that draws of one part do not affect others."""
        return Random(f"{self.seed}/{label}")

    def add_switch(self, name: str, switch: PlainSwitch, config: TmConfig | None = None) -> SwitchNode:
        """Put a switch of either engine into the network, with a traffic manager (by default one without limits).

        Raises:
            OfframpError: the name is taken.
        """
        node = SwitchNode(name, switch, config or TmConfig())
        self.add_node(node)
        return node

    def add_host(self, name: str, handler: Handler | None = None) -> NetworkHost:
        """Put a host into the network; ``handler`` gets what arrives.

        Raises:
            OfframpError: the name is taken.
        """
        host = NetworkHost(self, name, handler)
        self.add_node(host)
        return host

    def add_node(self, node: NetworkNode) -> None:
        """Put any other node into the network.

        Raises:
            OfframpError: the name is taken.
        """
        if node.name in self.nodes:
            raise OfframpError(f"node {node.name!r} exists already")
        self.nodes[node.name] = node
        self.unconnected[node.name] = 0

    def connect(
        self, a: str, a_port: int, b: str, b_port: int, rate_bps: int, delay_ns: float, loss: float = 0.0
    ) -> tuple[NetworkLink, NetworkLink]:
        """Connect two ports, before anything is sent; returns the links from a to b and from b to a.

        A port that is configured with a lower rate keeps it.

        Raises:
            OfframpError: no such node, a port that is connected already, or a number out of range.
        """
        check("rate_bps", rate_bps)
        check("delay_ns", delay_ns, least=0)
        if not 0 <= loss <= 1:
            raise OfframpError(f"loss is {loss}: expected 0..1")
        for name, port in ((a, a_port), (b, b_port)):
            if name not in self.nodes:
                raise OfframpError(f"no node {name!r}: there are {', '.join(self.nodes) or 'none'}")
            if (name, port) in self._links or (a, a_port) == (b, b_port):
                raise OfframpError(f"port {port} of {name} is connected already")
        return self._link(a, a_port, b, b_port, rate_bps, delay_ns, loss), self._link(
            b, b_port, a, a_port, rate_bps, delay_ns, loss
        )

    def watch(self, name: str, port: int, queue: int = 0) -> DepthSeries:
        """Record the depth of a queue from now on; ask for a queue twice and get the same series.

        Raises:
            OfframpError: no such node.
        """
        if name not in self.nodes:
            raise OfframpError(f"no node {name!r}: there are {', '.join(self.nodes) or 'none'}")

        def observe(now_ps: int, at_port: int, at_queue: int, packets: int, size: int) -> None:
            series = self._series.get((name, at_port, at_queue))
            if series is not None:
                series.add(now_ps, packets, size)

        self.nodes[name].tm.observer = observe
        return self._series.setdefault((name, port, queue), DepthSeries())

    def at(self, time_ps: int, callback: Callable[[], object]) -> None:
        """Call ``callback`` at a time.

        Raises:
            OfframpError: that time has passed.
        """
        if time_ps < self.now_ps:
            raise OfframpError(f"an event at {time_ps} ps: it is {self.now_ps} ps already")
        heappush(self._events, (time_ps, _ARRIVAL, next(self._order), callback))

    def wake(self, node: NetworkNode) -> None:
        """Make sure that a node whose queues have changed is served in time."""
        due_ps = node.next_ps
        if due_ps is None or due_ps >= self._service_at.get(node.name, due_ps + 1):
            return
        self._service_at[node.name] = due_ps
        heappush(self._events, (due_ps, _SERVICE, next(self._order), lambda: self._serve(node, due_ps)))

    def run(self, until_ps: int | None = None) -> int:
        """Let time pass to ``until_ps`` and process everything due by then (None: until nothing is left to do).

        Returns:
            Events that have happened.
        """
        events = self._events
        done = 0
        while events and (until_ps is None or events[0][0] <= until_ps):
            self.now_ps, _, _, act = heappop(events)
            act()
            done += 1
        if until_ps is not None:
            self.now_ps = max(self.now_ps, until_ps)
        self.events += done
        return done

    @property
    def next_ps(self) -> int | None:
        """Time of the next event; None if there is none."""
        return self._events[0][0] if self._events else None

    @property
    def lost(self) -> int:
        """Frames lost on all links."""
        return sum(link.stats.lost for link, _, _ in self._links.values())

    def _link(
        self, a: str, a_port: int, b: str, b_port: int, rate_bps: int, delay_ns: float, loss: float
    ) -> NetworkLink:
        random = self.random(f"link {a} {a_port} {b} {b_port}")
        link = NetworkLink(rate_bps, round(delay_ns * PS_PER_NS), loss, random)
        self._links[a, a_port] = link, self.nodes[b], b_port
        self.nodes[a].tm.limit_rate(a_port, rate_bps)
        return link

    def _serve(self, node: NetworkNode, due_ps: int) -> None:
        if self._service_at.get(node.name) != due_ps:
            return  # something earlier has come up since, and has been seen to
        del self._service_at[node.name]
        for finish_ps, port, frame in node.advance(due_ps):
            self._carry(node, finish_ps, port, frame)
        self.wake(node)

    def _carry(self, node: NetworkNode, finish_ps: int, port: int, frame: bytes) -> None:
        connected = self._links.get((node.name, port))
        if connected is None:
            self.unconnected[node.name] += 1
            return
        link, target, target_port = connected
        arrival_ps = link.carry(finish_ps, frame)
        if arrival_ps is None:
            return

        def arrive() -> None:
            link.stats.delivered += 1
            target.receive(self.now_ps, target_port, frame)
            self.wake(target)

        self.at(arrival_ps, arrive)
