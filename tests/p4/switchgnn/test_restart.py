# SPDX-License-Identifier: Apache-2.0
"""A switch that loses all its registers in the middle of an exchange, and gets its plan back."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.switch_packets import PREFIX_BYTES
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.wire import SWITCHGNN
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import random_job
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_channel import UnrulyChannel

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("reupload", [False, True])
@pytest.mark.parametrize("at", [3, 7, 12, 25, 60])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_round_goes_on_and_all_sums_are_exact(make_target, seed: int, at: int, reupload: bool) -> None:
    job = random_job(seed, vertices=12, edges=30, workers=3, limit=5, features=(40,))
    target = make_target(job, acks=True)
    batches = 0

    def process(batch: PacketBatch) -> PacketBatch:
        nonlocal target, batches
        batches += 1
        if batches == at:
            target = make_target(job, acks=True)
        return target.process(batch)

    channels = [UnrulyChannel(seed + i, 0.1, 0.3, 0.1) for i in range(2)]
    lockstep = Lockstep(
        job.plans,
        job.ports,
        process,
        window=2,
        up=channels[0],
        down=channels[1],
        recovery=Recovery(20, 40, acks=True, reupload=reupload),
        patience=5000,
    )
    lockstep.start()
    rng = np.random.default_rng(seed)
    for _ in range(2):
        x = rng.integers(-(2**26), 2**26, (12, 40)).astype(np.int32)
        sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
        for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
            assert np.array_equal(got, job.expected(x)[endpoint.boundaries[0]])
    assert batches > at
    assert target.open() == 0


def test_an_old_done_to_a_switch_that_lost_its_registers_does_not_stop_the_run(make_target) -> None:
    """It takes up a round that all workers have left; they repeat DONE of it until it has caught up."""
    job = random_job(1, vertices=12, edges=30, workers=3, limit=3, features=(40,))
    assert len(job.plans[0].blocks) > 4
    target = make_target(job)
    old: list[tuple[int, bytes]] = []  # frames without a payload of round 1
    restarted = False

    def process(batch: PacketBatch) -> PacketBatch:
        nonlocal target, restarted
        frames = list(batch)
        if not restarted and min(e.round for e in lockstep.endpoints) == 4:
            target, restarted = make_target(job), True
            frames = old[:1]
        old.extend(f for f in frames if len(f[1]) < 100 and SWITCHGNN.decode(f[1][PREFIX_BYTES:])["round"] == 1)
        return target.process(PacketBatch.of(frames))

    channel = UnrulyChannel(3, 0.1, 0.3, 0.1)
    lockstep = Lockstep(job.plans, job.ports, process, window=1, down=channel, recovery=Recovery(20, 40), patience=5000)
    lockstep.start()
    x = np.random.default_rng(1).integers(-(2**26), 2**26, (12, 40)).astype(np.int32)
    sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
    for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
        assert np.array_equal(got, job.expected(x)[endpoint.boundaries[0]])
    assert restarted
    assert target.counters()["resumed"] == 1


@pytest.mark.full
def test_without_the_plan_the_run_ends_with_a_message(p4_target) -> None:
    job = random_job(1, vertices=12, edges=30, workers=3, limit=5)
    target = p4_target(job)
    lockstep = Lockstep(job.plans, job.ports, target.process, recovery=Recovery(2, 4), patience=50)
    lockstep.start()
    target.switch.reset()
    x = np.zeros((12, 8), np.int32)
    with pytest.raises(OfframpError, match=r"worker \d: nothing moves in block \d+, round 1: "):
        lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
