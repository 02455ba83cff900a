# SPDX-License-Identifier: Apache-2.0
"""The rate of an engine in this process: whole batches in, whole batches out, no interfaces."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.engines import AnySwitch, make_switch
from offramp_p4.optimising import OptimiseWhen

SHARES: Final = 4
"""Parts of a measurement; the fastest counts: other work on the machine only ever makes a part slower."""
_WITH_SET_UP: Final = 3
"""Times as long as packets may run altogether."""


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """A measured rate of a switch under a workload.

    Attributes:
        switch: ``native``, ``python`` or ``bmv2``.
        links: ``memory``, or ``veth`` for packets through interfaces.
        packets, passes: packets in, times that ingress ran (recirculation and resubmission count).
        seconds: seconds that the packets took.
        load_s: time to compile the program, seconds; None where that is not known.
        kernel: share of the switch's processor time that it spent in the kernel; None where that is not known.
    """

    workload: str
    switch: str
    links: str
    packets: int
    passes: int
    seconds: float
    load_s: float | None = None
    kernel: float | None = None

    @property
    def packets_per_s(self) -> float:
        """Packets that entered, per second."""
        return self.packets / self.seconds

    @property
    def passes_per_s(self) -> float:
        """Passes of ingress per second; equal to packets for programs that never recirculate."""
        return self.passes / self.seconds

    @property
    def ns_per_pass(self) -> float:
        """Time for each pass."""
        return 1e9 * self.seconds / self.passes

    def to_json(self) -> dict[str, float | str | None]:
        """The fields, and the rates that follow from them."""
        fields: dict[str, float | str | None] = {name: getattr(self, name) for name in self.__slots__}
        for name in ("packets_per_s", "passes_per_s", "ns_per_pass"):
            fields[name] = getattr(self, name)
        return fields


def measure(workload: SwitchWorkload, engine: str, seconds: float) -> MeasuredRate:
    """Run the packets of a workload for about ``seconds``; of its quarters, the one that went fastest counts.

    Where the switch must be set up anew for each run, and that takes longer, runs end after three times ``seconds``.

    Raises:
        OfframpError: the engine does not run here, or does not execute the program.
    """
    program = workload.program
    started = time.perf_counter()
    switch = make_switch(program, engine=engine, optimise=OptimiseWhen.AT_ONCE)
    load_s = time.perf_counter() - started
    best: MeasuredRate | None = None
    spent = 0.0
    prepared = False
    while best is None or (spent < seconds and time.perf_counter() - started < _WITH_SET_UP * seconds):
        if not (prepared and workload.repeatable):
            fresh(switch, workload)
            prepared = True
        for share in _shares(workload):
            before = switch.stats.packets_in, switch.stats.passes
            start = time.perf_counter()
            for batch in share:
                switch.process(batch)
            took = time.perf_counter() - start
            spent += took
            packets, passes = switch.stats.packets_in - before[0], switch.stats.passes - before[1]
            rate = MeasuredRate(workload.name, engine, "memory", packets, passes, took, load_s)
            if passes and (best is None or rate.ns_per_pass < best.ns_per_pass):
                best = rate
            if spent >= seconds and best is not None:
                break
    return best


def _shares(workload: SwitchWorkload) -> list[list[PacketBatch]]:
    """The batches in at most :data:`SHARES` runs of equal numbers of batches."""
    size = -(-len(workload.batches) // SHARES)
    return [workload.batches[at : at + size] for at in range(0, len(workload.batches), size)]


def fresh(switch: AnySwitch, workload: SwitchWorkload) -> None:
    """Reset a switch to the start of the workload; the costs of changing tables are paid before this returns."""
    switch.reset()
    workload.prepare(switch)
    switch.process(PacketBatch.empty())
