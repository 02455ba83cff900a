"""Timing of the engines in this process: whole batches in, whole batches out, no interfaces."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from offramp_sim.p4.switch import Switch

if TYPE_CHECKING:
    from offramp_sim.p4.bench.workload import Workload


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured. ``passes`` counts recirculations and resubmissions; ``load_s`` is the time to compile."""

    engine: str
    packets: int
    passes: int
    seconds: float
    load_s: float

    @property
    def packets_per_s(self) -> float:
        """Packets that arrived, a second."""
        return self.packets / self.seconds

    @property
    def passes_per_s(self) -> float:
        """Passes through ingress, a second."""
        return self.passes / self.seconds

    @property
    def ns_per_pass(self) -> float:
        """Nanoseconds of one pass."""
        return 1e9 * self.seconds / self.passes

    def to_json(self) -> dict[str, float | str]:
        """The fields and what follows from them."""
        made: dict[str, float | str] = {"engine": self.engine, "packets": self.packets, "passes": self.passes}
        made |= {"seconds": self.seconds, "load_s": self.load_s, "packets_per_s": self.packets_per_s}
        return made | {"passes_per_s": self.passes_per_s, "ns_per_pass": self.ns_per_pass}


def _native(program: Any) -> Any:
    from offramp_sim.p4.native import NativeSwitch

    return NativeSwitch(program)


ENGINES: Final[dict[str, Callable[[Any], Any]]] = {"python": Switch, "native": _native}


def measure(workload: Workload, engine: str, seconds: float) -> Result:
    """Run the workload again and again, each time from a fresh start, for about so long; the fastest run counts.

    Raises:
        OfframpError: the engine does not run here, or does not execute the program.
    """
    started = time.perf_counter()
    switch = ENGINES[engine](workload.program)
    load_s = time.perf_counter() - started
    best: tuple[float, int] | None = None
    end = time.perf_counter() + seconds
    while best is None or time.perf_counter() < end:
        switch.reset()
        workload.setup(switch)
        for batch in workload.batches[: workload.warm_up]:
            switch.process(batch)
        before = switch.stats.passes
        started = time.perf_counter()
        for batch in workload.batches[workload.warm_up :]:
            switch.process(batch)
        took = time.perf_counter() - started
        if best is None or took < best[0]:
            best = took, switch.stats.passes - before
    return Result(engine, workload.packets, best[1], best[0], load_s)
