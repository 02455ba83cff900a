# SPDX-License-Identifier: Apache-2.0
"""32 lanes of aggregation in TNA against integer sums, with duplicates, in any order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load
from offramp_p4.state import ActionData, Exact, Replica, TableEntry
from offramp_p4.tna.resources import estimate
from tna_programs import make

pytestmark = pytest.mark.p4

PROGRAM = Path(__file__).parent / "programs" / "aggregate.p4"
LANES = 32


def aggregator(workers: int) -> PlainSwitch:
    s = make(load(PROGRAM, defines={"WORKERS": str(workers)}))
    for worker in range(workers):
        s.tables["pipe.Ingress.masks"].insert(
            TableEntry((Exact(worker),), ActionData("Ingress.to_mask", (1 << worker,)))
        )
    s.pre.multicast[1] = tuple(Replica(port, 0) for port in range(workers))
    return s


def chunk(slot: int, worker: int, values: np.ndarray) -> bytes:
    return slot.to_bytes(2, "big") + bytes([worker, 0]) + values.astype(">i4").tobytes()


@pytest.mark.parametrize(("workers", "seed"), [(2, 0), (4, 1), (7, 2)])
def test_every_worker_gets_the_sums_once(workers: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    slots = draw.choice(256, size=12, replace=False)
    values = draw.integers(-(1 << 31), 1 << 31, size=(len(slots), workers, LANES))
    order = draw.permutation([(i, w) for i in range(len(slots)) for w in range(workers)] * 2)
    packets = [(int(w), chunk(int(slots[i]), int(w), values[i, w])) for i, w in order]
    out = aggregator(workers).process(PacketBatch.of(packets))
    assert len(out) == len(slots) * workers
    sums = (values.sum(axis=1) + (1 << 31)) % (1 << 32) - (1 << 31)  # as a register of int<32> wraps
    for port, got in ((int(p), bytes(d)) for p, d in zip(out.ports, out.data, strict=True)):
        i = list(slots).index(int.from_bytes(got[:2], "big"))
        assert got[3] == 1
        assert 0 <= port < workers
        np.testing.assert_array_equal(np.frombuffer(got[4:132], ">i4"), sums[i])


def test_it_fits_a_tofino() -> None:
    (report,) = estimate(load(PROGRAM))
    assert report.fits
    assert len(report.stages) == 12
    assert [len(s.stateful) for s in report.stages] == [0, 1, 1, 0, 4, 4, 4, 4, 4, 4, 4, 4]
