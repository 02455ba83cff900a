"""How fast an engine runs packets in this process: whole batches in, whole batches out, no interfaces."""

from __future__ import annotations

import time
from dataclasses import dataclass

from offramp.wire.batch import PacketBatch
from offramp_sim.p4.bench.workload import Workload
from offramp_sim.p4.engines import AnySwitch, make_switch


@dataclass(frozen=True, slots=True)
class Rate:
    """What was measured.

    Attributes:
        switch: ``native``, ``python`` or ``bmv2``.
        links: ``memory``, or ``veth`` for packets through interfaces.
        packets, passes: packets in, times that ingress ran (recirculation and resubmission count).
        seconds: that it took.
        load_s: to compile the program; None where that is not known.
    """

    workload: str
    switch: str
    links: str
    packets: int
    passes: int
    seconds: float
    load_s: float | None = None

    @property
    def packets_per_s(self) -> float:
        """Packets in."""
        return self.packets / self.seconds

    @property
    def passes_per_s(self) -> float:
        """Passes of ingress; the same as packets for programs that never recirculate."""
        return self.passes / self.seconds

    @property
    def ns_per_pass(self) -> float:
        """Time for each pass."""
        return 1e9 * self.seconds / self.passes

    def to_json(self) -> dict[str, float | str | None]:
        """The fields and what follows from them."""
        made: dict[str, float | str | None] = {name: getattr(self, name) for name in self.__slots__}
        for name in ("packets_per_s", "passes_per_s", "ns_per_pass"):
            made[name] = getattr(self, name)
        return made


def measure(workload: Workload, engine: str, seconds: float) -> Rate:
    """Run the packets of a workload for about ``seconds``; preparing is not counted.

    Raises:
        OfframpError: the engine does not run here, or does not execute the program.
    """
    program = workload.program
    started = time.perf_counter()
    switch = make_switch(program, engine=engine)
    load_s = time.perf_counter() - started
    spent = 0.0
    packets = passes = 0
    prepared = False
    while not packets or spent < seconds:
        if not (prepared and workload.repeatable):
            fresh(switch, workload)
            prepared = True
        before = switch.stats.packets_in, switch.stats.passes
        for batch in workload.batches:
            start = time.perf_counter()
            switch.process(batch)
            spent += time.perf_counter() - start
            if spent >= seconds:
                break
        packets += switch.stats.packets_in - before[0]
        passes += switch.stats.passes - before[1]
    return Rate(workload.name, engine, "memory", packets, passes, spent, load_s)


def fresh(switch: AnySwitch, workload: Workload) -> None:
    """Bring a switch to where the workload begins; what changes of tables cost is over afterwards."""
    switch.reset()
    workload.prepare(switch)
    switch.process(PacketBatch.empty())
