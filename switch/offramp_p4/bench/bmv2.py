# SPDX-License-Identifier: Apache-2.0
"""bmv2 on the same packets: the time between frames that it writes to a capture file.

Where all packets are alike, the quarter of the frames that left in the shortest time counts, as for our engines.

No interfaces and no logging; packets are read from files as fast as bmv2 takes them, its queues are long enough to
lose none, and what it does before the first frame leaves is not counted. All of this is in its favour.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench.rates import SHARES, MeasuredRate, fresh
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.engines import make_switch
from offramp_p4.reference import run

_GUESS_PPS: Final = 15_000
_QUIET_S: Final = 10.0
"""Longer than until the first sum of many packets leaves."""
LIMIT_S: Final = 25.0
"""A bmv2 that takes longer is given up."""


def measure_bmv2(workload: SwitchWorkload, seconds: float) -> MeasuredRate:
    """Run the first batch of the workload, or all of them again and again if that makes no difference.

    Raises:
        OfframpError: p4c or bmv2 is missing or refuses the program, or its output differs from our engines'.
    """
    like = make_switch(workload.program)
    fresh(like, workload)
    batch = PacketBatch.concatenate(workload.batches if workload.repeatable else workload.batches[:1])
    copies = max(1, round(seconds * _GUESS_PPS / len(batch))) if workload.repeatable else 1
    packets = [(i, port, frame) for i, (port, frame) in enumerate(list(batch) * copies)]
    oracle = make_switch(workload.program)
    fresh(oracle, workload)
    before = oracle.stats.passes
    expected = oracle.process(batch)
    passes = oracle.stats.passes - before
    ports = sorted({*batch.ports.tolist(), *expected.ports.tolist()})
    wanted = Counter({frame: copies * count for frame, count in Counter(expected).items()})
    departures = run(
        workload.source,
        like,
        packets,
        ports,
        include=workload.include,
        defines=workload.defines,
        quiet_s=_QUIET_S,
        limit_s=LIMIT_S,
        expected=(frame for (_, frame), count in wanted.items() for _ in range(count)),
    )
    if Counter((d.port, d.frame) for d in departures) != wanted:
        raise OfframpError(
            f"bmv2: {len(departures)} frames left within {LIMIT_S:g} s, not all as the {wanted.total()} of our engines"
        )
    if len(departures) < 2:
        raise OfframpError("bmv2: fewer than two frames left: there is nothing to time")
    times = np.sort(np.array([d.us for d in departures]))
    shares = SHARES if workload.repeatable else 1  # else not all frames take as many passes
    span = max(1, (len(times) - 1) // shares)
    fastest_us = max(1, int((times[span:] - times[:-span]).min()))
    share = span / len(times)
    return MeasuredRate(
        workload.name, "bmv2", "memory", round(len(packets) * share), round(passes * copies * share), fastest_us / 1e6
    )
