# SPDX-License-Identifier: Apache-2.0
"""The switch of an experiment: a thread in its own namespace, with the plan written over P4Runtime."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.p4 import switch_plan as deployed_plan
from offramp.hermod.endhost.priorities import Priorities
from offramp.hermod.switch.control import HermodControl
from offramp.hermod.switch.entries import SwitchPlan
from offramp.p4src import p4_source
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_p4.paced import PacedSwitch
from offramp_p4.serve import RunningSwitch, build
from offramp_p4.settings import Settings
from offramp_p4.tm import QueueConfig, TmConfig
from offramp_sim.hermod.lab.addresses import INTERFACE, mac
from offramp_sim.hermod.lab.namespace import enter_new, veth
from offramp_sim.hermod.lab.scenario import LabScenario

_QUEUE_PACKETS: Final = 256
_STARTS_S: Final = 60.0
_SETTLED_S: Final = 0.1
_PORTS: Final = logging.getLogger("offramp_p4.ports.interface")


def switch_plan(scenario: LabScenario, priorities: Priorities) -> SwitchPlan:
    """The queues of the job's plan as deployed, or one queue for all; and the ports of the ranks."""
    hosts, ports = {mac(rank): rank for rank in range(scenario.ranks)}, range(ports_of(scenario))
    plan = priorities.plan
    if plan is None:
        return SwitchPlan({}, 0, 0, hosts=hosts, ports=ports)
    if scenario.abuse is None or not scenario.abuse.guarded:
        return deployed_plan(plan, ports, hosts)
    limits = LineLimits(
        scenario.rate_bps, lowest=0
    )  # the traffic manager keeps the lowest queue's share: it drops nothing
    return deployed_plan(plan, ports, hosts, members=range(scenario.ranks), limits=limits)


def ports_of(scenario: LabScenario) -> int:
    """Ports of the switch: one for each rank, and one for an outsider with a port of its own."""
    return scenario.ranks + (scenario.abuse is not None and not scenario.abuse.member)


class LabSwitch:
    """``p4/hermod/v1model.p4`` with a port for each rank; a context manager.

    Args:
        scenario: gives rates and queues.
        priorities: priorities of the plan.
        folder: folder for the socket of its P4Runtime server.
    """

    def __init__(self, scenario: LabScenario, priorities: Priorities, folder: Path) -> None:
        self._scenario, self._priorities = scenario, priorities
        self._ports = ports_of(scenario)
        self._address = f"unix:{folder / 'p4runtime'}"
        self._threads: queue.SimpleQueue[dict[int, int] | None] = queue.SimpleQueue()
        self._running: Future[RunningSwitch] = Future()
        self._session: Session | None = None
        self._control: HermodControl | None = None
        self._known: dict[int, int] = {}
        self._thread = threading.Thread(target=self._serve, name="switch", daemon=True)

    def __enter__(self) -> Self:
        _PORTS.setLevel(logging.ERROR)  # ranks that end take their interfaces along
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._threads.put(None)
        if self._session is not None:
            self._session.close()
        if len(self._known) == self._ports:
            with contextlib.suppress(OfframpError):
                self._running.result().stop()
        self._thread.join()
        _PORTS.setLevel(logging.NOTSET)

    def connect(self, rank: int, thread: int) -> bool:
        """Connect a rank, whose namespace is that of a thread; the last one starts the switch, which works on return.

        Raises:
            OfframpError: the switch does not start.
        """
        self._known[rank] = thread
        if len(self._known) < self._ports:
            return False
        self._threads.put(dict(self._known))
        self._running.result(_STARTS_S)
        self._session = Session(self._address).__enter__()
        self._control = HermodControl(self._session)
        plan = switch_plan(self._scenario, self._priorities)
        self._control.write(self._control.wanted(plan), self._control.read())
        return True

    def counters(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Packets and bytes that have left, by port and queue, as the program counts them, once nothing more leaves."""
        assert self._control is not None
        ports = range(self._ports)
        last, counts = None, self._control.sent(ports)
        while counts != last:
            time.sleep(_SETTLED_S)
            last, counts = counts, self._control.sent(ports)
        return counts

    def demoted(self) -> int:
        """Packets that were treated as best effort, regardless of their DSCP."""
        assert self._control is not None
        policed = self._control.policed(range(self._ports)).values()
        return sum(packets for packets, _ in [*self._control.strangers().values(), *policed])

    def queues(self) -> list[dict[str, int]]:
        """Counts of the traffic manager's queues."""
        pipeline = self._running.result().device.pipeline
        assert pipeline is not None
        switch: Any = pipeline.switch
        assert isinstance(switch, PacedSwitch)
        rows = []
        for port, number, q in switch.queued.tm.queues():
            stats = q.stats
            if port >= 0 and stats.enqueued:
                counts = {"sent": stats.dequeued, "dropped": stats.dropped, "peak_packets": stats.peak_packets}
                rows.append({"port": port, "queue": number, **counts})
        return rows

    def _serve(self) -> None:
        try:
            enter_new()
            threads = self._threads.get()
            if threads is None:
                return
            for rank, thread in sorted(threads.items()):
                veth(f"port{rank}", INTERFACE, thread)
            running = build(self._settings())
        except BaseException as error:
            self._running.set_exception(error if isinstance(error, OfframpError) else OfframpError(f"switch: {error}"))
            return
        self._running.set_result(running)
        running.forward()

    def _settings(self) -> Settings:
        scenario = self._scenario
        limits = QueueConfig(limit_packets=_QUEUE_PACKETS)
        abuse = scenario.abuse
        shares = {0: abuse.lowest_percent} if abuse is not None and abuse.guarded else None
        return Settings(
            program=str(p4_source("hermod/v1model.p4")),
            ports={rank: f"af_packet:port{rank}" for rank in range(self._ports)},
            address=self._address,
            tm=TmConfig.uniform(queues=scenario.queues, rate_bps=scenario.rate_bps, shares=shares, queue=limits),
        )
