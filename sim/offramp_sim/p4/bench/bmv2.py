"""bmv2 on the same packets: the time between the first and the last frame that it writes to a capture file.

No interfaces and no logging; packets are read from files as fast as bmv2 takes them, its queues are long enough to
lose none, and what it does before the first frame leaves is not counted. All of this is in its favour.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from offramp.errors import OfframpError
from offramp_sim.p4.bench.engines import Result
from offramp_sim.p4.reference import run
from offramp_sim.p4.switch import Switch

if TYPE_CHECKING:
    from offramp_sim.p4.bench.workload import Workload

_SETTLE_US: Final = 200_000


def measure_bmv2(workload: Workload) -> Result:
    """Run the workload's largest batch, and those before it unhurried.

    Raises:
        OfframpError: p4c or bmv2 is missing or refuses the program, or sends something else than our engines do.
    """
    largest = max(range(len(workload.batches)), key=lambda i: len(workload.batches[i]))
    like = Switch(workload.program)
    workload.setup(like)
    batches = workload.batches[: largest + 1]
    packets = [(number * _SETTLE_US, port, frame) for number, batch in enumerate(batches) for port, frame in batch]
    oracle = Switch(workload.program)
    workload.setup(oracle)
    early = [packet for batch in batches[:-1] for packet in oracle.process(batch)]
    before = oracle.stats.passes
    expected = list(oracle.process(batches[-1]))
    ports = sorted({port for port, _ in [*early, *expected]} | {port for _, port, _ in packets})
    departures = run(workload.source, like, packets, ports)
    if Counter((d.port, d.frame) for d in departures) != Counter([*early, *expected]):
        raise OfframpError(
            f"bmv2: {len(departures)} frames left, and not all as the {len(early) + len(expected)} of our engines"
        )
    timed = departures[len(early) :]
    if len(timed) < 2:
        raise OfframpError("bmv2: fewer than two frames left: there is nothing to time")
    seconds = max(timed[-1].us - timed[0].us, 1) / 1e6
    return Result("bmv2", len(batches[-1]), oracle.stats.passes - before, seconds, 0.0)
