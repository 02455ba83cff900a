"""How fast a switch runs packets in this process."""

from __future__ import annotations

import time
from dataclasses import dataclass

from offramp.wire.batch import PacketBatch
from offramp_sim.p4.native.bench.workloads import AnySwitch, Workload


@dataclass(frozen=True, slots=True)
class Rate:
    """What was measured.

    Attributes:
        switch: ``native``, ``python`` or ``bmv2``.
        packets, passes, departed: packets in, times that ingress ran, packets out.
        seconds: that it took.
    """

    workload: str
    switch: str
    packets: int
    passes: int
    departed: int
    seconds: float

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


def measure(name: str, switch: AnySwitch, workload: Workload, seconds: float) -> Rate:
    """Run the packets of a workload for about ``seconds``; preparing is not counted."""
    spent = 0.0
    packets = passes = departed = 0
    prepared = False
    while spent < seconds:
        if not (prepared and workload.repeatable):
            switch.reset()
            workload.prepare(switch)
            switch.process(PacketBatch.empty())  # what changes of tables cost is not counted
            prepared = True
        before = switch.stats.packets_in, switch.stats.passes, switch.stats.packets_out
        for batch in workload.batches:
            start = time.perf_counter()
            switch.process(batch)
            spent += time.perf_counter() - start
            if spent >= seconds:
                break
        stats = switch.stats
        packets += stats.packets_in - before[0]
        passes += stats.passes - before[1]
        departed += stats.packets_out - before[2]
    return Rate(workload.name, name, packets, passes, departed, spent)
